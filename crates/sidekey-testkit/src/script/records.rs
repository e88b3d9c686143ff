//! Operations on records: put, delete, conditional writes, batches, get, scan.

use super::answer::Reply;
use super::fields::{Fields, invalid, key_json, value_json};
use super::runner::keys_json;
use super::store::Store;
use serde_json::Value as Json;
use serde_json::value::RawValue;
use sidekey::{Batch, Error};
use std::ops::Bound;

impl Store {
    pub(super) fn put(&mut self, mut fields: Fields) -> Result<Reply, Error> {
        let (key, value) = (fields.key("key")?, fields.stored_value()?);
        fields.finish()?;
        Ok(vec![("sqn", self.collection()?.put(key, value)?.into())])
    }

    pub(super) fn delete(&mut self, mut fields: Fields) -> Result<Reply, Error> {
        let key = fields.key("key")?;
        fields.finish()?;
        Ok(vec![("sqn", self.collection()?.delete(key)?.into())])
    }

    pub(super) fn put_if(&mut self, mut fields: Fields, present: bool) -> Result<Reply, Error> {
        let (key, value) = (fields.key("key")?, fields.stored_value()?);
        fields.finish()?;
        let collection = self.collection()?;
        let applied =
            if present { collection.put_if_present(key, value)? } else { collection.put_if_absent(key, value)? };
        Ok(vec![("applied", applied.into())])
    }

    pub(super) fn batch(&mut self, mut fields: Fields) -> Result<Reply, Error> {
        let ops: Vec<Box<RawValue>> = fields.required("ops")?;
        fields.finish()?;
        let mut batch = Batch::new();
        for (at, op) in ops.iter().enumerate() {
            self.batch_op(&mut batch, op.get()).map_err(|e| match e {
                Error::InvalidArgument(what) => invalid(format!("batch op {at}: {what}")),
                other => other,
            })?;
        }
        Ok(vec![("sqn", self.db.write(batch)?.into())])
    }

    fn batch_op(&mut self, batch: &mut Batch, op: &str) -> Result<(), Error> {
        let mut fields = Fields::parse(op)?;
        let name: String = fields.required("op")?;
        let collection = match fields.optional::<String>("collection")? {
            Some(name) => self.handle(&name)?,
            None => self.collection()?,
        };
        let key = fields.key("key")?;
        match name.as_str() {
            "put" => batch.put(&collection, key, fields.stored_value()?),
            "delete" => batch.delete(&collection, key),
            _ => return Err(invalid(format!("a batch holds put and delete, not '{name}'"))),
        };
        fields.finish()
    }

    pub(super) fn get(&mut self, mut fields: Fields) -> Result<Reply, Error> {
        let key = fields.key("key")?;
        let snapshot = self.snapshot(fields.optional("snapshot")?)?;
        fields.finish()?;
        let collection = self.collection()?;
        let value = match snapshot {
            Some(snapshot) => collection.get_at(key, &snapshot)?,
            None => collection.get(key)?,
        };
        Ok(match value {
            Some(value) => vec![("found", true.into()), ("value", value_json(&value))],
            None => vec![("found", false.into())],
        })
    }

    pub(super) fn scan(&mut self, mut fields: Fields) -> Result<Reply, Error> {
        let low = fields.optional_key("low")?.map_or(Bound::Unbounded, Bound::Included);
        let high = fields.optional_key("high")?.map_or(Bound::Unbounded, Bound::Excluded);
        let reverse = fields.flag("reverse")?;
        let limit: Option<usize> = fields.optional("limit")?;
        let snapshot = self.snapshot(fields.optional("snapshot")?)?;
        fields.finish()?;
        let mut scan = self.collection()?.scan::<Vec<u8>>((low, high));
        if reverse {
            scan = scan.reverse();
        }
        if let Some(snapshot) = &snapshot {
            scan = scan.at(snapshot);
        }
        let keys: Result<Vec<Json>, Error> =
            scan.take(limit.unwrap_or(usize::MAX)).map(|record| record.map(|(key, _)| key_json(&key))).collect();
        Ok(vec![("keys", keys?.into())])
    }

    pub(super) fn raw_entries(&mut self, mut fields: Fields) -> Result<Reply, Error> {
        let index: String = fields.required("index")?;
        fields.finish()?;
        Ok(vec![("count", self.collection()?.raw_entries(&index)?.into())])
    }
}

/// The answer of a query that was asked for keys only.
pub(super) fn keys_reply(keys: &[Vec<u8>]) -> Reply {
    vec![("keys", keys_json(keys))]
}
