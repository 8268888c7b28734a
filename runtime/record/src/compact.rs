//! JSON as programs write it: no space between its parts, no escape in its strings.
//!
//! A million records are mostly short strings, and telling each from those with escapes is what reading them costs. What is
//! written otherwise is refused here, and read by `serde_json`, which also reads the numbers that are no plain integers: a
//! value that both read is the same.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

/// Whether a byte ends what a string may be made of: its quote, or what has to be escaped in it, or escapes.
fn is_end(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=0x1f)
}

/// The place of the first byte of eight that [`is_end`], or eight.
fn ends(word: [u8; 8]) -> usize {
    const EACH: u64 = u64::MAX / 0xff;
    let word = u64::from_le_bytes(word);
    // The high bit of each byte that is below `than`, and perhaps of bytes after one that is: the first is right.
    let below = |word: u64, than: u8| word.wrapping_sub(EACH * u64::from(than)) & !word & (EACH << 7);
    let is = |byte: u8| below(word ^ (EACH * u64::from(byte)), 1);
    ((is(b'"') | is(b'\\') | below(word, 0x20)).trailing_zeros() / 8) as usize
}

/// Something that is not written so, or not what its reader wants.
#[derive(Debug)]
pub(crate) struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not compact JSON of that form")
    }
}

impl std::error::Error for Refused {}

impl de::Error for Refused {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Refused
    }
}

/// How deep values may lie in each other: less than `serde_json` allows.
const DEPTH: u32 = 100;

/// A reader of one text.
#[derive(Debug)]
pub(crate) struct Compact<'de> {
    text: &'de str,
    at: usize,
    depth: u32,
}

impl<'de> Compact<'de> {
    pub(crate) fn new(text: &'de str) -> Self {
        Compact { text, at: 0, depth: 0 }
    }

    /// Nothing may be left.
    pub(crate) fn end(&self) -> Result<(), Refused> {
        if self.at == self.text.len() { Ok(()) } else { Err(Refused) }
    }

    fn peek(&self) -> Result<u8, Refused> {
        self.text.as_bytes().get(self.at).copied().ok_or(Refused)
    }

    /// Goes past `byte`, which has to be the next.
    fn pass(&mut self, byte: u8) -> Result<(), Refused> {
        if self.peek()? != byte {
            return Err(Refused);
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<&'de str, Refused> {
        self.pass(b'"')?;
        let start = self.at;
        let (words, last) = self.text.as_bytes().get(start..).ok_or(Refused)?.as_chunks::<8>();
        let found = words.iter().position(|word| ends(*word) < 8).unwrap_or(words.len());
        self.at += found * 8
            + words
                .get(found)
                .map_or_else(|| last.iter().position(|byte| is_end(*byte)).unwrap_or(last.len()), |word| ends(*word));
        if self.peek()? != b'"' {
            return Err(Refused);
        }
        let string = self.text.get(start..self.at).ok_or(Refused)?;
        self.at += 1;
        Ok(string)
    }

    fn number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Refused> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        while bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        let digits = &bytes[start..self.at];
        let more = bytes.get(self.at).is_some_and(|byte| matches!(byte, b'.' | b'e' | b'E'));
        // Nineteen digits are below 2^64.
        if !more && (1..20).contains(&digits.len()) && (digits[0] != b'0' || digits.len() == 1) {
            return visitor.visit_u64(digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')));
        }
        while bytes.get(self.at).is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
            self.at += 1;
        }
        let text = self.text.get(start..self.at).ok_or(Refused)?;
        let mut number = serde_json::Deserializer::from_str(text);
        let value = number.deserialize_any(visitor).map_err(|_| Refused)?;
        number.end().map_err(|_| Refused)?;
        Ok(value)
    }

    fn word<T>(&mut self, word: &str, value: T) -> Result<T, Refused> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(Refused);
        }
        self.at += word.len();
        Ok(value)
    }

    /// Reads what lies between two brackets.
    fn inside<T>(&mut self, read: impl FnOnce(&mut Parts<'_, 'de>) -> Result<T, Refused>) -> Result<T, Refused> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Refused);
        }
        let mut parts = Parts { of: self, first: true, closed: false };
        let value = read(&mut parts)?;
        let closed = parts.closed;
        self.depth -= 1;
        if closed { Ok(value) } else { Err(Refused) }
    }
}

impl<'de> Deserializer<'de> for &mut Compact<'de> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.peek()? {
            b'"' => visitor.visit_borrowed_str(self.string()?),
            b'{' => self.inside(|parts| visitor.visit_map(parts)),
            b'[' => self.inside(|parts| visitor.visit_seq(parts)),
            b'-' | b'0'..=b'9' => self.number(visitor),
            b't' => visitor.visit_bool(self.word("true", true)?),
            b'f' => visitor.visit_bool(self.word("false", false)?),
            b'n' => {
                self.word("null", ())?;
                visitor.visit_unit()
            }
            _ => Err(Refused),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        if self.peek()? == b'n' {
            self.word("null", ())?;
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The parts of an object or a list.
struct Parts<'a, 'de> {
    of: &'a mut Compact<'de>,
    first: bool,
    closed: bool,
}

impl Parts<'_, '_> {
    /// Whether there is another part before the bracket that closes.
    fn another(&mut self, bracket: u8) -> Result<bool, Refused> {
        if self.of.peek()? == bracket {
            self.of.at += 1;
            self.closed = true;
            return Ok(false);
        }
        if !std::mem::take(&mut self.first) {
            self.of.pass(b',')?;
        }
        Ok(true)
    }
}

impl<'de> MapAccess<'de> for &mut Parts<'_, 'de> {
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Refused> {
        if !self.another(b'}')? {
            return Ok(None);
        }
        if self.of.peek()? != b'"' {
            return Err(Refused);
        }
        seed.deserialize(&mut *self.of).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Refused> {
        self.of.pass(b':')?;
        seed.deserialize(&mut *self.of)
    }
}

impl<'de> SeqAccess<'de> for &mut Parts<'_, 'de> {
    type Error = Refused;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Refused> {
        if !self.another(b']')? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.of).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    fn read(text: &str) -> Option<Value> {
        let mut compact = Compact::new(text);
        let value = Value::deserialize(&mut compact).ok()?;
        compact.end().ok().map(|()| value)
    }

    #[test]
    fn what_it_reads_is_what_serde_json_reads() {
        for text in [
            "{}",
            "[]",
            r#"{"a":[1,-2,0.5,1e3,-0,true,false,null,"é"],"b":{"c":""}}"#,
            "18446744073709551615",
            "9999999999999999999",
            "18446744073709551616",
            "-9223372036854775808",
            "0.1",
            "1E+2",
            "123456789.123456789",
        ] {
            let value: Value = serde_json::from_str(text).expect(text);
            assert_eq!(read(text).as_ref(), Some(&value), "{text}");
            assert_eq!(read(text).map(|v| v.to_string()), Some(value.to_string()), "{text}");
        }
    }

    #[test]
    fn what_serde_json_refuses_it_refuses() {
        for text in [
            "",
            "{",
            "}",
            "{,}",
            r#"{"a":1,}"#,
            r#"{"a" :1}"#,
            r#"{"a"}"#,
            r#"{1:2}"#,
            r#"{"a":1"b":2}"#,
            r#",{"a":1}"#,
            "[1,]",
            "[,1]",
            "[1",
            "01",
            "-",
            "-01",
            "1.",
            ".5",
            "1e",
            "1e999",
            "+1",
            "--1",
            "1-1",
            "tru",
            "nul",
            "truee",
            "\"a",
            "\"\t\"",
            "1 2",
            "[1]]",
            "{\"a\":}",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&format!("{}{}", "[".repeat(101), "]".repeat(101))), None);
    }

    #[test]
    fn what_may_be_null_is_read_as_serde_json_reads_it() {
        for text in ["null", "7", "[null,1]", "nul", "nulls", "\"null\"", "-1"] {
            let mut compact = Compact::new(text);
            let one = Option::<u64>::deserialize(&mut compact).ok().filter(|_| compact.end().is_ok());
            assert_eq!(one, serde_json::from_str::<Option<u64>>(text).ok(), "{text}");
            let mut compact = Compact::new(text);
            let list = Vec::<Option<u64>>::deserialize(&mut compact).ok().filter(|_| compact.end().is_ok());
            assert_eq!(list, serde_json::from_str::<Vec<Option<u64>>>(text).ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn eight_bytes_at_once_end_where_the_first_of_them_does(word in any::<[u8; 8]>(), at in 0usize..9, byte in 0u8..0x40) {
            let mut plain = word.map(|byte| if is_end(byte) { b'~' } else { byte });
            prop_assert_eq!(ends(plain), 8);
            if let Some(place) = plain.get_mut(at) {
                *place = byte;
            }
            for word in [word, plain] {
                prop_assert_eq!(ends(word), word.iter().position(|byte| is_end(*byte)).unwrap_or(8));
            }
        }

        #[test]
        fn any_text_is_read_as_serde_json_reads_it_or_refused(text in r#"[\[\]{}",:0-9eE.+\-a \\]{0,12}"#) {
            if let Some(value) = read(&text) {
                prop_assert_eq!(Some(value), serde_json::from_str::<Value>(&text).ok());
            }
        }
    }
}
