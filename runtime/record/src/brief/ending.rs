//! How lines end: with the device and the run, of which every record of a file says the same.
//!
//! An ending that returns is read once. What stands before it is read as the object that it is without it.

use std::sync::Arc;

use crate::record::{Device, Record};

/// How an ending begins: with the first field that is of the run and not of the row.
const FIRST: &str = ",\"device\":{";
/// How many endings are looked for: where so many took each other's place, they do not return.
const TRIES: u32 = 8;

/// How the lines before ended.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// From the comma before [`FIRST`] on; nothing where none is known.
    text: String,
    /// The record's fields that it states.
    fields: u64,
    device: Option<Arc<Device>>,
    /// How many lines were searched for one.
    tried: u32,
    /// A line without its ending, or an ending without its line, made an object again.
    part: String,
}

impl Ending {
    /// What stands before the ending of a line that ends so.
    pub(super) fn start_of<'line>(&self, line: &'line str) -> Option<&'line str> {
        line.strip_suffix(&*self.text).filter(|_| !self.text.is_empty())
    }

    /// The record of a line that begins with `start` and ends so, and which fields it states. `object` tells both of a
    /// text that is an object.
    pub(super) fn read(
        &mut self,
        start: &str,
        object: impl FnOnce(&str) -> Option<(Record, u64)>,
    ) -> Option<(Record, u64)> {
        self.part.clear();
        self.part.push_str(start);
        self.part.push('}');
        let (mut record, fields) = object(&self.part)?;
        // No field has two values. That the comma comes after one at least is known of what is a record: its schema stands
        // in this part.
        if fields & self.fields != 0 {
            return None;
        }
        record.device.clone_from(&self.device);
        Some((record, fields | self.fields))
    }

    /// Remembers how a line that is a record ends.
    pub(super) fn learn(&mut self, line: &str, mut object: impl FnMut(&str) -> Option<(Record, u64)>) {
        if self.tried >= TRIES {
            return;
        }
        self.tried += 1;
        self.text.clear();
        let Some((start, end)) = line.rfind(FIRST).map(|at| line.split_at(at)) else { return };
        // Both parts have to be objects: the text that an ending begins with may stand deeper, too.
        self.part.clear();
        self.part.push_str(start);
        self.part.push('}');
        if object(&self.part).is_none() {
            return;
        }
        self.part.clear();
        self.part.push('{');
        self.part.push_str(&end[1..]);
        let Some((mut record, fields)) = object(&self.part) else { return };
        let device = record.device.take();
        // What else is kept of a record is of its row: where it stands behind the device, it is no line's ending.
        if record == Record::default() {
            self.text.push_str(end);
            self.fields = fields;
            self.device = device;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Before, parse};
    use super::*;
    use crate::SCHEMA;

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
    fn an_ending_needs_a_beginning() {
        let start = format!(r#""schema":"{SCHEMA}","op":"A","case":"a""#);
        let mut before = Before::default();
        assert!(parse(line(&start, "X").as_bytes(), &mut before).is_some());
        assert!(!before.ending.text.is_empty());
        for start in ["", r#""family":"f""#, r#""note":1"#] {
            assert_eq!(parse(line(start, "X").as_bytes(), &mut before), None, "{start}");
        }
    }

    #[test]
    fn what_stands_behind_the_device_of_the_row_is_not_lost() {
        let all = [
            (r#""schema":"tileops.record/1","#, r#""op":"A","case":"C","#),
            (r#""op":"A","case":"C","#, r#""schema":"tileops.record/1","#),
            ("", r#""schema":"tileops.record/1","op":"A","case":"C","#),
        ];
        for ((start, end), more) in all.into_iter().flat_map(|parts| {
            [r#""family":"f""#, r#""flops":7"#, r#""timing":{"source":"cupti","device_busy_ns":1.5}"#, r#""seed":1"#]
                .map(|more| (parts, more))
        }) {
            let mut before = Before::default();
            for case in ["a", "b"] {
                let line = format!(r#"{{{start}"note":1,"device":{{"name":"X"}},{end}{more}}}"#).replace('C', case);
                let record: Record = serde_json::from_str(&line).expect("a record");
                let brief = parse(line.as_bytes(), &mut before).expect("a record, to the brief reader too");
                assert_eq!(
                    (&brief.op, &brief.case, &brief.schema),
                    (&record.op, &record.case, &record.schema),
                    "{line}"
                );
                assert_eq!((&brief.family, brief.flops, &brief.timing), (&record.family, record.flops, &record.timing));
                // Nor does an ending stand for what it begins with.
                let torn = format!(r#"{{,"device":{{"name":"X"}},{end}{more}}}"#).replace('C', case);
                assert_eq!(parse(torn.as_bytes(), &mut before), None, "{torn}");
            }
        }
    }

    #[test]
    fn endings_that_do_not_return_are_looked_for_no_more() {
        let mut before = Before::default();
        for n in 0..2 * TRIES {
            let line = line(&format!(r#""schema":"{SCHEMA}","op":"A","case":"a""#), &n.to_string());
            assert!(parse(line.as_bytes(), &mut before).is_some());
        }
        assert_eq!(before.ending.tried, TRIES);
    }
}
