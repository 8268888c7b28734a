//! One row, before and after: verdict and reasons.
//!
//! Each side has an interval that holds the median of its time. Within a run it is the median's 95 % confidence interval,
//! or, where the record states none, what lies between the tenth and the ninetieth percentile. Between runs a median
//! moves by more than that: placement and temperature differ. Where a side has fewer than [`RUNS`] runs to show how much,
//! the interval is widened by what repeated processes on an H200 showed; where it has as many, it spans theirs.
//!
//! Intervals that lie apart are a change if the change is there in clock cycles as well. Intervals that overlap are `same`
//! only if together they exclude a change of [`Options::resolution`]; otherwise nobody would have seen one.

use tileops_record::{Record, Timing};

use super::Verdict;
use super::reason::Reason;

/// From this many runs of one side on, their own spread says how far runs lie apart.
const RUNS: usize = 3;
/// How far the median of another process lies, as a share: a copy of 32 MiB moved by 1 % between two.
const RUN_SHARE: f64 = 0.005;
/// How far the median of another process lies, in nanoseconds: a copy of 1 MiB moved by 96 ns between two.
const RUN_NS: f64 = 48.0;
/// The step in which device activity is stamped, in nanoseconds: no interval is narrower.
const TICK_NS: f64 = 32.0;

/// How to compare.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The smallest change that matters, as a share. It decides no change; a row whose intervals overlap and cannot exclude
    /// it is ambiguous instead of the same.
    pub resolution: f64,
    /// Take clocks that a record does not state for equal.
    pub assume_clocks: bool,
    /// Compare the peers' rows, too.
    pub peers: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { resolution: 0.05, assume_clocks: false, peers: false }
    }
}

/// What lies between two times, in nanoseconds, or between two counts of cycles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    fn apart(self, other: Interval) -> bool {
        self.high < other.low || other.high < self.low
    }

    fn scale(self, factor: f64) -> Interval {
        Interval { low: self.low * factor, high: self.high * factor }
    }
}

/// What the runs of one side say of a row's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Side {
    /// The median of the runs' actual times, in nanoseconds.
    pub ns: f64,
    /// What holds the median of yet another run.
    pub interval: Interval,
    /// How many runs there are.
    pub runs: usize,
    /// The SM clock, in MHz: the median of the runs'. Nothing where one of them does not state it.
    pub sm_mhz: Option<f64>,
}

/// A verdict and what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, the deciding reason first.
    pub reasons: Vec<Reason>,
    /// The old time, where there is one.
    pub old: Option<Side>,
    /// The new time, where there is one.
    pub new: Option<Side>,
    /// The particulars of a reason that has any: which sources, devices or policies, what failed.
    pub detail: Option<String>,
}

impl Judged {
    /// The new time over the old one.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.new?.ns / self.old?.ns)
    }

    /// What holds the new time over the old one.
    pub fn ratio_interval(&self) -> Option<Interval> {
        let (old, new) = (self.old?.interval, self.new?.interval);
        Some(Interval { low: new.low / old.high, high: new.high / old.low })
    }
}

/// Judges one row by its runs before and after.
pub fn judge(old: &[&Record], new: &[&Record], options: &Options) -> Judged {
    let (before, after) = (timed(old), timed(new));
    let sides = (side(&before), side(&after));
    let judged = |verdict, reasons: &[Reason], detail: Option<String>| Judged {
        verdict,
        reasons: reasons.to_vec(),
        old: sides.0.ok(),
        new: sides.1.ok(),
        detail,
    };
    if after.is_empty()
        && !before.is_empty()
        && let Some(failure) = new.iter().rev().find_map(|r| r.failure.as_deref())
    {
        let message = failure.message.as_deref().map(|m| format!(": {m}")).unwrap_or_default();
        return judged(Verdict::Unknown, &[Reason::Failed], Some(format!("{}{message}", failure.kind)));
    }
    if before.is_empty() || after.is_empty() {
        return judged(Verdict::Unknown, &[Reason::NotTimed], None);
    }
    if let Some((reason, detail)) = incomparable(old, new) {
        return judged(Verdict::Unknown, &[reason], Some(detail));
    }
    let (old, new) = match sides {
        (Ok(old), Ok(new)) => (old, new),
        (Err(reason), _) | (_, Err(reason)) => return judged(Verdict::Unknown, &[reason], None),
    };
    let mut notes = Vec::new();
    if before.iter().chain(&after).any(|t| t.median_low_ns.zip(t.median_high_ns).is_none()) {
        notes.push(Reason::Percentiles);
    }
    let decide = |verdict, reasons: &[Reason]| judged(verdict, &[reasons, &notes].concat(), None);
    let one_throttled = throttled(&before) != throttled(&after);
    if !old.interval.apart(new.interval) {
        let ratio = Interval { low: new.interval.low / old.interval.high, high: new.interval.high / old.interval.low };
        if one_throttled {
            return decide(Verdict::Ambiguous, &[Reason::Throttled, Reason::Overlap]);
        }
        let margin = 1.0 + options.resolution;
        return if ratio.high > margin || ratio.low < 1.0 / margin {
            decide(Verdict::Ambiguous, &[Reason::Wide])
        } else {
            decide(Verdict::Same, &[Reason::Overlap])
        };
    }
    let slower = new.interval.low > old.interval.high;
    let verdict = if slower { Verdict::Slower } else { Verdict::Faster };
    if let (Some(a), Some(b)) = (memory_clock(&before), memory_clock(&after))
        && (a / b - 1.0).abs() > 0.01
    {
        return decide(Verdict::Ambiguous, &[Reason::MemoryClock, Reason::Apart]);
    }
    match (old.sm_mhz, new.sm_mhz) {
        (Some(a), Some(b)) => {
            let (was, is) = (old.interval.scale(a), new.interval.scale(b));
            let confirmed = if slower { is.low > was.high } else { is.high < was.low };
            match (confirmed, one_throttled) {
                (false, true) => decide(Verdict::Ambiguous, &[Reason::Throttled, Reason::ClocksExplain, Reason::Apart]),
                (false, false) => decide(Verdict::Ambiguous, &[Reason::ClocksExplain, Reason::Apart]),
                (true, true) => decide(verdict, &[Reason::Apart, Reason::Cycles, Reason::Throttled]),
                (true, false) => decide(verdict, &[Reason::Apart, Reason::Cycles]),
            }
        }
        _ if one_throttled => decide(Verdict::Ambiguous, &[Reason::Throttled, Reason::Apart]),
        _ if options.assume_clocks => decide(verdict, &[Reason::Apart, Reason::ClocksAssumed]),
        _ => decide(Verdict::Ambiguous, &[Reason::NoClocks, Reason::Apart]),
    }
}

fn timed<'a>(records: &[&'a Record]) -> Vec<&'a Timing> {
    records.iter().filter_map(|r| r.timing.as_deref()).collect()
}

fn throttled(timings: &[&Timing]) -> bool {
    timings.iter().any(|t| t.clocks.as_ref().is_some_and(|c| !c.throttle.is_empty()))
}

fn memory_clock(timings: &[&Timing]) -> Option<f64> {
    middle(timings.iter().map(|t| t.clocks.as_ref()?.memory_mhz).collect::<Option<_>>()?)
}

fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    tileops_record::stats::median(&values)
}

/// Why the two sides' times are none of the same thing.
fn incomparable(old: &[&Record], new: &[&Record]) -> Option<(Reason, String)> {
    let differ = |what: &dyn Fn(&Record) -> Option<String>| {
        let values = |records: &[&Record]| {
            let mut values: Vec<String> =
                records.iter().filter(|r| r.timing.is_some()).filter_map(|r| what(r)).collect();
            values.sort();
            values.dedup();
            values
        };
        let (old, new) = (values(old), values(new));
        // A side that does not say is taken for the same.
        (!old.is_empty() && !new.is_empty() && old != new).then(|| format!("{} -> {}", old.join(", "), new.join(", ")))
    };
    let source = |r: &Record| r.timing.as_ref().map(|t| t.source.to_string());
    let device = |r: &Record| r.device.as_ref().map(|d| d.name.to_string());
    let policy = |r: &Record| {
        let policy = r.timing.as_ref()?.policy.as_ref()?;
        let graph = if policy.graph == Some(true) { ", in a CUDA graph" } else { "" };
        let inputs = policy.inputs.map(|n| format!(", {n} sets of inputs")).unwrap_or_default();
        Some(format!("L2: {}{inputs}{graph}", policy.l2))
    };
    differ(&source)
        .map(|d| (Reason::Source, d))
        .or_else(|| differ(&device).map(|d| (Reason::Device, d)))
        .or_else(|| differ(&policy).map(|d| (Reason::Policy, d)))
}

/// What the runs of one side say.
fn side(runs: &[&Timing]) -> Result<Side, Reason> {
    let mut times = Vec::new();
    let mut interval = Interval { low: f64::INFINITY, high: f64::NEG_INFINITY };
    for timing in runs {
        let ns = timing.actual_ns();
        if !(ns.is_finite() && ns > 0.0) {
            return Err(Reason::NoTime);
        }
        let (low, high) = timing
            .median_low_ns
            .zip(timing.median_high_ns)
            .or(timing.p10_ns.zip(timing.p90_ns))
            .filter(|(low, high)| low.is_finite() && high.is_finite())
            .ok_or(Reason::NoInterval)?;
        // A median outside of its own interval widens it.
        let copies = timing.excluded_copies_ns;
        interval.low = interval.low.min(low + copies).min(ns);
        interval.high = interval.high.max(high + copies).max(ns);
        times.push(ns);
    }
    let ns = middle(times).ok_or(Reason::NotTimed)?;
    let between = if runs.len() < RUNS { (ns * RUN_SHARE + RUN_NS).max(TICK_NS) } else { TICK_NS };
    interval.low = (interval.low - between).max(f64::MIN_POSITIVE);
    interval.high += between;
    let clocks: Option<Vec<f64>> = runs.iter().map(|t| t.clocks.as_ref()?.sm_mhz.filter(|c| *c > 0.0)).collect();
    Ok(Side { ns, interval, runs: runs.len(), sm_mhz: clocks.and_then(middle) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tileops_record::{Clocks, Device, Failure, Policy};

    use super::*;

    /// Numbers as from a normal distribution, the same ones in every run.
    struct Noise(u64);

    impl Noise {
        fn uniform(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
        }

        /// `n` skewed times around `ns`.
        fn samples(&mut self, n: usize, ns: f64, spread: f64) -> Vec<f64> {
            (0..n).map(|_| ns * (self.normal() * spread).exp()).collect()
        }
    }

    fn run(samples: &[f64], mhz: Option<f64>) -> Record {
        let mut timing = Timing::of_samples("cupti", samples).expect("samples");
        timing.clocks = mhz.map(|mhz| Clocks { sm_mhz: Some(mhz), ..Clocks::default() });
        Record { timing: Some(timing.into()), ..Record::new("AddFwdOp", "a") }
    }

    /// A run whose median lies between `low` and `high`.
    fn between(low: f64, high: f64, mhz: Option<f64>) -> Record {
        let mut record = run(&[(low + high) / 2.0; 9], mhz);
        let timing = record.timing.as_mut().expect("timed");
        (timing.median_low_ns, timing.median_high_ns) = (Some(low), Some(high));
        record
    }

    fn verdict(old: &Record, new: &Record) -> (Verdict, Vec<&'static str>) {
        let judged = judge(&[old], &[new], &Options::default());
        (judged.verdict, judged.reasons.iter().map(|r| r.code()).collect())
    }

    const MHZ: Option<f64> = Some(1980.0);

    #[test]
    fn intervals_that_lie_apart_are_a_change_if_the_clocks_do_not_explain_it() {
        let old = between(99_000.0, 101_000.0, MHZ);
        let slow = between(109_000.0, 111_000.0, MHZ);
        assert_eq!(verdict(&old, &slow), (Verdict::Slower, vec!["intervals-apart", "cycles-confirm"]));
        assert_eq!(verdict(&slow, &old), (Verdict::Faster, vec!["intervals-apart", "cycles-confirm"]));
        // 10 % longer at clocks that are 10 % lower: the same cycles.
        let cold = between(109_000.0, 111_000.0, Some(1800.0));
        assert_eq!(verdict(&old, &cold), (Verdict::Ambiguous, vec!["clocks-explain", "intervals-apart"]));
        let unsaid = between(109_000.0, 111_000.0, None);
        assert_eq!(verdict(&old, &unsaid), (Verdict::Ambiguous, vec!["no-clocks", "intervals-apart"]));
        let judged = judge(&[&old], &[&unsaid], &Options { assume_clocks: true, ..Options::default() });
        assert_eq!((judged.verdict, judged.reasons), (Verdict::Slower, vec![Reason::Apart, Reason::ClocksAssumed]));
    }

    #[test]
    fn the_distance_of_medians_alone_decides_nothing() {
        // The medians are 30 % apart, and the intervals overlap.
        let (old, new) = (between(70_000.0, 130_000.0, MHZ), between(100_000.0, 160_000.0, MHZ));
        assert_eq!(verdict(&old, &new), (Verdict::Ambiguous, vec!["intervals-wide"]));
        // 3 % apart, and so are the intervals.
        let (old, new) = (between(99_900.0, 100_100.0, MHZ), between(102_900.0, 103_100.0, MHZ));
        assert_eq!(verdict(&old, &new).0, Verdict::Slower);
        let (old, new) = (between(99_900.0, 100_100.0, MHZ), between(100_000.0, 100_200.0, MHZ));
        assert_eq!(verdict(&old, &new), (Verdict::Same, vec!["intervals-overlap"]));
    }

    #[test]
    fn a_tick_of_the_time_stamps_is_no_change() {
        let (old, new) = (between(1_120.0, 1_120.0, MHZ), between(1_216.0, 1_216.0, MHZ));
        assert_eq!(verdict(&old, &new).0, Verdict::Ambiguous, "two processes gave a 1 MiB copy these medians");
    }

    #[test]
    fn throttling_of_one_side_makes_what_the_cycles_do_not_confirm_ambiguous() {
        let old = between(99_000.0, 101_000.0, MHZ);
        let mut held = between(99_500.0, 101_500.0, Some(1900.0));
        let clocks = held.timing.as_mut().and_then(|t| t.clocks.as_mut()).expect("clocks");
        clocks.throttle.push("sw_power_cap".into());
        assert_eq!(verdict(&old, &held), (Verdict::Ambiguous, vec!["throttled", "intervals-overlap"]));
        let mut slow = between(109_000.0, 111_000.0, Some(1800.0));
        slow.timing.as_mut().and_then(|t| t.clocks.as_mut()).expect("clocks").throttle.push("hw_slowdown".into());
        assert_eq!(verdict(&old, &slow).1, ["throttled", "clocks-explain", "intervals-apart"]);
    }

    #[test]
    fn what_cannot_be_compared_is_unknown_and_says_why() {
        let old = between(99_000.0, 101_000.0, MHZ);
        let changed = |change: &dyn Fn(&mut Record)| {
            let mut new = old.clone();
            change(&mut new);
            let judged = judge(&[&old], &[&new], &Options::default());
            assert_eq!(judged.verdict, Verdict::Unknown);
            (judged.reasons[0].code(), judged.detail.unwrap_or_default())
        };
        let timing = |r: &mut Record| r.timing.clone().expect("timed");
        assert_eq!(changed(&|r| r.timing = None).0, "not-timed");
        assert_eq!(
            changed(&|r| {
                r.timing = None;
                r.failure =
                    Some(Failure { kind: "hung".into(), message: Some("30 s".into()), ..Failure::default() }.into());
            }),
            ("failed", "hung: 30 s".to_owned())
        );
        assert_eq!(
            changed(&|r| r.timing = Some(Timing { source: "events".into(), ..*timing(r) }.into())),
            ("source-differs", "cupti -> events".to_owned())
        );
        let bare = |r: &mut Record| {
            let bare = Timing { source: "cupti".into(), device_busy_ns: 1e5, ..Timing::default() };
            r.timing = Some(bare.into());
        };
        assert_eq!(changed(&bare).0, "no-interval");
        assert_eq!(
            changed(&|r| r.timing = Some(Timing { device_busy_ns: f64::NAN, ..*timing(r) }.into())).0,
            "no-time"
        );

        let mut there = old.clone();
        there.device = Some(Device { name: "NVIDIA H100".into(), ..Device::default() }.into());
        let mut here = old.clone();
        here.device = Some(Device { name: "NVIDIA H200".into(), ..Device::default() }.into());
        let judged = judge(&[&here], &[&there], &Options::default());
        assert_eq!(
            (judged.reasons[0].code(), judged.detail.as_deref()),
            ("device-differs", Some("NVIDIA H200 -> NVIDIA H100"))
        );
        let policy = |l2: &str| Some(Policy { l2: l2.into(), ..Policy::default() }.into());
        let mut flushed = old.clone();
        flushed.timing.as_mut().expect("timed").policy = policy("read 256 MiB");
        let mut warm = old.clone();
        warm.timing.as_mut().expect("timed").policy = policy("as found");
        let judged = judge(&[&flushed], &[&warm], &Options::default());
        assert_eq!(
            (judged.reasons[0].code(), judged.detail.as_deref()),
            ("policy-differs", Some("L2: read 256 MiB -> L2: as found"))
        );
    }

    #[test]
    fn percentiles_stand_for_an_interval_that_a_record_lacks() {
        let with = |ns: f64, p10: f64, p90: f64| {
            let timing = Timing {
                source: "cupti".into(),
                device_busy_ns: ns,
                p10_ns: Some(p10),
                p90_ns: Some(p90),
                ..Timing::default()
            };
            Record { timing: Some(timing.into()), ..Record::new("AddFwdOp", "a") }
        };
        let options = Options { assume_clocks: true, ..Options::default() };
        let judged = judge(&[&with(1e5, 0.98e5, 1.02e5)], &[&with(1.01e5, 0.99e5, 1.03e5)], &options);
        assert_eq!((judged.verdict, judged.reasons), (Verdict::Ambiguous, vec![Reason::Wide, Reason::Percentiles]));
        let judged = judge(&[&with(1e5, 0.98e5, 1.02e5)], &[&with(1.1e5, 1.08e5, 1.12e5)], &options);
        assert_eq!(judged.reasons, [Reason::Apart, Reason::ClocksAssumed, Reason::Percentiles]);
    }

    #[test]
    fn several_runs_say_themselves_how_far_runs_lie_apart() {
        let runs = |times: [f64; 3]| times.map(|ns| between(ns - 50.0, ns + 50.0, MHZ));
        let all = |runs: &[Record; 3]| {
            judge(&runs.iter().collect::<Vec<_>>(), &[&between(102_000.0, 102_100.0, MHZ)], &Options::default())
        };
        // Runs that agree make a change of 2 % one; runs that lie 3 % apart do not.
        assert_eq!(all(&runs([100_000.0, 100_100.0, 99_900.0])).verdict, Verdict::Slower);
        assert_eq!(all(&runs([100_000.0, 103_000.0, 101_000.0])).verdict, Verdict::Same);
    }

    /// `(false alarms, found)` of a thousand pairs of runs, of which the second is `shift` times as long.
    fn simulate(n: usize, spread: f64, shift: f64) -> (usize, usize) {
        let mut noise = Noise(0x9E37_79B9_7F4A_7C15 ^ n as u64);
        let mut verdicts = Vec::new();
        for _ in 0..1_000 {
            let old = run(&noise.samples(n, 50_000.0, spread), MHZ);
            let new = run(&noise.samples(n, 50_000.0 * shift, spread), MHZ);
            verdicts.push(judge(&[&old], &[&new], &Options::default()).verdict);
        }
        let count = |wanted: Verdict| verdicts.iter().filter(|v| **v == wanted).count();
        (count(Verdict::Faster), count(Verdict::Slower))
    }

    #[test]
    fn identical_distributions_give_hardly_a_false_alarm() {
        for (n, spread) in [(10, 0.01), (50, 0.01), (50, 0.05), (200, 0.10)] {
            let (faster, slower) = simulate(n, spread, 1.0);
            assert!(faster + slower <= 10, "{n} samples, spread {spread}: {faster} + {slower} of 1,000");
        }
    }

    #[test]
    fn a_shift_of_5_percent_is_found() {
        for (n, spread) in [(20, 0.01), (50, 0.02), (200, 0.05)] {
            let (faster, slower) = simulate(n, spread, 1.05);
            assert!(slower >= 950 && faster == 0, "{n} samples, spread {spread}: {slower} of 1,000, {faster} faster");
        }
    }

    proptest! {
        #[test]
        fn a_comparison_turned_round_is_the_same_one(a in 1e3f64..1e7, b in 1e3f64..1e7, wide in 0.0f64..0.3, mhz in 1e3f64..2e3) {
            let old = between(a * (1.0 - wide), a * (1.0 + wide), MHZ);
            let new = between(b, b, Some(mhz));
            let (there, back) = (verdict(&old, &new), verdict(&new, &old));
            let turned = match there.0 {
                Verdict::Slower => Verdict::Faster,
                Verdict::Faster => Verdict::Slower,
                other => other,
            };
            prop_assert_eq!((turned, there.1), back);
        }

        #[test]
        fn no_number_is_a_panic(numbers in prop::collection::vec(any::<f64>(), 12)) {
            let timing = |n: &[f64]| Timing {
                source: "cupti".into(), device_busy_ns: n[0], p10_ns: Some(n[1]), p90_ns: Some(n[2]), median_low_ns: Some(n[3]), median_high_ns: Some(n[4]),
                clocks: Some(Clocks { sm_mhz: Some(n[5]), ..Clocks::default() }), ..Timing::default()
            };
            let record = |n: &[f64]| Record { timing: Some(timing(n).into()), ..Record::new("A", "a") };
            let judged = judge(&[&record(&numbers[..6])], &[&record(&numbers[6..])], &Options::default());
            prop_assert!(!judged.reasons.is_empty());
        }

        #[test]
        fn texts_of_reasons_are_their_own(a in 0usize..17, b in 0usize..17) {
            let (a, b) = (Reason::ALL[a], Reason::ALL[b]);
            prop_assert_eq!(a == b, a.code() == b.code());
            prop_assert_eq!(a == b, a.meaning() == b.meaning());
        }
    }
}
