//! A string that many records share.

use std::borrow::{Borrow, Cow};
use std::cell::RefCell;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

/// How many strings a thread remembers. Names of ops, devices and units are few; texts beyond that are not shared.
const REMEMBERED: usize = 1 << 14;

thread_local! {
    static SEEN: RefCell<FxHashSet<Arc<str>>> = RefCell::default();
}

/// An immutable string. A million records name a hundred ops: equal texts that one thread reads are one allocation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Arc<str>);

impl Text {
    /// The characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether both are the same allocation, which tells equal texts without comparing them.
    pub fn same(&self, other: &Text) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        SEEN.with_borrow_mut(|seen| {
            if let Some(known) = seen.get(text) {
                return Text(Arc::clone(known));
            }
            let new: Arc<str> = Arc::from(text);
            if seen.len() < REMEMBERED {
                seen.insert(Arc::clone(&new));
            }
            Text(new)
        })
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Text::from(text.as_str())
    }
}

impl Default for Text {
    fn default() -> Self {
        Text::from("")
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Characters;
        impl Visitor<'_> for Characters {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text::from(text))
            }
        }
        deserializer.deserialize_str(Characters)
    }
}

impl JsonSchema for Text {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_of_a_thread_are_one() {
        let (a, b) = (Text::from("AddFwdOp"), Text::from("AddFwdOp".to_owned()));
        assert!(a.same(&b));
        assert_eq!(a, b);
        assert!(!a.same(&Text::from("MulFwdOp")));
        let elsewhere = std::thread::spawn(|| Text::from("AddFwdOp")).join().expect("a thread that returns");
        assert_eq!(a, elsewhere);
    }
}
