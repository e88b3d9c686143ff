//! Operations on indexes: create, drop, lookup, range, count.

use super::answer::Reply;
use super::fields::{Fields, invalid, value_json};
use super::records::keys_reply;
use super::runner::keys_json;
use super::store::Store;
use serde_json::{Map, Value as Json, json};
use sidekey::{Error, IndexSpec, Order, Query, Read, Row, Value};
use std::ops::Bound;
use std::str::FromStr;

impl Store {
    pub(super) fn create_index(&mut self, mut fields: Fields) -> Result<Reply, Error> {
        fields.unsupported("attributes", &[])?;
        fields.unsupported("unique", &[json!(false)])?;
        fields.unsupported("multi", &[json!(false)])?;
        fields.unsupported("target", &[json!("key")])?;
        let name: String = fields.required("name")?;
        let mut spec = IndexSpec::new(&name, fields.required::<String>("attribute")?);
        if let Some(structure) = parsed(&mut fields, "structure")? {
            spec = spec.structure(structure);
        }
        if let Some(maintenance) = parsed(&mut fields, "maintenance")? {
            spec = spec.maintenance(maintenance);
        }
        if let Some(validator) = parsed(&mut fields, "validator")? {
            spec = spec.validator(validator);
        }
        // The build is over when the call returns, so not to wait is no different.
        fields.optional::<bool>("wait")?;
        fields.finish()?;
        let collection = self.collection()?;
        collection.create_index(spec)?;
        let state = collection.indexes().into_iter().find(|info| info.spec.name == name).map(|info| info.state);
        Ok(vec![("state", state.map_or(Json::Null, |state| state.to_string().into()))])
    }

    pub(super) fn drop_index(&mut self, mut fields: Fields) -> Result<Reply, Error> {
        let name: String = fields.required("name")?;
        fields.finish()?;
        self.collection()?.drop_index(&name)?;
        Ok(Reply::new())
    }

    pub(super) fn lookup(&mut self, mut fields: Fields) -> Result<Reply, Error> {
        let index: String = fields.required("index")?;
        let value = attribute(&fields.required("value")?)?;
        let order = match fields.optional::<String>("order")?.as_deref() {
            None | Some("newest") => Order::Newest,
            Some("key") => Order::Key,
            Some(other) => return Err(invalid(format!("order is '{other}'; it must be newest or key"))),
        };
        let read = match fields.optional::<String>("read")?.as_deref() {
            None | Some("keys") => Read::Keys,
            Some("attributes") => Read::Attributes,
            Some("records") => Read::Records,
            Some(other) => return Err(invalid(format!("read is '{other}'; it must be keys, attributes or records"))),
        };
        let query = self.collection()?.lookup(&index, value).order(order);
        let query = self.limited(query, &mut fields)?;
        fields.finish()?;
        match read {
            Read::Keys => Ok(keys_reply(&query.keys()?)),
            _ => rows_reply(query, read),
        }
    }

    pub(super) fn range(&mut self, mut fields: Fields) -> Result<Reply, Error> {
        let index: String = fields.required("index")?;
        let bounds = bounds(&mut fields)?;
        let order = match fields.optional::<String>("order")?.as_deref() {
            None | Some("attribute") => Order::Attribute,
            Some("newest") => Order::Newest,
            Some(other) => return Err(invalid(format!("order is '{other}'; it must be attribute or newest"))),
        };
        let reverse = fields.flag("reverse")?;
        fields.unsupported("cursor", &[])?;
        let query = self.collection()?.range(&index, bounds).order(order);
        let query = self.limited(query, &mut fields)?;
        fields.finish()?;
        let query = if reverse { query.reverse() } else { query };
        Ok(keys_reply(&query.keys()?))
    }

    pub(super) fn count(&mut self, mut fields: Fields) -> Result<Reply, Error> {
        let index: String = fields.required("index")?;
        let value: Option<Json> = fields.optional("value")?;
        let bounds = bounds(&mut fields)?;
        fields.finish()?;
        let query = match (value, bounds) {
            (Some(value), (Bound::Unbounded, Bound::Unbounded)) => {
                self.collection()?.lookup(&index, attribute(&value)?)
            }
            (Some(_), _) => return Err(invalid("either 'value' or bounds, not both")),
            (None, bounds) => self.collection()?.range(&index, bounds),
        };
        Ok(vec![("count", query.count()?.into())])
    }

    /// Takes `limit` and `snapshot`.
    fn limited(&self, query: Query, fields: &mut Fields) -> Result<Query, Error> {
        let query = match fields.optional("limit")? {
            Some(limit) => query.limit(limit),
            None => query,
        };
        Ok(match self.snapshot(fields.optional("snapshot")?)? {
            Some(snapshot) => query.at(&snapshot),
            None => query,
        })
    }
}

fn parsed<T: FromStr<Err = Error>>(fields: &mut Fields, name: &str) -> Result<Option<T>, Error> {
    let text: Option<String> = fields.optional(name)?;
    text.map(|text| text.parse()).transpose()
}

fn attribute(json: &Json) -> Result<Value, Error> {
    Value::from_json(json).ok_or_else(|| invalid(format!("{json} is no attribute value: a bool, number or string is")))
}

fn bounds(fields: &mut Fields) -> Result<(Bound<Value>, Bound<Value>), Error> {
    let mut side = |name: &str, open_name: &str| {
        let value: Option<Json> = fields.optional(name)?;
        let open = fields.optional::<bool>(open_name)?;
        Ok(match (value, open) {
            (Some(value), Some(true)) => Bound::Excluded(attribute(&value)?),
            (Some(value), _) => Bound::Included(attribute(&value)?),
            (None, Some(true)) => return Err(invalid(format!("'{open_name}' without '{name}'"))),
            (None, _) => Bound::Unbounded,
        })
    };
    Ok((side("low", "low_open")?, side("high", "high_open")?))
}

fn rows_reply(query: Query, read: Read) -> Result<Reply, Error> {
    let rows: Vec<Row> = query.rows(read)?.collect::<Result<_, Error>>()?;
    let keys = keys_json(rows.iter().map(|row| &row.key));
    let attributes = |row: &Row| -> Json {
        row.attributes.iter().map(|(path, value)| (path.clone(), value.to_json())).collect::<Map<_, _>>().into()
    };
    let extra = match read {
        Read::Records => {
            let record = |row: &Row| row.value.as_deref().map_or(Json::Null, value_json);
            ("records", rows.iter().map(record).collect::<Json>())
        }
        _ => ("attributes", rows.iter().map(attributes).collect::<Json>()),
    };
    Ok(vec![("keys", keys), extra])
}
