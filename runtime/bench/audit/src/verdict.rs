//! One row: what the formula declares that it reads, what the counters saw, and what that says of the formula.

use serde::Serialize;
use tileops_analyzer::workload::{Call, Effect};
use tileops_record::units::si;

use crate::exempt::Exemptions;
use crate::ncu::{Profile, READ, WRITE};

/// A shortfall up to this share is measurement.
pub const SHORT: f64 = 0.05;
/// From more than this many times the declared reads on, the kernel reads far more than it had to.
pub const FAR: f64 = 1.5;

/// What every verdict on the read side rests on; each states its own part of it.
pub const PREMISE: &str = "each kernel is replayed from cold caches, which can only add to the reads of an op of several \
    kernels, and every conforming kernel has to fetch what the formula charges";

/// What a measurement says of a formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
pub enum Verdict {
    /// The measured reads fall short of the declared read half.
    Fail,
    /// The audit did not produce a usable measurement.
    Error,
    /// No read half was declared.
    NoVerdict,
    /// The measured reads far exceed it: several passes, or what replaying costs.
    Warn,
    /// They fall short inside a configured exception: reported, not judged.
    Exempt,
    /// Never run, or the formula declares no read at all.
    Skipped,
    /// The measured reads are what was declared.
    Ok,
}

impl Verdict {
    /// Every verdict, the one to look at first in front.
    pub const ALL: [Verdict; 7] = [
        Verdict::Fail,
        Verdict::Error,
        Verdict::NoVerdict,
        Verdict::Warn,
        Verdict::Exempt,
        Verdict::Skipped,
        Verdict::Ok,
    ];

    /// The word: `FAIL`, `NO-VERDICT`, …
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Fail => "FAIL",
            Verdict::Error => "ERROR",
            Verdict::NoVerdict => "NO-VERDICT",
            Verdict::Warn => "WARN",
            Verdict::Exempt => "EXEMPT",
            Verdict::Skipped => "SKIPPED",
            Verdict::Ok => "OK",
        }
    }

    /// What the verdict rests on, in short; nothing where the reads were not judged. [`PREMISE`] is the whole of it.
    pub fn premise(self) -> Option<&'static str> {
        match self {
            Verdict::Fail => Some(
                "replay from cold caches can only add reads, and every conforming kernel has to fetch what the formula charges: \
                 fewer reads mean that the formula charges too much",
            ),
            Verdict::Warn => Some(
                "replay from cold caches can only add reads, and adds them where a call has several kernels: more reads refute no \
                 formula",
            ),
            Verdict::Exempt => Some(
                "that every conforming kernel has to fetch what the formula charges does not hold for these calls, by the \
                 configuration: fewer reads refute no formula",
            ),
            Verdict::Ok => Some(
                "replay from cold caches can only add reads, and every conforming kernel has to fetch what the formula charges; of a \
                 call of several kernels, what replay adds may hide a shortfall",
            ),
            Verdict::Error | Verdict::NoVerdict | Verdict::Skipped => None,
        }
    }

    /// Whether it fails the audit. A formula that nobody could judge has not passed.
    pub fn fails(self) -> bool {
        matches!(self, Verdict::Fail | Verdict::Error | Verdict::NoVerdict)
    }
}

/// A row that was to be audited.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    /// The op.
    pub op: &'a str,
    /// The call that the row determines, and that was measured.
    pub call: &'a Call,
    /// The op's `eval_roofline_read_bytes()`. Nothing where it declares none: the sum of the call's inputs is no read half, an
    /// op may read a subset of one.
    pub declared: Option<u128>,
    /// `bytes_moved` of the op's `eval_roofline()`.
    pub bytes: Option<u128>,
    /// What running it gave.
    pub run: Run,
}

/// What running a row gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Run {
    /// It was never run, and why.
    Not(String),
    /// It ran and gave nothing usable, and why.
    Failed(String),
    /// What Nsight Compute counted over `calls` calls.
    Measured {
        /// The counters.
        profile: Profile,
        /// How many calls they are of.
        calls: u64,
    },
}

/// A row and its verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audited {
    /// The op.
    pub op: String,
    /// The case.
    pub case: String,
    /// The verdict on the read side.
    pub verdict: Verdict,
    /// What was declared, in bytes.
    pub declared_read: Option<u128>,
    /// What was read, in bytes of one call.
    pub read: Option<f64>,
    /// What was written, in bytes of one call: reported, never judged. What still lies in the L2 cache when the kernel ends is
    /// not in it.
    pub written: Option<f64>,
    /// The declared writes, in bytes: what is left of `bytes_moved`.
    pub declared_write: Option<u128>,
    /// How many kernels one call launched.
    pub kernels: Option<f64>,
    /// Why it is that verdict.
    pub why: String,
    /// The condition of the exemption that applied.
    pub exemption: Option<String>,
    /// What the verdict rests on ([`Verdict::premise`]), where it is one on the reads.
    pub premise: Option<&'static str>,
}

impl Audited {
    /// The share of the declared reads that was measured.
    pub fn share(&self) -> Option<f64> {
        self.read
            .zip(self.declared_read.filter(|declared| *declared > 0))
            .map(|(read, declared)| read / declared as f64)
    }
}

/// Judges a row.
pub fn judge(row: &Row<'_>, exemptions: &Exemptions) -> Audited {
    let (profile, calls) = match &row.run {
        Run::Measured { profile, calls } => (Some(profile), *calls),
        _ => (None, 0),
    };
    let of_call =
        |metric: &str| profile.and_then(|p| p.sum(metric)).filter(|_| calls > 0).map(|sum| sum / calls as f64);
    let (read, written) = (of_call(READ), of_call(WRITE));
    let mut audited = Audited {
        op: row.op.to_owned(),
        case: row.call.case_id.clone(),
        verdict: Verdict::Error,
        declared_read: row.declared,
        read,
        written,
        declared_write: row.bytes.zip(row.declared).and_then(|(bytes, read)| bytes.checked_sub(read)),
        kernels: profile.filter(|_| calls > 0).map(|p| p.kernels.len() as f64 / calls as f64),
        why: String::new(),
        exemption: None,
        premise: None,
    };
    let share = audited.share();
    let mut decide = |verdict: Verdict, why: String| {
        audited.verdict = verdict;
        audited.why = why;
        audited.premise = verdict.premise();
    };
    let Some(declared) = row.declared else {
        let why = "the op declares no read half: say what it reads in `runtime/ops/src/declared/reads.rs`";
        decide(Verdict::NoVerdict, why.to_owned());
        return audited;
    };
    if declared == 0 {
        let bound = reads(row.call);
        if bound == 0 {
            decide(Verdict::Skipped, "the formula declares no read, and the call binds nothing to read".to_owned());
            return audited;
        }
        let unread = format!("the declared read half is 0, and the call binds {bound} bytes that it reads");
        match exemptions.of(row.op, row.call) {
            Ok(None) => decide(Verdict::Error, unread),
            Ok(Some(exemption)) => {
                decide(Verdict::Skipped, format!("the formula declares no read; {}", exemption.reason.trim()));
                audited.exemption = Some(exemption.when.clone());
            }
            Err(why) => decide(Verdict::Error, format!("{unread}, and {why}")),
        }
        return audited;
    }
    match &row.run {
        Run::Not(why) => {
            decide(Verdict::Skipped, why.clone());
            return audited;
        }
        Run::Failed(why) => {
            decide(Verdict::Error, why.clone());
            return audited;
        }
        Run::Measured { calls: 0, .. } => {
            decide(Verdict::Error, "no call was measured".to_owned());
            return audited;
        }
        Run::Measured { profile, .. } if profile.kernels.is_empty() => {
            let said = if profile.complaints.is_empty() {
                String::new()
            } else {
                format!(": {}", profile.complaints.join(" "))
            };
            decide(Verdict::Error, format!("no kernel was profiled{said}"));
            return audited;
        }
        Run::Measured { .. } => {}
    }
    let Some((read, share)) = read.zip(share) else {
        decide(Verdict::Error, format!("a kernel has no value of `{READ}`"));
        return audited;
    };
    let compared =
        format!("{:.1} % of the declared {} were read ({})", share * 100.0, si(declared as f64, "B"), si(read, "B"));
    if share >= 1.0 - SHORT {
        if share > FAR {
            decide(Verdict::Warn, format!("{compared}: several passes, or what replaying costs"));
        } else {
            decide(Verdict::Ok, compared);
        }
        return audited;
    }
    match exemptions.of(row.op, row.call) {
        Ok(None) => decide(Verdict::Fail, format!("{compared}: the formula charges more than the kernel fetched")),
        Ok(Some(exemption)) => {
            decide(Verdict::Exempt, format!("{compared}; {}", exemption.reason.trim()));
            audited.exemption = Some(exemption.when.clone());
        }
        Err(why) => decide(Verdict::Error, format!("{compared}, and {why}")),
    }
    audited
}

/// The bytes of the tensors that the call reads, dtype carriers included.
fn reads(call: &Call) -> u128 {
    let tensors = call.tensors.iter().filter_map(|(_, tensor)| tensor.as_ref());
    tensors
        .filter(|t| matches!(t.effect, Effect::Read | Effect::ReadWrite))
        .map(|t| {
            let elements: u128 = t.shape.iter().map(|&extent| u128::try_from(extent).unwrap_or(0)).product();
            elements.saturating_mul(u128::from(t.dtype.bits())) / 8
        })
        .sum()
}
