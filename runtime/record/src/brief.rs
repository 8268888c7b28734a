//! Records of which only what pricing reads is kept.
//!
//! Most of a line says how a row was made and measured: parameters, tensors, percentiles, clocks, the run. Whoever prices a
//! million rows keeps none of it. It is checked all the same, so that a line that is no record is none for anybody.

mod ending;

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use self::ending::Ending;
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

/// What is known of the lines before.
#[derive(Debug, Default)]
pub(crate) struct Before {
    kept: Kept,
    ending: Ending,
}

/// What the records before had: most of it the next one has, too.
#[derive(Debug, Default)]
struct Kept {
    record: Record,
    timing: Timing,
    /// Of nothing, and never changed: what a record and its timing begin as. A thread has one value of each text, and
    /// finding that of the empty one costs more than cloning what has it.
    blank: (Record, Timing),
}

/// The record of a line, of which what is not priced is left out. Nothing where it has not quite the form that records are
/// written in: whether it is one all the same is for [`Record`] to tell.
pub(crate) fn parse(line: &[u8], before: &mut Before) -> Option<Record> {
    let line = std::str::from_utf8(line).ok()?;
    let forms = FORMS.as_ref()?;
    let Before { kept, ending } = before;
    let (record, fields) = match ending.start_of(line) {
        Some(start) => ending.read(start, |text| object(text, forms, kept))?,
        None => {
            let read = object(line, forms, kept)?;
            if forms.record.fields.suffice(read.1) {
                ending.learn(line, |text| object(text, forms, kept));
            }
            read
        }
    };
    (forms.record.fields.suffice(fields) && record.schema == *SCHEMA).then_some(record)
}

/// A text that is an object, and what is kept of the record's fields in it; which fields those are.
fn object(text: &str, forms: &'static Forms, kept: &mut Kept) -> Option<(Record, u64)> {
    let mut compact = Compact::new(text);
    if let Ok(read) = (Reader { forms, kept }).deserialize(&mut compact)
        && compact.end().is_ok()
    {
        return Some(read);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = Reader { forms, kept }.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(read)
}

struct Reader<'a> {
    forms: &'static Forms,
    kept: &'a mut Kept,
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
        let Reader { forms, kept } = self;
        let Kept { record: known, timing: known_timing, blank: (blank, blank_timing) } = kept;
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
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::read;

    /// A record with a value of every kind, in every place.
    fn full() -> Value {
        json!({
            "schema": SCHEMA, "op": "SoftmaxFwdOp", "case": "a", "family": "softmax", "dtype": "bfloat16", "peer": "torch",
            "params": {"M": 1, "T": "bfloat16", "axes": [1, -1.5, null, true]},
            "tensors": [{"name": "x", "dtype": "bfloat16", "shape": [4, 8], "strides": [-8, 1], "effect": "read", "note": 1}],
            "flops": 64, "bytes": 128, "read_bytes": 64, "roof_key": "cuda_core.fp32", "entry_hash": "sha256:9d",
            "data_terms": {"experts": [1, 2]}, "seed": 7,
            "values": {"offsets": [0, 3]}, "distributions": {"x": {"uniform": {"low": -1.0, "high": 1}}},
            "correctness": {"passed": true, "reference": "cpu-f64", "worst": 0.5, "atol": 1e-3, "rtol": 0,
                "compared": 3, "elements": 4, "wrong": 1, "note": []},
            "failure": {"kind": "hung", "message": "no", "note": {}},
            "timing": {"source": "cupti", "reason": "r", "device_busy_ns": 12.5, "p10_ns": 12, "p90_ns": 13.0,
                "median_low_ns": 12.1, "median_high_ns": 12.9, "samples": 50, "excluded_copies_ns": 3, "kernels": 1,
                "policy": {"l2": "read 256 MiB", "inputs": 4, "warmup": 10, "graph": false, "within": 0.01,
                    "confidence": 0.95, "seconds": [0.1, 1], "note": "n"},
                "clocks": {"sm_mhz": 1980.0, "sm_min_mhz": 1, "sm_max_mhz": 2, "memory_mhz": 3201, "throttle": ["t"],
                    "power_w": 600.5, "temperature_c": 40, "reason": "r", "note": null}, "elapsed_ns": 14, "note": -1},
            "device": {"name": "NVIDIA H200", "driver": "580", "cuda": "13.0", "compute_capability": "9.0",
                "l2_bytes": 52428800, "uuid": "u", "note": 1e300},
            "run": {"tool": "tileops-bench", "version": "0.1.0", "revision": "818fe99", "dirty": false,
                "started": "2026-11-29T20:00:00Z", "command": ["a"], "libraries": {"torch": "2.9"}, "note": "n"},
            "note": {"by": "me"},
        })
    }

    /// Whether `value` has every property that `schema` states, and they theirs. `seen` gets the places of the schema.
    fn holds(value: &Value, schema: &Value, root: &Value, at: &str, seen: &mut BTreeSet<String>) {
        if let Some(Value::String(place)) = schema.get("$ref") {
            let pointer = place.trim_start_matches('#');
            return holds(value, root.pointer(pointer).expect(place), root, pointer, seen);
        }
        seen.insert(at.to_owned());
        for schema in schema["anyOf"].as_array().into_iter().flatten().filter(|schema| schema["type"] != "null") {
            holds(value, schema, root, at, seen);
        }
        if let Some(items) = schema.get("items") {
            let first = value.get(0).unwrap_or_else(|| panic!("{at} holds nothing"));
            holds(first, items, root, &format!("{at}/items"), seen);
        }
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            let value = value.get(name).filter(|value| !value.is_null());
            let value = value.unwrap_or_else(|| panic!("{at} has no {name}"));
            holds(value, schema, root, &format!("{at}/properties/{name}"), seen);
        }
    }

    #[test]
    fn the_full_record_has_every_field_of_the_schema() {
        let schema = crate::json_schema();
        let mut seen = BTreeSet::new();
        holds(&full(), &schema, &schema, "", &mut seen);
        let parts = schema["$defs"].as_object().expect("the parts of a record");
        assert!(parts.len() > 5);
        for name in parts.keys() {
            assert!(seen.contains(&format!("/$defs/{name}")), "{name} is nowhere in {seen:?}");
        }
    }

    /// What the brief reader keeps of a record.
    fn brief_of(record: Record) -> Record {
        let timing = record.timing.map(|t| {
            let (source, device_busy_ns, excluded_copies_ns) = (t.source, t.device_busy_ns, t.excluded_copies_ns);
            Timing { source, device_busy_ns, excluded_copies_ns, ..Timing::default() }.into()
        });
        let device = record.device.map(|d| Device { name: d.name.clone(), ..Device::default() }.into());
        let Record { schema, op, case, family, dtype, peer, flops, bytes, roof_key, .. } = record;
        Record { schema, op, case, family, dtype, peer, flops, bytes, roof_key, timing, device, ..Record::default() }
    }

    #[test]
    fn a_line_as_records_are_written_is_read_briefly() {
        let mut before = Before::default();
        for line in [full().to_string(), format!(r#" {{"op":"A","case":"a","schema":"{SCHEMA}"}} "#)] {
            let whole = read::parse(line.as_bytes()).expect("a record");
            let brief = parse(line.as_bytes(), &mut before).expect("a record, to the brief reader too");
            assert_eq!(brief, brief_of(whole));
        }
    }

    /// The places of a value: its own, and those of all that it holds.
    fn places(value: &Value, at: &str, all: &mut Vec<String>) {
        all.push(at.to_owned());
        match value {
            Value::Object(map) => map.iter().for_each(|(name, value)| places(value, &format!("{at}/{name}"), all)),
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(index, value)| places(value, &format!("{at}/{index}"), all));
            }
            _ => {}
        }
    }

    #[test]
    fn what_is_no_record_is_none_to_the_brief_reader() {
        let (mut before, usual) = (Before::default(), full().to_string());
        let (mut lines, mut refused, mut taken, mut left) = (0, 0, 0, 0);
        let mut judge = |line: &str| {
            lines += 1;
            // After lines of every kind, and after one that ends as most of them do.
            let mut after_one = Before::default();
            parse(usual.as_bytes(), &mut after_one).expect("a record");
            for before in [&mut before, &mut after_one] {
                match (read::parse(line.as_bytes()), parse(line.as_bytes(), before)) {
                    (Ok(whole), Some(brief)) => {
                        assert_eq!(brief, brief_of(whole), "{line}");
                        taken += 1;
                    }
                    (Err(reason), Some(_)) => panic!("{reason}: {line}"),
                    (Err(_), None) => refused += 1,
                    (Ok(_), None) => left += 1,
                }
            }
        };
        let mut all = Vec::new();
        places(&full(), "", &mut all);
        for place in &all {
            for value in [
                json!(null),
                json!(true),
                json!(-1),
                json!(1),
                json!(1.5),
                json!(1e300),
                json!(u64::MAX),
                json!("x"),
                json!([]),
                json!([1]),
                json!([-1]),
                json!(["x"]),
                json!({}),
                json!({"name": "x"}),
            ] {
                let mut record = full();
                *record.pointer_mut(place).expect("its own place") = value;
                judge(&record.to_string());
            }
            // Without it, and with it twice.
            let Some((parent, name)) = place.rsplit_once('/') else { continue };
            let mut record = full();
            if let Some(Value::Object(map)) = record.pointer_mut(parent) {
                let value = map.shift_remove(name).expect("its own place");
                judge(&record.to_string());
                let Some(Value::Object(map)) = record.pointer_mut(parent) else { continue };
                map.insert("TWICE".to_owned(), value.clone());
                map.insert(name.to_owned(), value);
                judge(&record.to_string().replace("TWICE", name));
            }
        }
        let line = full().to_string();
        for end in 0..line.len() {
            judge(&line[..end]);
        }
        for (from, to) in [
            ("12.5", "1e999"),
            ("1e300", "1e999"),
            ("cupti", "\\ud800"),
            ("\"me\"", "\"\\ud800\""),
            ("64", "18446744073709551616"),
            ("64", "064"),
            ("64", "-0"),
            ("\"op\"", "\"\\u006fp\""),
            ("\"me\"", "\"\t\""),
            (SCHEMA, "tileops.record/2"),
        ] {
            judge(&line.replacen(from, to, 1));
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        judge(&line.replace("\"me\"", &deep));
        judge(&format!("{line} {line}"));
        assert!(refused > 1_000 && refused < 2 * lines, "{refused} of {lines}");
        // Few records are written so that only the full reader takes them.
        assert!(taken > 1_000 && left < taken / 20, "{taken}, and {left} not");
    }
}
