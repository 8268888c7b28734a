//! The form of a JSON value: whether a value has it, told without keeping the value.
//!
//! A form is read from the schema of what is kept where it is, so that a field is declared once. It takes what the
//! declared type takes, or less: what it refuses is for the type to refuse, which says why.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// What a value has to be.
#[derive(Debug)]
pub(crate) enum Form {
    /// Anything.
    Any,
    /// A string.
    Text,
    /// `true` or `false`.
    Bool,
    /// An integer of 64 bits that is not negative.
    Unsigned,
    /// An integer of 64 bits.
    Signed,
    /// A number.
    Number,
    /// `null`, or of that form.
    Optional(Box<Form>),
    /// A list of values of that form.
    List(Box<Form>),
    /// An object of free form.
    Object,
    /// An object with fields.
    Fields(Fields),
    /// None that could be told: no value has it.
    Unknown,
}

/// The fields of an object. An object may have others, of any form.
#[derive(Debug)]
pub(crate) struct Fields {
    all: Box<[(Box<str>, Form)]>,
    /// The bits of those that may not be absent.
    required: u64,
}

impl Form {
    /// The form that `schema` states; `root` holds what it refers to.
    pub(crate) fn of(schema: &Value, root: &Value) -> Form {
        if let Some(Value::String(place)) = schema.get("$ref") {
            let target = place.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
            return target.map_or(Form::Unknown, |target| Form::of(target, root));
        }
        if let Some(Value::Array(choices)) = schema.get("anyOf") {
            return match &choices[..] {
                [one, null] if null["type"] == "null" => Form::Optional(Form::of(one, root).into()),
                _ => Form::Unknown,
            };
        }
        match &schema["type"] {
            Value::String(name) => Form::named(name, schema, root),
            Value::Array(names) => match &names[..] {
                [Value::String(name), null] if null == "null" => Form::Optional(Form::named(name, schema, root).into()),
                _ => Form::Unknown,
            },
            _ => Form::Unknown,
        }
    }

    fn named(name: &str, schema: &Value, root: &Value) -> Form {
        match name {
            "string" => Form::Text,
            "boolean" => Form::Bool,
            "integer" if schema["minimum"] == 0 => Form::Unsigned,
            "integer" => Form::Signed,
            "number" => Form::Number,
            "array" => Form::List(Form::of(&schema["items"], root).into()),
            "object" => match schema.get("properties") {
                Some(Value::Object(properties)) => {
                    Fields::of(properties, &schema["required"], root).map_or(Form::Unknown, Form::Fields)
                }
                _ => Form::Object,
            },
            _ => Form::Unknown,
        }
    }

    /// The fields of the object that the form is of, or of the one that may be there.
    pub(crate) fn into_fields(self) -> Option<Fields> {
        match self {
            Form::Fields(fields) => Some(fields),
            Form::Optional(form) => form.into_fields(),
            _ => None,
        }
    }

    /// The form of a value that is there.
    fn there(&self) -> &Form {
        match self {
            Form::Optional(form) => form,
            form => form,
        }
    }
}

impl Fields {
    /// Nothing where there are more than can be told apart.
    fn of(properties: &serde_json::Map<String, Value>, required: &Value, root: &Value) -> Option<Fields> {
        let all: Box<[(Box<str>, Form)]> =
            properties.iter().map(|(name, schema)| (name.as_str().into(), Form::of(schema, root))).collect();
        let names = required.as_array().map_or(&[][..], Vec::as_slice);
        let bit = |(at, (name, _)): (usize, &(Box<str>, Form))| u64::from(names.iter().any(|n| *n == **name)) << at;
        (all.len() <= 64).then(|| Fields { required: all.iter().enumerate().map(bit).sum(), all })
    }

    /// The fields' names, in their order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(name, _)| &**name)
    }

    /// Whether all that may not be absent are among the fields of those bits.
    pub(crate) fn suffice(&self, seen: u64) -> bool {
        seen & self.required == self.required
    }

    /// Reads an object of these fields: `take` is given the position of each, and reads its value or says that it did not.
    /// Gives the bits of the fields that there are.
    pub(crate) fn read<'de, A: MapAccess<'de>>(
        &self,
        map: &mut A,
        mut take: impl FnMut(usize, &mut A) -> Result<bool, A::Error>,
    ) -> Result<u64, A::Error> {
        let mut seen = 0u64;
        let mut next = 0;
        while let Some(place) = map.next_key_seed(Key { fields: self, next })? {
            let Some(at) = place else {
                map.next_value_seed(&Form::Any)?;
                continue;
            };
            if seen & 1 << at != 0 {
                return Err(refused());
            }
            seen |= 1 << at;
            next = at + 1;
            if !take(at, map)? {
                map.next_value_seed(&self.all[at].1)?;
            }
        }
        Ok(seen)
    }

    /// As [`Fields::read`], of an object that has to have all that may not be absent.
    pub(crate) fn read_whole<'de, A: MapAccess<'de>>(
        &self,
        map: &mut A,
        take: impl FnMut(usize, &mut A) -> Result<bool, A::Error>,
    ) -> Result<(), A::Error> {
        let seen = self.read(map, take)?;
        only(self.suffice(seen))
    }
}

/// The error of what has another form. Nobody is shown it.
fn refused<E: Error>() -> E {
    E::custom("another form")
}

/// Which field a name is of.
struct Key<'a> {
    fields: &'a Fields,
    /// The one that comes next where they come in their order.
    next: usize,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field's name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        let all = &self.fields.all;
        let mut places = (self.next..all.len()).chain(0..self.next.min(all.len()));
        Ok(places.find(|at| *all[*at].0 == *name))
    }
}

impl<'de> DeserializeSeed<'de> for &Form {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

fn only<E: Error>(holds: bool) -> Result<(), E> {
    if holds { Ok(()) } else { Err(refused()) }
}

impl<'de> Visitor<'de> for &Form {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        only(matches!(self, Form::Optional(_) | Form::Any))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        only(matches!(self.there(), Form::Bool | Form::Any))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        only(match self.there() {
            Form::Unsigned | Form::Number | Form::Any => true,
            Form::Signed => i64::try_from(value).is_ok(),
            _ => false,
        })
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        only(matches!(self.there(), Form::Signed | Form::Number | Form::Any))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        only(matches!(self.there(), Form::Number | Form::Any))
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        only(matches!(self.there(), Form::Text | Form::Any))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let form = match self.there() {
            Form::List(form) => form,
            Form::Any => &Form::Any,
            _ => return Err(refused()),
        };
        while list.next_element_seed(form)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        match self.there() {
            Form::Fields(fields) => fields.read_whole(&mut map, |_, _| Ok(false)),
            Form::Object | Form::Any => {
                while map.next_key_seed(&Form::Text)?.is_some() {
                    map.next_value_seed(&Form::Any)?;
                }
                Ok(())
            }
            _ => Err(refused()),
        }
    }
}
