//! JUnit reports of pytest nightlies to records.
//!
//! A test case states its numbers as properties: `<tag>_device_busy_ms`, `<tag>_flops`, `<tag>_timing`, … for each thing
//! that it timed. One tag is the op itself (`tileops`), the others are its peers. A report says neither which device ran
//! it nor which unit prices an op's FLOPs; both come from the caller, or stay unknown.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde::Deserialize;
use serde_json::Value;
use tileops_record::{Device, Extra, Record, Run, Text, Timing};

/// The tag of the op itself.
const OWN_TAG: &str = "tileops";
/// The tag that repeats the best peer under a second name.
const REPEATED_TAG: &str = "baseline";

/// What a report does not say.
#[derive(Debug, Clone, Default)]
pub struct Assumptions {
    /// The name of the device that ran it.
    pub device: Option<String>,
    /// Which unit prices an op's FLOPs.
    pub roofs: RoofMap,
}

/// Roof keys by op, from a YAML mapping: `GemmFwdOp: tensor_core.bf16`, or by dtype,
/// `GemmFwdOp: {float16: tensor_core.fp16, bfloat16: tensor_core.bf16}`. The key of `*` is of every op that is not named;
/// without it, such an op has none.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct RoofMap {
    ops: BTreeMap<String, Roof>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Roof {
    Always(String),
    ByDtype(BTreeMap<String, String>),
}

impl RoofMap {
    /// Reads the mapping.
    pub fn from_yaml(text: &str) -> Result<RoofMap, serde_yaml::Error> {
        serde_yaml::from_str(text)
    }

    /// The key of `op` at `dtype`.
    pub fn key(&self, op: &str, dtype: Option<&str>) -> Option<&str> {
        match self.ops.get(op).or_else(|| self.ops.get("*"))? {
            Roof::Always(key) => Some(key),
            Roof::ByDtype(keys) => keys.get(dtype?).map(String::as_str),
        }
    }
}

/// Why a report, or one of its cases, could not be imported.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ImportError {
    /// The text is no XML from this byte on; the cases before it are imported.
    #[error("not well-formed XML at byte {at}: {reason}")]
    Xml {
        /// Where.
        at: u64,
        /// Why.
        reason: String,
    },
    /// One property of a case is no number; the case is left out.
    #[error("case `{case}`: `{property}` is `{value}`, which is no number")]
    Number {
        /// The test case.
        case: String,
        /// The property.
        property: String,
        /// What it says.
        value: String,
    },
}

/// What a report gave.
#[derive(Debug, Clone, Default)]
pub struct Imported {
    /// One record a case and tag, in the order of the report.
    pub records: Vec<Record>,
    /// What was lost, and why.
    pub errors: Vec<ImportError>,
    /// How many cases state no time at all: skipped tests, and tests of other things.
    pub untimed: usize,
}

/// Imports the JUnit report `xml`.
pub fn import_junit(xml: &str, assumptions: &Assumptions) -> Imported {
    let mut imported = Imported::default();
    let mut reader = Reader::from_str(xml);
    let mut case: Option<Case> = None;
    let mut started: Option<String> = None;
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) if tag.name().as_ref() == b"testcase" => {
                case = Some(Case::open(&tag, started.clone()))
            }
            Ok(Event::Start(tag)) if tag.name().as_ref() == b"testsuite" => started = attribute(&tag, "timestamp"),
            Ok(Event::Empty(tag)) if tag.name().as_ref() == b"testcase" => imported.untimed += 1,
            Ok(Event::Start(tag) | Event::Empty(tag)) if tag.name().as_ref() == b"property" => {
                if let (Some(case), Some(name)) = (&mut case, attribute(&tag, "name")) {
                    case.properties.push((name, attribute(&tag, "value").unwrap_or_default()));
                }
            }
            Ok(Event::End(tag)) if tag.name().as_ref() == b"testcase" => {
                if let Some(case) = case.take() {
                    case.close(assumptions, &mut imported);
                }
            }
            Ok(Event::Eof) => return imported,
            Ok(_) => {}
            Err(error) => {
                let at = reader.error_position();
                imported.errors.push(ImportError::Xml { at, reason: error.to_string() });
                return imported;
            }
        }
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = tag.try_get_attribute(name).ok()??;
    let raw = String::from_utf8_lossy(&attribute.value).into_owned();
    Some(quick_xml::escape::unescape(&raw).map_or(raw.clone(), |text| text.into_owned()))
}

struct Case {
    name: String,
    /// The time stamp of its suite.
    started: Option<String>,
    properties: Vec<(String, String)>,
}

impl Case {
    fn open(tag: &BytesStart<'_>, started: Option<String>) -> Case {
        Case { name: attribute(tag, "name").unwrap_or_default(), started, properties: Vec::new() }
    }

    fn property(&self, name: &str) -> Option<&str> {
        self.properties.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The op's family, as its module tells it: what stands below `ops` in `project.ops.norm.rms_norm`.
    fn family(&self) -> Option<&str> {
        let (_, below) = self.property("op_module")?.split_once(".ops.")?;
        below.split('.').next()
    }

    /// The case id: what stands in the brackets of the test's name, or the name.
    fn id(&self) -> &str {
        let inside = self.name.split_once('[').and_then(|(_, rest)| rest.strip_suffix(']'));
        inside.unwrap_or(&self.name)
    }

    fn close(self, assumptions: &Assumptions, imported: &mut Imported) {
        let tags: Vec<&str> = self
            .properties
            .iter()
            .filter_map(|(name, _)| name.strip_suffix("_device_busy_ms"))
            .filter(|&tag| tag != REPEATED_TAG)
            .collect();
        if tags.is_empty() {
            imported.untimed += 1;
            return;
        }
        // A case that names no op is its test function's.
        let op = self.property("op").unwrap_or_else(|| self.name.split('[').next().unwrap_or_default());
        for tag in tags {
            match self.record(op, tag, assumptions) {
                Ok(record) => imported.records.push(record),
                Err(error) => imported.errors.push(error),
            }
        }
    }

    fn record(&self, op: &str, tag: &str, assumptions: &Assumptions) -> Result<Record, ImportError> {
        let field = |what: &str| format!("{tag}_{what}");
        let number = |what: &str| self.number::<f64>(&field(what));
        let milliseconds = |what: &str| Ok(number(what)?.map(|ms| ms * 1e6));
        let dtype = self.property(&field("dtype")).or_else(|| self.property("tileops_dtype")).map(str::to_owned);
        let timing = Timing {
            source: self.property(&field("timing")).unwrap_or("unknown").into(),
            device_busy_ns: milliseconds("device_busy_ms")?.unwrap_or(f64::NAN),
            p10_ns: milliseconds("device_busy_p10_ms")?,
            p90_ns: milliseconds("device_busy_p90_ms")?,
            excluded_copies_ns: milliseconds("excluded_copies_ms")?.unwrap_or(0.0),
            samples: self.number(&field("n_samples"))?,
            kernels: self.number(&field("n_kernels"))?,
            ..Timing::default()
        };
        // What this version has no field for is kept under the report's own name.
        let prefix = field("");
        let known = [
            "device_busy_ms",
            "device_busy_p10_ms",
            "device_busy_p90_ms",
            "excluded_copies_ms",
            "n_samples",
            "n_kernels",
            "timing",
            "flops",
            "bytes",
            "dtype",
            "roof_key",
        ];
        let extra: Extra = self
            .properties
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix(&prefix)?, value)))
            .filter(|(name, _)| !known.contains(name))
            .map(|(name, value)| (name.to_owned(), Value::String(value.clone())))
            .collect();
        let device = assumptions.device.as_deref().map(|name| Device { name: name.into(), ..Device::default() }.into());
        let run = Run { tool: "pytest".into(), started: self.started.as_deref().map(Text::from), ..Run::default() };
        let roof_key = self.property(&field("roof_key")).or_else(|| assumptions.roofs.key(op, dtype.as_deref()));
        Ok(Record {
            family: self.family().map(Text::from),
            peer: (tag != OWN_TAG).then(|| tag.into()),
            flops: self.count(&field("flops"))?,
            bytes: self.count(&field("bytes"))?,
            roof_key: roof_key.map(Text::from),
            dtype: dtype.map(Text::from),
            timing: Some(timing.into()),
            device,
            run: Some(run.into()),
            extra,
            ..Record::new(op, self.id())
        })
    }

    fn number<T: std::str::FromStr>(&self, property: &str) -> Result<Option<T>, ImportError> {
        let Some(value) = self.property(property) else { return Ok(None) };
        value.parse().map(Some).map_err(|_| self.no_number(property, value))
    }

    /// A count, which some reports print rounded: `1.4974e+09`.
    fn count(&self, property: &str) -> Result<Option<u128>, ImportError> {
        let Some(value) = self.property(property) else { return Ok(None) };
        if let Ok(count) = value.parse() {
            return Ok(Some(count));
        }
        match value.parse::<f64>() {
            // Both bounds are exact floats, so the cast neither truncates nor saturates.
            Ok(rounded) if rounded >= 0.0 && rounded < 2f64.powi(127) && rounded.fract() == 0.0 => {
                Ok(Some(rounded as u128))
            }
            _ => Err(self.no_number(property, value)),
        }
    }

    fn no_number(&self, property: &str, value: &str) -> ImportError {
        ImportError::Number { case: self.name.clone(), property: property.to_owned(), value: value.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<testsuites><testsuite name="pytest" timestamp="2026-08-22T18:31:16+00:00">
      <testcase name="test_add[square-4k-float16]"><properties>
        <property name="op" value="AddFwdOp"/><property name="op_module" value="project.ops.elementwise.add"/>
        <property name="tileops_device_busy_ms" value="0.0125"/><property name="tileops_timing" value="cupti"/>
        <property name="tileops_flops" value="16777216"/><property name="tileops_bytes" value="100663296"/>
        <property name="tileops_dtype" value="float16"/><property name="tileops_gap_ms" value="0.5"/>
        <property name="torch_bytes" value="1.00663e+08"/><property name="torch_device_busy_ms" value="0.02"/><property name="torch_timing" value="cupti"/>
        <property name="baseline_tag" value="torch"/><property name="baseline_device_busy_ms" value="0.02"/>
      </properties></testcase>
      <testcase name="test_add[broken]"><properties>
        <property name="op" value="AddFwdOp"/><property name="tileops_device_busy_ms" value="fast"/>
      </properties></testcase>
      <testcase name="test_add[skipped]"><skipped message="no kernel"/></testcase>
    </testsuite></testsuites>"#;

    #[test]
    fn a_case_gives_the_op_and_its_peers_and_keeps_what_it_does_not_know() {
        let roofs = RoofMap::from_yaml("AddFwdOp: {float16: cuda_core.fp32}").unwrap();
        let imported = import_junit(REPORT, &Assumptions { device: Some("NVIDIA H200".into()), roofs });
        assert_eq!(imported.records.len(), 2);
        let own = &imported.records[0];
        assert_eq!((own.op.as_str(), own.case.as_str(), &own.peer), ("AddFwdOp", "square-4k-float16", &None));
        assert_eq!(own.timing.as_ref().unwrap().device_busy_ns, 12_500.0);
        assert_eq!((own.flops, own.bytes), (Some(16_777_216), Some(100_663_296)));
        assert_eq!(own.roof_key.as_deref(), Some("cuda_core.fp32"));
        assert_eq!(own.family.as_deref(), Some("elementwise"));
        assert_eq!(own.run.as_ref().unwrap().started.as_deref(), Some("2026-08-22T18:31:16+00:00"));
        assert_eq!(own.extra["gap_ms"], Value::String("0.5".into()));
        assert_eq!(imported.records[1].peer.as_deref(), Some("torch"));
        assert_eq!((imported.records[1].flops, imported.records[1].bytes), (None, Some(100_663_000)));
    }

    #[test]
    fn a_mapping_names_ops_dtypes_and_the_rest() {
        let roofs =
            RoofMap::from_yaml("A: tensor_core.bf16\nB: {float16: tensor_core.fp16}\n\"*\": cuda_core.fp32").unwrap();
        let key = |op, dtype| roofs.key(op, dtype);
        assert_eq!(key("A", None), Some("tensor_core.bf16"));
        assert_eq!(
            (key("B", Some("float16")), key("B", Some("int8")), key("B", None)),
            (Some("tensor_core.fp16"), None, None)
        );
        assert_eq!(key("C", Some("float16")), Some("cuda_core.fp32"));
        assert_eq!(RoofMap::default().key("A", None), None);
    }

    #[test]
    fn a_broken_case_costs_itself_and_says_which() {
        let imported = import_junit(REPORT, &Assumptions::default());
        assert_eq!(imported.untimed, 1);
        assert_eq!(
            imported.errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["case `test_add[broken]`: `tileops_device_busy_ms` is `fast`, which is no number"]
        );
    }

    #[test]
    fn a_report_cut_short_keeps_what_came_before() {
        let cut = &REPORT[..REPORT.find("<testcase name=\"test_add[broken]").unwrap() + 20];
        let imported = import_junit(cut, &Assumptions::default());
        assert_eq!(imported.records.len(), 2);
        assert_eq!(imported.errors.len(), 1);
    }
}
