//! Records of which only what pricing reads is kept.
//!
//! Most of a line says how a row was made and measured: parameters, tensors, percentiles, clocks, the run. Whoever prices a
//! million rows keeps none of it. It is checked all the same, so that a line that is no record is none for anybody.

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use crate::compact::Compact;
use crate::form::{Fields, Form};
use crate::record::{Device, Record, SCHEMA, Timing};
use crate::text::Text;

/// What is kept of a field; nothing of the others.
#[derive(Debug, Clone, Copy)]
enum Keep {
    Schema,
    Op,
    Case,
    Family,
    Dtype,
    Peer,
    Flops,
    Bytes,
    RoofKey,
    Timing,
    Device,
}

/// What is kept of a timing.
#[derive(Debug, Clone, Copy)]
enum KeepTiming {
    Source,
    Busy,
    Copies,
}

/// The fields of an object, and what is kept of each.
#[derive(Debug)]
struct Object<K> {
    fields: Fields,
    keep: Box<[Option<K>]>,
}

#[derive(Debug)]
struct Forms {
    record: Object<Keep>,
    timing: Object<KeepTiming>,
    device: Object<()>,
}

static FORMS: LazyLock<Option<Forms>> = LazyLock::new(Forms::of_schema);

impl<K> Object<K> {
    fn new(fields: Fields, keep: impl Fn(&str) -> Option<K>) -> Object<K> {
        Object { keep: fields.names().map(keep).collect(), fields }
    }
}

impl Forms {
    fn of_schema() -> Option<Forms> {
        let root = crate::json_schema();
        let fields = |place: &str| Form::of(root.pointer(place)?, &root).into_fields();
        let keep = |name: &str| {
            Some(match name {
                "schema" => Keep::Schema,
                "op" => Keep::Op,
                "case" => Keep::Case,
                "family" => Keep::Family,
                "dtype" => Keep::Dtype,
                "peer" => Keep::Peer,
                "flops" => Keep::Flops,
                "bytes" => Keep::Bytes,
                "roof_key" => Keep::RoofKey,
                "timing" => Keep::Timing,
                "device" => Keep::Device,
                _ => return None,
            })
        };
        let keep_timing = |name: &str| match name {
            "source" => Some(KeepTiming::Source),
            "device_busy_ns" => Some(KeepTiming::Busy),
            "excluded_copies_ns" => Some(KeepTiming::Copies),
            _ => None,
        };
        Some(Forms {
            record: Object::new(fields("")?, keep),
            timing: Object::new(fields("/properties/timing")?, keep_timing),
            device: Object::new(fields("/properties/device")?, |name| (name == "name").then_some(())),
        })
    }
}

/// What the records before had: most of it the next one has, too.
#[derive(Debug, Default)]
pub(crate) struct Before {
    record: Record,
    timing: Timing,
    /// Of nothing, to begin with.
    blank: (Record, Timing),
    ending: Ending,
}

/// How lines end: the device and the run, of which every record of a file says the same.
#[derive(Debug, Default)]
struct Ending {
    /// From the comma before [`FIRST`] on; nothing where none is known.
    text: String,
    /// The record's fields that it states.
    fields: u64,
    device: Option<Arc<Device>>,
    /// How many endings were tried that turned out to be of one line.
    missed: u32,
    /// A line without its ending, or an ending without its line, made an object again.
    part: String,
}

/// How an ending begins: with the first field that is of the run and not of the row.
const FIRST: &str = ",\"device\":{";
/// After so many endings that did not return, none is looked for.
const MISSES: u32 = 8;

/// The record of a line, of which what is not priced is left out. Nothing where it has not quite the form that records are
/// written in: whether it is one all the same is for [`Record`] to tell.
pub(crate) fn parse(line: &[u8], before: &mut Before) -> Option<Record> {
    let line = std::str::from_utf8(line).ok()?;
    let forms = FORMS.as_ref()?;
    let known = line.strip_suffix(&*before.ending.text).filter(|_| !before.ending.text.is_empty());
    let record = match known {
        Some(start) => {
            let mut part = std::mem::take(&mut before.ending.part);
            part.clear();
            part.push_str(start);
            part.push('}');
            let read = object(&part, forms, before);
            before.ending.part = part;
            let (mut record, fields) = read?;
            // The line's fields are those of its two parts. The first part has one at least, which the comma comes after.
            if fields == 0
                || fields & before.ending.fields != 0
                || !forms.record.fields.suffice(fields | before.ending.fields)
            {
                return None;
            }
            record.device.clone_from(&before.ending.device);
            record
        }
        None => {
            let (record, fields) = object(line, forms, before)?;
            if !forms.record.fields.suffice(fields) {
                return None;
            }
            learn(line, forms, before);
            record
        }
    };
    (record.schema == *SCHEMA).then_some(record)
}

/// Remembers how a line that is a record ends.
fn learn(line: &str, forms: &'static Forms, before: &mut Before) {
    if before.ending.missed >= MISSES {
        return;
    }
    before.ending.missed += 1;
    before.ending.text.clear();
    let Some((start, end)) = line.rfind(FIRST).map(|at| line.split_at(at)) else { return };
    let mut part = std::mem::take(&mut before.ending.part);
    // Both parts have to be objects: the text that an ending begins with may stand deeper, too.
    part.clear();
    part.push_str(start);
    part.push('}');
    let is_object = object(&part, forms, before).is_some();
    part.clear();
    part.push('{');
    part.push_str(&end[1..]);
    if let (true, Some((record, fields))) = (is_object, object(&part, forms, before)) {
        before.ending.text.push_str(end);
        before.ending.fields = fields;
        before.ending.device = record.device;
    }
    before.ending.part = part;
}

/// A text that is an object, and what is kept of the record's fields in it; which fields those are.
fn object(text: &str, forms: &'static Forms, before: &mut Before) -> Option<(Record, u64)> {
    let mut compact = Compact::new(text);
    if let Ok(read) = (Reader { forms, before }).deserialize(&mut compact)
        && compact.end().is_ok()
    {
        return Some(read);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = Reader { forms, before }.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(read)
}

struct Reader<'a> {
    forms: &'static Forms,
    before: &'a mut Before,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = (Record, u64);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = (Record, u64);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Reader { forms, before } = self;
        let Before { record: known, timing: known_timing, blank: (blank, blank_timing), .. } = before;
        let mut record = blank.clone();
        let fields = forms.record.fields.read(&mut map, |at, map| {
            let Some(keep) = forms.record.keep[at] else { return Ok(false) };
            match keep {
                Keep::Schema => record.schema = map.next_value_seed(Same(&mut known.schema))?,
                Keep::Op => record.op = map.next_value_seed(Same(&mut known.op))?,
                Keep::Case => record.case = map.next_value_seed(Same(&mut known.case))?,
                Keep::Family => record.family = map.next_value_seed(or_same(&mut known.family))?,
                Keep::Dtype => record.dtype = map.next_value_seed(or_same(&mut known.dtype))?,
                Keep::Peer => record.peer = map.next_value_seed(or_same(&mut known.peer))?,
                Keep::RoofKey => record.roof_key = map.next_value_seed(or_same(&mut known.roof_key))?,
                Keep::Flops => record.flops = map.next_value::<Option<u64>>()?.map(u128::from),
                Keep::Bytes => record.bytes = map.next_value::<Option<u64>>()?.map(u128::from),
                Keep::Timing => {
                    let seed = OfTiming { object: &forms.timing, known: known_timing, blank: blank_timing };
                    record.timing = map.next_value_seed(OrNull(seed))?;
                }
                Keep::Device => {
                    record.device = map.next_value_seed(OrNull(OfDevice(&forms.device, &mut known.device)))?;
                }
            }
            Ok(true)
        })?;
        Ok((record, fields))
    }
}

/// A string, which is the one before where it is equal.
struct Same<'a>(&'a mut Text);

impl<'de> DeserializeSeed<'de> for Same<'_> {
    type Value = Text;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Text, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Same<'_> {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        if *self.0 != *text {
            *self.0 = text.into();
        }
        Ok(self.0.clone())
    }
}

/// `null`, or a string, which is the one before where it is equal.
fn or_same(known: &mut Option<Text>) -> OrNull<Same<'_>> {
    OrNull(Same(known.get_or_insert_default()))
}

/// `null`, or what the seed reads.
struct OrNull<S>(S);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for OrNull<S> {
    type Value = Option<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for OrNull<S> {
    type Value = Option<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null, or a value")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.0.deserialize(deserializer).map(Some)
    }
}

/// What is kept of a timing.
struct OfTiming<'a> {
    object: &'a Object<KeepTiming>,
    known: &'a mut Timing,
    blank: &'a Timing,
}

impl<'de> DeserializeSeed<'de> for OfTiming<'_> {
    type Value = Box<Timing>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OfTiming<'_> {
    type Value = Box<Timing>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a timing")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let OfTiming { object, known, blank } = self;
        let mut timing = Box::new(blank.clone());
        object.fields.read_whole(&mut map, |at, map| {
            let Some(keep) = object.keep[at] else { return Ok(false) };
            match keep {
                KeepTiming::Source => timing.source = map.next_value_seed(Same(&mut known.source))?,
                KeepTiming::Busy => timing.device_busy_ns = map.next_value()?,
                KeepTiming::Copies => timing.excluded_copies_ns = map.next_value()?,
            }
            Ok(true)
        })?;
        Ok(timing)
    }
}

/// What is kept of a device.
struct OfDevice<'a>(&'a Object<()>, &'a mut Option<Arc<Device>>);

impl<'de> DeserializeSeed<'de> for OfDevice<'_> {
    type Value = Arc<Device>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OfDevice<'_> {
    type Value = Arc<Device>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a device")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let OfDevice(object, known) = self;
        let mut name = known.as_ref().map_or_else(Text::default, |device| device.name.clone());
        object.fields.read_whole(&mut map, |at, map| {
            if object.keep[at].is_none() {
                return Ok(false);
            }
            map.next_value_seed(Same(&mut name))?;
            Ok(true)
        })?;
        Ok(match known {
            Some(device) if device.name == name => device.clone(),
            _ => known.insert(Device { name, ..Device::default() }.into()).clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(start: &str, device: &str) -> String {
        format!(r#"{{{start},"device":{{"name":"{device}"}},"run":{{"tool":"bench"}}}}"#)
    }

    #[test]
    fn an_ending_is_read_once_and_stands_for_itself() {
        let mut before = Before::default();
        let row = |case: &str| format!(r#""schema":"{SCHEMA}","op":"A","case":"{case}","note":",\"device\":{{""#);
        for (case, device) in [("a", "X"), ("b", "X"), ("c", "Y"), ("d", "Y")] {
            let record = parse(line(&row(case), device).as_bytes(), &mut before).expect("a record");
            assert_eq!((&*record.case, &*record.device.expect("a device").name), (case, device));
            assert_eq!(before.ending.text, line("", device).trim_start_matches('{'));
        }
        // What ends as the lines before did, and is no record.
        for start in [
            "",
            &row("e")[1..],
            &format!("{},", row("e")),
            &format!(r#"{},"device":null"#, row("e")),
            &format!(r#"{},"run":{{"tool":"x"}}"#, row("e")),
            &format!(r#"{},"params":{{"a":1"#, row("e")),
            &format!(r#"{}}}"#, row("e")),
            &format!(r#"{},"note":""#, row("e")),
        ] {
            let line = line(start, "Y");
            assert!(line.ends_with(&before.ending.text), "{line}");
            assert!(serde_json::from_str::<Record>(&line).is_err(), "{line}");
            assert_eq!(parse(line.as_bytes(), &mut before), None, "{line}");
        }
    }

    #[test]
    fn an_ending_that_states_everything_needs_a_beginning_all_the_same() {
        let ending = format!(r#","device":{{"name":"X"}},"schema":"{SCHEMA}","op":"A","case":"a"}}"#);
        let mut before = Before::default();
        assert!(parse(format!(r#"{{"family":"f"{ending}"#).as_bytes(), &mut before).is_some());
        assert_eq!(before.ending.text, ending);
        assert_eq!(parse(format!("{{{ending}").as_bytes(), &mut before), None);
    }

    #[test]
    fn endings_that_do_not_return_are_looked_for_no_more() {
        let mut before = Before::default();
        for n in 0..2 * MISSES {
            let line = line(&format!(r#""schema":"{SCHEMA}","op":"A","case":"a""#), &n.to_string());
            assert!(parse(line.as_bytes(), &mut before).is_some());
        }
        assert_eq!(before.ending.missed, MISSES);
    }
}
