//! Which rows are run.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use globset::GlobMatcher;
use tileops_analyzer::lang::Value;
use tileops_analyzer::workload::Call;

use crate::machine::Which;
use crate::rows::Entry;

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Ops.
    pub op: Option<GlobMatcher>,
    /// Cases.
    pub row: Option<GlobMatcher>,
    /// A dtype that one of the row's dtype indices has.
    pub dtype: Option<String>,
}

impl Filter {
    /// Whether the op is asked for.
    pub fn takes_op(&self, op: &str) -> bool {
        self.op.as_ref().is_none_or(|glob| glob.is_match(op))
    }

    /// Whether the row is, of an op that is.
    pub fn takes(&self, call: &Call) -> bool {
        let has_dtype = |name: &String| {
            let mut values = call.indices.iter().chain(&call.params).map(|(_, value)| value);
            values.any(|value| matches!(value, Value::DType(dtype) if dtype.name() == name))
        };
        self.row.as_ref().is_none_or(|glob| glob.is_match(&call.case_id)) && self.dtype.as_ref().is_none_or(has_dtype)
    }
}

/// Part `part` of `of`, both from 1: `2/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// Which, from 1.
    pub part: usize,
    /// Of how many.
    pub of: usize,
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match parsed {
            Some((part, of)) if (1..=of).contains(&part) => Ok(Partition { part, of }),
            _ => Err("a partition is `I/N` with I from 1 to N, as in `2/8`".to_owned()),
        }
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

impl Partition {
    /// The partition that a Slurm array or an indexed job of Kubernetes is given by its environment; nothing in neither.
    pub fn of_environment(read: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let number = |name: &str| -> Result<Option<usize>, String> {
            let parse = |text: String| text.parse().map_err(|_| format!("{name} is `{text}`, which is no number"));
            read(name).map(parse).transpose()
        };
        if let Some(task) = number("SLURM_ARRAY_TASK_ID")? {
            let (least, step) = (number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0), number("SLURM_ARRAY_TASK_STEP")?);
            let Some(of) = number("SLURM_ARRAY_TASK_COUNT")? else {
                return Err(
                    "SLURM_ARRAY_TASK_ID is set and SLURM_ARRAY_TASK_COUNT is not: name the part by --partition I/N"
                        .to_owned(),
                );
            };
            let part = task.saturating_sub(least) / step.unwrap_or(1).max(1) + 1;
            return Partition::named(part, of, "SLURM_ARRAY_TASK_ID").map(Some);
        }
        if let Some(index) = number("JOB_COMPLETION_INDEX")? {
            let Some(of) = number("JOB_COMPLETIONS")? else {
                return Err(
                    "JOB_COMPLETION_INDEX is set: set JOB_COMPLETIONS to the job's `completions` as well, or name the \
                            part by --partition I/N"
                        .to_owned(),
                );
            };
            return Partition::named(index + 1, of, "JOB_COMPLETION_INDEX").map(Some);
        }
        Ok(None)
    }

    fn named(part: usize, of: usize, name: &str) -> Result<Self, String> {
        match (1..=of).contains(&part) {
            true => Ok(Partition { part, of }),
            false => Err(format!("{name} is that of part {part}, and there are {of}")),
        }
    }

    /// Its stretch of `count` rows: stretches are as long as each other to within one, and together all.
    pub fn stretch(self, count: usize) -> std::ops::Range<usize> {
        (self.part - 1) * count / self.of..self.part * count / self.of
    }
}

/// The rows of one op that are run.
#[derive(Debug, Clone)]
pub struct Selected<'m> {
    /// The entry.
    pub entry: Entry<'m>,
    /// Its calls.
    pub calls: Vec<&'m Call>,
}

/// What is run, and what is not.
#[derive(Debug, Clone, Default)]
pub struct Selection<'m> {
    /// The rows that are run, op by op.
    pub ops: Vec<Selected<'m>>,
    /// Why ops that are asked for are not run: how many, and how many rows of them.
    pub lacking: BTreeMap<&'static str, (usize, usize)>,
}

impl<'m> Selection<'m> {
    /// Those of `entries` that are asked for and can run, and of their rows the partition's.
    pub fn new(
        entries: impl Iterator<Item = Entry<'m>>,
        filter: &Filter,
        which: Which,
        partition: Option<Partition>,
    ) -> Self {
        let mut selection = Selection::default();
        for entry in entries.filter(|entry| filter.takes_op(entry.op())) {
            let calls: Vec<&Call> = entry.calls().iter().filter(|call| filter.takes(call)).collect();
            if calls.is_empty() {
                continue;
            }
            match which.lacks(entry.op()) {
                None => selection.ops.push(Selected { entry, calls }),
                Some(why) => {
                    let (ops, rows) = selection.lacking.entry(why).or_default();
                    (*ops, *rows) = (*ops + 1, *rows + calls.len());
                }
            }
        }
        if let Some(partition) = partition {
            let stretch = partition.stretch(selection.rows());
            let mut at = 0;
            for selected in &mut selection.ops {
                selected.calls.retain(|_| {
                    at += 1;
                    stretch.contains(&(at - 1))
                });
            }
            selection.ops.retain(|selected| !selected.calls.is_empty());
        }
        selection
    }

    /// How many rows are run.
    pub fn rows(&self) -> usize {
        self.ops.iter().map(|selected| selected.calls.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_all_of_it_and_none_twice() {
        for (count, of) in [(0, 3), (2, 5), (17, 4), (480, 7)] {
            let all: Vec<usize> = (1..=of).flat_map(|part| Partition { part, of }.stretch(count)).collect();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
        for bad in ["0/4", "5/4", "1", "a/b", "1/0"] {
            assert!(bad.parse::<Partition>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_job_of_an_array_knows_its_part() {
        let of = |pairs: &'static [(&str, &str)]| {
            Partition::of_environment(|name| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(of(&[]), Ok(None));
        let slurm = of(&[
            ("SLURM_ARRAY_TASK_ID", "7"),
            ("SLURM_ARRAY_TASK_MIN", "3"),
            ("SLURM_ARRAY_TASK_STEP", "2"),
            ("SLURM_ARRAY_TASK_COUNT", "4"),
        ]);
        assert_eq!(slurm, Ok(Some(Partition { part: 3, of: 4 })));
        let kubernetes = of(&[("JOB_COMPLETION_INDEX", "0"), ("JOB_COMPLETIONS", "8")]);
        assert_eq!(kubernetes, Ok(Some(Partition { part: 1, of: 8 })));
        assert!(of(&[("JOB_COMPLETION_INDEX", "0")]).is_err_and(|why| why.contains("JOB_COMPLETIONS")));
        assert!(of(&[("JOB_COMPLETION_INDEX", "9"), ("JOB_COMPLETIONS", "8")]).is_err());
        assert!(of(&[("SLURM_ARRAY_TASK_ID", "x")]).is_err_and(|why| why.contains("no number")));
    }
}
