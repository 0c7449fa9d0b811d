//! Entries of streams as the server answers them.

use bytes::Bytes;
use redis::{FromRedisValue, ParsingError, Value};

/// One entry of a stream.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) id: String,
    fields: Vec<(Bytes, Bytes)>,
}

impl Entry {
    /// Takes a field out of the entry.
    pub(super) fn take(&mut self, field: &str) -> Option<Bytes> {
        let at = self
            .fields
            .iter()
            .position(|(name, _)| name == field.as_bytes())?;
        Some(self.fields.swap_remove(at).1)
    }
}

/// The entries of an answer to XCLAIM: entries that are gone are left out.
#[derive(Debug)]
pub(super) struct Entries(pub(super) Vec<Entry>);

impl FromRedisValue for Entries {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let entries = list(value)?
            .into_iter()
            .filter(|entry| *entry != Value::Nil);
        entries.map(entry).collect::<Result<_, _>>().map(Self)
    }
}

/// The entries of an answer to XREAD or XREADGROUP on one stream; none if nothing came in time.
#[derive(Debug)]
pub(super) struct ReadAnswer(pub(super) Vec<Entry>);

impl FromRedisValue for ReadAnswer {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let mut entries = Vec::new();
        for stream in list(value)? {
            let [_, found] = pair(stream)?;
            entries.extend(Entries::from_redis_value(found)?.0);
        }
        Ok(Self(entries))
    }
}

fn entry(value: Value) -> Result<Entry, ParsingError> {
    let [id, fields] = pair(value)?;
    let mut parts = list(fields)?.into_iter();
    let mut fields = Vec::with_capacity(parts.len() / 2);
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        fields.push((bytes(name)?, bytes(value)?));
    }
    Ok(Entry {
        id: String::from_redis_value(id)?,
        fields,
    })
}

/// A list; no answer at all is an empty one.
fn list(value: Value) -> Result<Vec<Value>, ParsingError> {
    match value {
        Value::Array(items) => Ok(items),
        Value::Nil => Ok(Vec::new()),
        _ => Err("expected a list".into()),
    }
}

fn pair(value: Value) -> Result<[Value; 2], ParsingError> {
    list(value)?
        .try_into()
        .map_err(|_| ParsingError::from("expected a list of two"))
}

/// Bytes, without a copy.
fn bytes(value: Value) -> Result<Bytes, ParsingError> {
    match value {
        Value::BulkString(bytes) => Ok(bytes.into()),
        _ => Err("expected bytes".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn entries_that_are_gone_are_left_out() {
        let there = Value::Array(vec![
            text("1-1"),
            Value::Array(vec![text("m"), text("body")]),
        ]);
        let gone = Value::Array(vec![text("1-2"), Value::Nil]);
        let answer = Value::Array(vec![Value::Nil, there, gone]);
        let mut entries = Entries::from_redis_value(answer).unwrap().0;
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].take("m").unwrap(), "body");
        assert_eq!(entries[0].take("m"), None);
        assert_eq!(entries[1].take("m"), None);
    }

    #[test]
    fn an_answer_of_another_form_is_an_error() {
        assert!(
            ReadAnswer::from_redis_value(Value::Nil)
                .unwrap()
                .0
                .is_empty()
        );
        assert!(ReadAnswer::from_redis_value(text("OK")).is_err());
        assert!(ReadAnswer::from_redis_value(Value::Array(vec![text("OK")])).is_err());
    }
}
