//! What Nsight Compute prints with `--csv`: one line a kernel and metric, among lines of its own and of the program.
//!
//! Values carry thousands separators inside their quotes, `"67,114,752"`; lines of Nsight Compute start with `==`; the
//! table's head is the first line that names its columns, and a line that does not fit the head is the program's.

use std::collections::BTreeMap;

/// The metric of the bytes that the memory was read for.
pub const READ: &str = "dram__bytes_read.sum";
/// The metric of the bytes that were written to the memory.
pub const WRITE: &str = "dram__bytes_write.sum";
/// The metric of the time a kernel took.
pub const DURATION: &str = "gpu__time_duration.sum";

/// The metrics that an audit asks for, as `--metrics` takes them.
pub const METRICS: [&str; 3] = [READ, WRITE, DURATION];

/// What one profiled kernel launch gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// Its place among the launches.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Each metric in its base unit (bytes, nanoseconds, a plain number); one that could not be measured is not here.
    pub metrics: BTreeMap<String, f64>,
}

/// What one run under Nsight Compute gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Profile {
    /// The kernels, in the order of their launch.
    pub kernels: Vec<Kernel>,
    /// What Nsight Compute complained of: its `==ERROR==` and `==WARNING==` lines.
    pub complaints: Vec<String>,
}

/// Why the text is no table of metrics.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CsvError {
    /// There is no head.
    #[error("Nsight Compute printed no table of metrics{}", said(.0))]
    NoTable(Vec<String>),
    /// The head lacks a column.
    #[error("line {line}: the table has no column `{column}`")]
    NoColumn {
        /// The head's line.
        line: usize,
        /// What is missing.
        column: &'static str,
    },
    /// A value is no number.
    #[error("line {line}: `{metric}` is `{value}` {unit}, which is no number in a unit that is known")]
    Value {
        /// The line.
        line: usize,
        /// The metric.
        metric: String,
        /// The value.
        value: String,
        /// Its unit.
        unit: String,
    },
}

fn said(complaints: &[String]) -> String {
    if complaints.is_empty() { String::new() } else { format!("; it said: {}", complaints.join(" ")) }
}

impl Profile {
    /// Reads the text that `ncu --csv` printed.
    pub fn parse(text: &str) -> Result<Profile, CsvError> {
        let mut profile = Profile::default();
        let mut head: Option<Head> = None;
        for (line, text) in (1..).zip(text.lines()) {
            if let Some(complaint) = complaint(text) {
                profile.complaints.push(complaint.to_owned());
                continue;
            }
            let Some(fields) = fields(text) else { continue };
            match &head {
                None if fields.iter().any(|f| f == "Metric Name") => head = Some(Head::of(&fields, line)?),
                Some(head) if fields.len() == head.columns => profile.take(&fields, head, line)?,
                _ => {}
            }
        }
        if head.is_some() { Ok(profile) } else { Err(CsvError::NoTable(profile.complaints)) }
    }

    fn take(&mut self, fields: &[String], head: &Head, line: usize) -> Result<(), CsvError> {
        // A line of the program that happens to have as many fields begins with no number.
        let Ok(id) = fields[head.id].parse() else { return Ok(()) };
        let place = self.kernels.iter().rposition(|k| k.id == id);
        let kernel = match place {
            Some(at) => &mut self.kernels[at],
            None => {
                self.kernels.push(Kernel { id, name: fields[head.kernel].clone(), metrics: BTreeMap::new() });
                let last = self.kernels.len() - 1;
                &mut self.kernels[last]
            }
        };
        let (metric, unit, value) = (&fields[head.metric], &fields[head.unit], &fields[head.value]);
        if let Some(value) = number(value, unit).map_err(|()| CsvError::Value {
            line,
            metric: metric.clone(),
            value: value.clone(),
            unit: unit.clone(),
        })? {
            kernel.metrics.insert(metric.clone(), value);
        }
        Ok(())
    }

    /// The sum of a metric over the kernels; nothing where one of them lacks it, or there is none.
    pub fn sum(&self, metric: &str) -> Option<f64> {
        if self.kernels.is_empty() {
            return None;
        }
        self.kernels.iter().map(|k| k.metrics.get(metric).copied()).sum()
    }
}

/// Where the columns stand.
struct Head {
    columns: usize,
    id: usize,
    kernel: usize,
    metric: usize,
    unit: usize,
    value: usize,
}

impl Head {
    fn of(fields: &[String], line: usize) -> Result<Head, CsvError> {
        let at = |column| fields.iter().position(|f| f == column).ok_or(CsvError::NoColumn { line, column });
        Ok(Head {
            columns: fields.len(),
            id: at("ID")?,
            kernel: at("Kernel Name")?,
            metric: at("Metric Name")?,
            unit: at("Metric Unit")?,
            value: at("Metric Value")?,
        })
    }
}

fn complaint(line: &str) -> Option<&str> {
    ["==ERROR==", "==WARNING=="].iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim)
}

/// The fields of a line in which every field is quoted; nothing of another line.
fn fields(line: &str) -> Option<Vec<String>> {
    let mut fields = Vec::new();
    let mut rest = line.trim_end();
    loop {
        rest = rest.strip_prefix('"')?;
        let mut field = String::new();
        loop {
            let (before, after) = rest.split_once('"')?;
            field.push_str(before);
            match after.strip_prefix('"') {
                // A doubled quote is one.
                Some(more) => {
                    field.push('"');
                    rest = more;
                }
                None => {
                    rest = after;
                    break;
                }
            }
        }
        fields.push(field);
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None if rest.is_empty() => return Some(fields),
            None => return None,
        }
    }
}

/// A value in its base unit; nothing where it could not be measured.
fn number(text: &str, unit: &str) -> Result<Option<f64>, ()> {
    let plain: String = text.trim().chars().filter(|c| *c != ',').collect();
    if plain.is_empty() || plain.eq_ignore_ascii_case("n/a") || plain.contains("nan") {
        return Ok(None);
    }
    let value: f64 = plain.parse().map_err(|_| ())?;
    let scale = match unit.trim() {
        "" | "byte" | "ns" | "nsecond" | "%" | "hz" | "cycle" | "inst" | "sector" => 1.0,
        "Kbyte" | "us" | "usecond" | "Khz" => 1e3,
        "Mbyte" | "ms" | "msecond" | "Mhz" => 1e6,
        "Gbyte" | "s" | "second" | "Ghz" => 1e9,
        "Tbyte" => 1e12,
        _ => return Err(()),
    };
    if value.is_finite() { Ok(Some(value * scale)) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: &str = r#""ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value""#;

    fn line(id: u32, kernel: &str, metric: &str, unit: &str, value: &str) -> String {
        format!(
            r#""{id}","571","bench","127.0.0.1","{kernel}","1","13","(256, 1, 1)","(16384, 1, 1)","0","9.0","Command line profiler metrics","{metric}","{unit}","{value}""#
        )
    }

    #[test]
    fn values_among_the_lines_of_the_profiler_and_of_the_program() {
        let text = [
            "==PROF== Connected to process 571 (/work/bench)",
            "AddFwdOp big: 3 calls, \"quoted\", and, commas",
            "==PROF== Profiling \"copy\" - 0: 0%....100% - 1 pass",
            HEAD,
            &line(0, "copy<(int)4, \"\"x\"\">", READ, "byte", "67,114,752"),
            &line(0, "copy<(int)4, \"\"x\"\">", WRITE, "byte", "43,108,864"),
            "the program is still talking",
            &line(0, "copy<(int)4, \"\"x\"\">", DURATION, "us", "33.28"),
            &line(1, "reduce", READ, "Mbyte", "1.5"),
            &line(1, "reduce", WRITE, "byte", "n/a"),
            "==PROF== Disconnected from process 571",
            "==WARNING== the cache control was ignored",
        ]
        .join("\r\n");
        let profile = Profile::parse(&text).expect("a table");
        assert_eq!(profile.kernels.len(), 2);
        assert_eq!(profile.kernels[0].name, "copy<(int)4, \"x\">");
        assert_eq!(profile.kernels[0].metrics[READ], 67_114_752.0);
        assert_eq!(profile.kernels[0].metrics[DURATION], 33_280.0);
        assert_eq!(profile.sum(READ), Some(68_614_752.0));
        assert_eq!(profile.sum(WRITE), None, "a kernel lacks it");
        assert_eq!(profile.complaints, ["the cache control was ignored"]);
    }

    #[test]
    fn a_text_without_a_table_says_what_the_profiler_said() {
        let error = Profile::parse("==ERROR== ERR_NVGPUCTRPERM - no permission\n").expect_err("no table");
        assert_eq!(
            error.to_string(),
            "Nsight Compute printed no table of metrics; it said: ERR_NVGPUCTRPERM - no permission"
        );
        assert_eq!(Profile::parse("").expect_err("nothing").to_string(), "Nsight Compute printed no table of metrics");
        let text = format!("{HEAD}\n{}", line(0, "copy", READ, "furlong", "3"));
        assert_eq!(
            Profile::parse(&text).expect_err("no unit").to_string(),
            format!("line 2: `{READ}` is `3` furlong, which is no number in a unit that is known")
        );
        assert_eq!(
            Profile::parse(&HEAD.replace("Metric Unit", "Unit")).expect_err("no column").to_string(),
            "line 1: the table has no column `Metric Unit`"
        );
    }

    proptest! {
        #[test]
        fn any_text_gives_a_result(text in "(\\PC|\n|\"|,){0,400}") {
            let _ = Profile::parse(&text);
            let _ = Profile::parse(&format!("{HEAD}\n{text}"));
        }

        #[test]
        fn separators_change_no_value(value in 0u64..1 << 53) {
            let digits = value.to_string();
            let mut grouped = String::new();
            for (at, digit) in digits.chars().enumerate() {
                if at > 0 && (digits.len() - at) % 3 == 0 {
                    grouped.push(',');
                }
                grouped.push(digit);
            }
            let profile = Profile::parse(&format!("{HEAD}\n{}", line(0, "k", READ, "byte", &grouped))).expect("a table");
            prop_assert_eq!(profile.sum(READ), Some(value as f64));
        }
    }
}
