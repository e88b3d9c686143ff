#!/usr/bin/env python3
"""Turns the USGS GeoJSON feed into one flat JSON object a line, oldest quake first.

    npm pack vega-datasets@3.2.1 && tar xzf vega-datasets-3.2.1.tgz
    python3 convert.py package/data/earthquakes.json > earthquakes.jsonl

Values are kept as they are; nulls, links and texts that repeat other fields are left out.
"""
import json
import sys

FIELDS = ["time", "updated", "tz", "mag", "magType", "place", "type", "status", "net", "sig", "tsunami",
          "alert", "felt", "nst", "gap", "rms", "dmin"]

with open(sys.argv[1], encoding="utf-8") as source:
    features = json.load(source)["features"]

for feature in sorted(features, key=lambda f: (f["properties"]["time"], f["id"])):
    quake = {"id": feature["id"]}
    quake.update((name, feature["properties"][name]) for name in FIELDS)
    quake["lon"], quake["lat"], quake["depth"] = feature["geometry"]["coordinates"]
    quake = {name: value for name, value in quake.items() if value is not None}
    print(json.dumps(quake, ensure_ascii=False, separators=(",", ":")))
