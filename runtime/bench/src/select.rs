//! Which rows are run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use globset::GlobMatcher;
use tileops_analyzer::defect::{list, nearest};
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

/// The dtypes by which a row can be asked for.
fn dtypes(call: &Call) -> impl Iterator<Item = &'static str> {
    call.indices.iter().chain(&call.params).filter_map(|(_, value)| match value {
        Value::DType(dtype) => Some(dtype.name()),
        _ => None,
    })
}

/// How many names are listed where none of them looks like what was asked for.
const LISTED: usize = 8;

/// Says that a filter leaves nothing of `known`, and which of them was meant, perhaps.
fn empties<'a>(filter: &str, asked: &str, of: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: BTreeSet<&str> = known.collect();
    let core = asked.trim_matches('*').to_lowercase();
    let part = || known.iter().copied().find(|name| !core.is_empty() && name.to_lowercase().contains(&core));
    let meant = match nearest(asked, known.iter().copied()).or_else(part) {
        Some(name) => format!("; did you mean `{name}`?"),
        None if (1..=LISTED).contains(&known.len()) => format!("; there is {}", list(known, "and")),
        None => String::new(),
    };
    format!("`{filter} {asked}` leaves no row{of}{meant}")
}

impl Filter {
    /// The ops that are asked for, each with its rows that are.
    ///
    /// # Errors
    ///
    /// Where there is none: which part of the filter leaves none.
    pub fn rows<'m>(&self, entries: &[Entry<'m>]) -> Result<Vec<(Entry<'m>, Vec<&'m Call>)>, String> {
        let takes_op = |op: &str| self.op.as_ref().is_none_or(|glob| glob.is_match(op));
        let of_op: Vec<Entry<'m>> = entries.iter().filter(|entry| takes_op(entry.op())).copied().collect();
        if let Some(op) = self.op.as_ref().filter(|_| of_op.is_empty()) {
            return Err(empties("--op", op.glob().glob(), "", entries.iter().map(Entry::op)));
        }
        let calls = |entry: &Entry<'m>| entry.calls().iter();
        let is_row = |call: &Call| self.row.as_ref().is_none_or(|glob| glob.is_match(&call.case_id));
        let is_dtype = |call: &Call| self.dtype.as_ref().is_none_or(|name| dtypes(call).any(|known| known == name));
        let found: Vec<(Entry<'m>, Vec<&'m Call>)> = of_op
            .iter()
            .map(|entry| (*entry, calls(entry).filter(|call| is_row(call) && is_dtype(call)).collect::<Vec<_>>()))
            .filter(|(_, calls)| !calls.is_empty())
            .collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let all = || of_op.iter().flat_map(calls);
        let of = match &self.op {
            Some(op) => format!(" of the ops that `--op {}` takes", op.glob().glob()),
            None => String::new(),
        };
        Err(match (&self.row, &self.dtype) {
            (Some(row), _) if !all().any(is_row) => {
                empties("--row", row.glob().glob(), &of, all().map(|call| &*call.case_id))
            }
            (_, Some(dtype)) if !all().any(is_dtype) => empties("--dtype", dtype, &of, all().flat_map(dtypes)),
            (Some(row), Some(dtype)) => {
                let rows = all().filter(|call| is_row(call));
                let of = format!("{of} among those that `--row {}` takes", row.glob().glob());
                empties("--dtype", dtype, &of, rows.flat_map(dtypes))
            }
            _ => format!("there is no row{of}: an op's rows are its entry's `workloads`"),
        })
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
    ///
    /// # Errors
    ///
    /// Where the environment does not say of how many parts this is which, as in an array with gaps.
    pub fn of_environment(read: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let number = |name: &str| -> Result<Option<usize>, String> {
            let parse = |text: String| text.parse().map_err(|_| format!("{name} is `{text}`, which is no number"));
            read(name).map(parse).transpose()
        };
        if let Some(task) = number("SLURM_ARRAY_TASK_ID")? {
            let of_array = |what: &str| number(&format!("SLURM_ARRAY_TASK_{what}"));
            let step = of_array("STEP")?.unwrap_or(1);
            let part = match (of_array("MIN")?, of_array("MAX")?, of_array("COUNT")?) {
                (Some(least), Some(most), Some(of)) => Partition::of_array(task, least, most, step, of),
                _ => None,
            };
            return part.map(Some).ok_or_else(|| {
                format!(
                    "task {task} of this Slurm array is no part of all rows that could be told: only an array of several \
                     tasks without gaps, from 0 or 1 on (`--array=1-8`), says which part each is. Name the part by \
                     --partition I/N (1/1 is all rows)"
                )
            });
        }
        if let Some(index) = number("JOB_COMPLETION_INDEX")? {
            let Some(of) = number("JOB_COMPLETIONS")? else {
                return Err(
                    "JOB_COMPLETION_INDEX is set: set JOB_COMPLETIONS to the job's `completions` as well, or name the \
                            part by --partition I/N"
                        .to_owned(),
                );
            };
            return match index.checked_add(1) {
                Some(part) if part <= of => Ok(Some(Partition { part, of })),
                _ => Err(format!(
                    "JOB_COMPLETION_INDEX is {index}, and JOB_COMPLETIONS {of}: the index is below it, from 0 on"
                )),
            };
        }
        Ok(None)
    }

    /// The part that task `task` of the array `least-most:step` of `of` tasks is. An array of one task, or one that begins
    /// elsewhere, may be some tasks of a former one that are run again.
    fn of_array(task: usize, least: usize, most: usize, step: usize, of: usize) -> Option<Self> {
        let place = |task: usize| task.checked_sub(least)?.checked_div(step)?.checked_add(1);
        let is_step = |task: usize| (task - least).is_multiple_of(step);
        let is_whole = least <= 1 && of > 1 && place(most)? == of && is_step(most);
        let part = place(task)?;
        (is_whole && part <= of && is_step(task)).then_some(Partition { part, of })
    }

    /// Its stretch of `count` rows: stretches are as long as each other to within one, and together all.
    pub fn stretch(self, count: usize) -> std::ops::Range<usize> {
        // A product of two sizes has twice their bits, and the quotient is at most `count`.
        let before = |part: usize| (part as u128 * count as u128 / self.of as u128) as usize;
        before(self.part - 1)..before(self.part)
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
    /// Those of `entries` that are asked for and can run.
    ///
    /// # Errors
    ///
    /// Where there is none: what it is that leaves none.
    pub fn new(entries: impl Iterator<Item = Entry<'m>>, filter: &Filter, which: Which) -> Result<Self, String> {
        let mut selection = Selection::default();
        let entries: Vec<Entry<'m>> = entries.collect();
        for (entry, calls) in filter.rows(&entries)? {
            match which.lacks(entry.op()) {
                None => selection.ops.push(Selected { entry, calls }),
                Some(why) => {
                    let (ops, rows) = selection.lacking.entry(why).or_default();
                    (*ops, *rows) = (*ops + 1, *rows + calls.len());
                }
            }
        }
        if selection.ops.is_empty() {
            let lacking =
                selection.lacking.iter().map(|(why, (ops, rows))| format!("{rows} rows of {ops} ops have {why}"));
            return Err(format!(
                "nothing that is asked for can run on {which}: {}",
                lacking.collect::<Vec<_>>().join(", ")
            ));
        }
        Ok(selection)
    }

    /// Leaves the rows of a partition.
    pub fn cut(&mut self, partition: Partition) {
        let stretch = partition.stretch(self.rows());
        let mut at = 0;
        for selected in &mut self.ops {
            selected.calls.retain(|_| {
                at += 1;
                stretch.contains(&(at - 1))
            });
        }
        self.ops.retain(|selected| !selected.calls.is_empty());
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
        // Any count that a machine can name.
        let last = Partition { part: usize::MAX, of: usize::MAX };
        assert_eq!(last.stretch(549), 548..549);
        assert_eq!(Partition { part: usize::MAX - 1, of: usize::MAX }.stretch(549), 548..548);
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
        let slurm = |task: &str, least: &str, most: &str, step: &str, count: &str| {
            let named = [("ID", task), ("MIN", least), ("MAX", most), ("STEP", step), ("COUNT", count)];
            Partition::of_environment(|name| {
                let what = name.strip_prefix("SLURM_ARRAY_TASK_")?;
                named
                    .iter()
                    .find(|(known, text)| *known == what && !text.is_empty())
                    .map(|(_, text)| (*text).to_owned())
            })
        };
        assert_eq!(slurm("5", "1", "7", "2", "4"), Ok(Some(Partition { part: 3, of: 4 })));
        assert_eq!(slurm("7", "0", "7", "", "8"), Ok(Some(Partition { part: 8, of: 8 })));
        let most = usize::MAX.to_string();
        for (task, least, most, step, count) in [
            // One task that is run again, two of a former array, an array with a gap.
            ("3", "3", "3", "1", "1"),
            ("1", "1", "1", "1", "1"),
            ("4", "3", "4", "1", "2"),
            ("3", "1", "3", "1", "2"),
            ("3", "1", "4", "1", ""),
            ("9", "1", "4", "1", "4"),
            ("2", "1", "7", "2", "4"),
            ("0", "1", "4", "1", "4"),
            ("1", "0", "4", "0", "4"),
            (&*most, "0", &*most, "1", &*most),
        ] {
            let error = slurm(task, least, most, step, count).expect_err(task);
            assert!(error.contains(&format!("task {task} ")) && error.contains("--partition I/N"), "{error}");
        }
        let kubernetes = of(&[("JOB_COMPLETION_INDEX", "0"), ("JOB_COMPLETIONS", "8")]);
        assert_eq!(kubernetes, Ok(Some(Partition { part: 1, of: 8 })));
        assert!(of(&[("JOB_COMPLETION_INDEX", "0")]).is_err_and(|why| why.contains("JOB_COMPLETIONS")));
        assert!(of(&[("JOB_COMPLETION_INDEX", "9"), ("JOB_COMPLETIONS", "8")]).is_err());
        let beyond = of(&[("JOB_COMPLETION_INDEX", "18446744073709551615"), ("JOB_COMPLETIONS", "8")]);
        assert!(beyond.is_err_and(|why| why.contains("from 0 on")));
        assert!(of(&[("SLURM_ARRAY_TASK_ID", "x")]).is_err_and(|why| why.contains("no number")));
    }
}
