//! An op's output, held to its reference.
//!
//! A whole number or a Boolean must be the reference's. A real number `y` may be off by
//!
//! ```text
//! 2 u |y|  +  e (16 (|y| + r) + 4 sqrt(n) |y| + 8 n s)  +  t
//! ```
//!
//! - `u` is half a unit in the last place of the output's dtype at 1 and `t` its smallest positive number, or 2^-126 where that
//!   is more: a result that is subnormal in single precision may be zero. Rounding to nearest costs `u |y|`, and a result that
//!   lay a hair beyond a tie as much again;
//! - `e` is the same of what the op computes in: single precision, or the tensor cores' operands and sums;
//! - `r` is the root mean square of the unit's own elements: a function that subtracts nearly equal numbers loses digits by
//!   their size, not by that of the difference;
//! - `n` is how many numbers are added up on the way to an element, and `s` their size ([`Target`]).

use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use tileops_ops::{Category, CheckedCall, DType, Tensor};
use tileops_record::Correctness;
use tileops_reference::{Inputs, Reference, Sink, Target, View, get, get_int, round_to};

use crate::inputs::tensor_seed;
use crate::machine::POISON;

/// The numbers that a judgment computes, a core: about a sixth of a second.
const NUMBERS: usize = 1 << 24;

/// The least normal number of single precision.
const LEAST_NORMAL: f64 = f32::MIN_POSITIVE as f64;

/// What the call read, as it was before: names, descriptions, elements.
pub type Before = Vec<(String, Tensor, Vec<u8>)>;

/// A judgment.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgment {
    /// As records have it.
    pub correctness: Correctness,
    /// What is wrong, where something is.
    pub fault: Option<String>,
}

/// Something that a call has written.
#[derive(Debug, Clone)]
pub struct Written {
    /// Which target of the reference.
    pub target: Target,
    /// Its dtype.
    pub dtype: DType,
    /// Its elements.
    pub bytes: Vec<u8>,
}

/// Half a unit in the last place at 1, and the smallest positive number.
fn precision(dtype: DType) -> (f64, f64) {
    let of = |mantissa: i32, least: i32| (2_f64.powi(-mantissa - 1), 2_f64.powi(least));
    match dtype {
        DType::Float64 | DType::Complex128 => of(52, -1074),
        DType::Float16 => of(10, -24),
        DType::BFloat16 => of(7, -133),
        DType::Float8E4M3Fn => of(3, -9),
        DType::Float8E4M3FnUz => of(3, -10),
        DType::Float8E5M2 => of(2, -16),
        DType::Float8E5M2FnUz => of(2, -17),
        DType::Float8E8M0FnU => of(0, -127),
        _ => of(23, -149),
    }
}

/// Half a unit in the last place of what the op computes in.
fn computed_in(roof_key: &str, dtype: DType) -> f64 {
    match roof_key {
        // Operands have 10 bits behind the point.
        "tensor_core.tf32" => 2_f64.powi(-11),
        // Sums of products of 8 bits are kept to 13 bits behind the point.
        "tensor_core.fp8" => 2_f64.powi(-14),
        _ if matches!(dtype, DType::Float64 | DType::Complex128) => 2_f64.powi(-53),
        _ => 2_f64.powi(-24),
    }
}

/// How far elements of one target may be off.
#[derive(Debug, Clone, Copy)]
struct Tolerance {
    dtype: DType,
    is_exact: bool,
    relative: f64,
    /// Of the unit's root mean square.
    of_unit: f64,
    absolute: f64,
}

impl Tolerance {
    fn new(target: &Target, dtype: DType, roof_key: &str) -> Self {
        let (own, least) = precision(dtype);
        let computed = computed_in(roof_key, dtype);
        let terms = target.terms as f64;
        Tolerance {
            dtype,
            is_exact: matches!(dtype.category(), Category::Bool | Category::Int),
            relative: 2.0 * own + computed * (16.0 + 4.0 * terms.sqrt()),
            of_unit: 16.0 * computed,
            // Functions that are approximated have nothing below the normal range of what they are computed in.
            absolute: computed * 8.0 * terms * target.scale.abs() + least.max(LEAST_NORMAL),
        }
    }

    /// The error in units of what is allowed.
    fn error(&self, expected: f64, got: f64, unit: f64) -> f64 {
        if got == expected || (got.is_nan() && expected.is_nan()) || got == round_to(self.dtype, expected) {
            return 0.0;
        }
        let error = (got - expected).abs() / (self.relative * expected.abs() + self.of_unit * unit + self.absolute);
        // A number where there must be none, or none where there must be one.
        if error.is_nan() { f64::INFINITY } else { error }
    }
}

/// What was found in some units.
#[derive(Debug, Clone, Default)]
struct Tally {
    compared: u64,
    wrong: u64,
    /// The largest error of a real number, in units of what is allowed.
    worst: Option<f64>,
    /// The worst of what is wrong: its error, and where it is.
    fault: Option<(f64, Place)>,
    /// What was allowed where it was worst: relative and absolute.
    allowed: Option<(f64, f64)>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    target: usize,
    at: usize,
    expected: f64,
    got: f64,
}

impl Tally {
    fn add(&mut self, error: f64, place: Place, allowed: Option<(f64, f64)>) {
        self.compared += 1;
        if allowed.is_some() && self.worst.is_none_or(|worst| error > worst) {
            (self.worst, self.allowed) = (Some(error), allowed);
        }
        if error > 1.0 {
            self.wrong += 1;
            if self.fault.is_none_or(|(worst, _)| error > worst) {
                self.fault = Some((error, place));
            }
        }
    }

    fn and(mut self, other: Tally) -> Tally {
        if other.worst.is_some_and(|error| self.worst.is_none_or(|worst| error > worst)) {
            (self.worst, self.allowed) = (other.worst, other.allowed);
        }
        if let Some((error, place)) = other.fault
            && self.fault.is_none_or(|(worst, _)| error > worst)
        {
            self.fault = Some((error, place));
        }
        Tally { compared: self.compared + other.compared, wrong: self.wrong + other.wrong, ..self }
    }
}

/// Judges what a call has written. `written` gives a target's elements after the call.
pub fn judge(
    reference: &Reference,
    call: &CheckedCall,
    before: &Before,
    roof_key: &str,
    seed: u64,
    mut written: impl FnMut(&Target) -> Result<(DType, Vec<u8>)>,
) -> Result<Judgment> {
    let views = before
        .iter()
        .map(|(name, tensor, bytes)| (name.as_str(), View { dtype: tensor.dtype, shape: &tensor.shape, bytes }));
    let inputs = Inputs::new(views.collect());
    let units = (reference.prepare)(call, &inputs)?;
    let mut all = Vec::new();
    for target in units.targets() {
        let (dtype, bytes) = written(&target).with_context(|| format!("`{}`", target.name))?;
        all.push(Written { target, dtype, bytes });
    }
    let tolerances: Vec<Tolerance> = all.iter().map(|w| Tolerance::new(&w.target, w.dtype, roof_key)).collect();
    let chosen = chosen(units.count(), units.cost(), seed);
    // Small units are taken many at a time, so that a thread's work outweighs its hand-over.
    let together = 1 + 4096 / units.cost().max(1);
    let tally = (0..chosen.len())
        .into_par_iter()
        .with_min_len(together)
        .fold(
            || (Sink::new(), Tally::default()),
            |(mut sink, mut tally), at| {
                sink.clear();
                units.compute(chosen.unit(at), &mut sink);
                compare(&sink, &all, &tolerances, &mut tally);
                (sink, tally)
            },
        )
        .map(|(_, tally)| tally)
        .reduce(Tally::default, Tally::and);
    if tally.compared == 0 && all.iter().any(|w| !w.bytes.is_empty()) {
        bail!("the reference of {} gives no element", call.op());
    }
    let total: usize = all.iter().map(|w| w.bytes.len() / (w.dtype.bits() as usize / 8)).sum();
    let correctness = Correctness {
        passed: tally.wrong == 0,
        reference: Some("cpu-f64".into()),
        worst: tally.worst.filter(|worst| worst.is_finite()),
        atol: tally.allowed.map(|(_, absolute)| absolute),
        rtol: tally.allowed.map(|(relative, _)| relative),
        compared: Some(tally.compared),
        elements: Some(total as u64),
        wrong: Some(tally.wrong).filter(|&wrong| wrong > 0),
        ..Correctness::default()
    };
    let fault = tally.fault.map(|(error, place)| {
        let Place { target, at, expected, got } = place;
        let name = all[target].target.name;
        let by = if error.is_finite() && !tolerances[target].is_exact {
            format!(", {error:.3} times what is allowed")
        } else {
            String::new()
        };
        let (wrong, compared) = (tally.wrong, tally.compared);
        format!("`{name}`[{at}] is {got:?}, and must be {expected:?}{by}; {wrong} of {compared} elements are wrong")
    });
    Ok(Judgment { correctness, fault })
}

/// What is wrong where the bytes behind the end of `name` are `past`, which were [`POISON`] before the call.
pub fn stored_past(name: &str, past: &[u8]) -> Option<String> {
    let stored = past.iter().filter(|&&byte| byte != POISON).count();
    let last = past.iter().rposition(|&byte| byte != POISON)?;
    let (bytes, them) = if stored == 1 { ("byte", "it is") } else { ("bytes", "the last of them is") };
    Some(format!(
        "the call stored {stored} {bytes} past the end of `{name}`: {them} byte {last} behind it (counted from 0)"
    ))
}

/// How many of the elements that `expected` gives are not what `got` gives, by the rules of [`judge`]: whether it would see
/// what tells two computations apart.
pub fn differing(call: &CheckedCall, targets: &[Target], roof_key: &str, expected: &Sink, got: &Sink) -> Result<u64> {
    let mut all = Vec::new();
    for (at, &target) in targets.iter().enumerate() {
        let (dtype, mut bytes) = (call.tensor(target.name)?.dtype, Vec::new());
        got.store(at, dtype, |place, element| {
            let end = (place + 1) * element.len();
            bytes.resize(end.max(bytes.len()), 0);
            bytes[end - element.len()..end].copy_from_slice(element);
        });
        all.push(Written { target, dtype, bytes });
    }
    let tolerances: Vec<Tolerance> = all.iter().map(|w| Tolerance::new(&w.target, w.dtype, roof_key)).collect();
    let mut tally = Tally::default();
    compare(expected, &all, &tolerances, &mut tally);
    Ok(tally.wrong)
}

fn compare(sink: &Sink, all: &[Written], tolerances: &[Tolerance], tally: &mut Tally) {
    for (target, (written, tolerance)) in all.iter().zip(tolerances).enumerate() {
        let Written { dtype, bytes, .. } = written;
        let width = dtype.bits() as usize / 8;
        let is_within = |at: usize| (at + 1) * width <= bytes.len();
        if tolerance.is_exact {
            sink.store(target, *dtype, |at, due| {
                let got = is_within(at).then(|| &bytes[at * width..(at + 1) * width]);
                // Every byte but 0 is true; a kernel that writes another one than 1 is wrong all the same.
                let error = if got == Some(due) { 0.0 } else { f64::INFINITY };
                let place = || Place {
                    target,
                    at,
                    expected: get_int(*dtype, due, 0) as f64,
                    got: got.map_or(f64::NAN, |got| f64::from(got[0]).max(get_int(*dtype, got, 0) as f64)),
                };
                let place = if error > 0.0 { place() } else { Place { target, at, expected: 0.0, got: 0.0 } };
                tally.add(error, place, None);
            });
            continue;
        }
        let own = || sink.reals().filter(move |(of, _, _)| *of == target).map(|(_, at, value)| (at, value));
        let (sum, count) = own()
            .filter(|(_, value)| value.is_finite())
            .fold((0.0, 0_u64), |(sum, count), (_, value)| (sum + value * value, count + 1));
        let unit = (sum / count.max(1) as f64).sqrt();
        for (at, expected) in own() {
            let got = if is_within(at) { get(*dtype, bytes, at) } else { f64::NAN };
            let error = if is_within(at) { tolerance.error(expected, got, unit) } else { f64::INFINITY };
            let absolute = tolerance.of_unit * unit + tolerance.absolute;
            tally.add(error, Place { target, at, expected, got }, Some((tolerance.relative, absolute)));
        }
    }
}

/// Which units are judged.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Chosen {
    All(usize),
    Some(Vec<usize>),
}

impl Chosen {
    fn len(&self) -> usize {
        match self {
            Chosen::All(count) => *count,
            Chosen::Some(units) => units.len(),
        }
    }

    fn unit(&self, at: usize) -> usize {
        match self {
            Chosen::All(_) => at,
            Chosen::Some(units) => units[at],
        }
    }
}

/// All units where they are few enough, and else the first, the last, and one of each of as many equal stretches between
/// them as can be afforded.
fn chosen(count: usize, cost: usize, seed: u64) -> Chosen {
    let most = (NUMBERS.saturating_mul(rayon::current_num_threads()) / cost.max(1)).max(16);
    if count <= most {
        return Chosen::All(count);
    }
    let inner = most - 2;
    let within = |at: usize| {
        let edge = |at: usize| 1 + (at as u128 * (count - 2) as u128 / inner as u128) as usize;
        let (from, to) = (edge(at), edge(at + 1));
        let drawn = tensor_seed(seed, "units", at);
        from + ((u128::from(drawn) * (to - from) as u128) >> 64) as usize
    };
    Chosen::Some([0].into_iter().chain((0..inner).map(within)).chain([count - 1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tolerance(target: Target, dtype: DType) -> Tolerance {
        Tolerance::new(&target, dtype, "cuda_core.fp32")
    }

    #[test]
    fn a_unit_in_the_last_place_is_allowed_and_two_are_not() {
        let bf16 = tolerance(Target::output("y"), DType::BFloat16);
        let ulp = 2_f64.powi(-7);
        assert!(bf16.error(1.0, 1.0 + ulp, 1.0) <= 1.0);
        assert!(bf16.error(1.0, 1.0 + 2.0 * ulp, 1.0) > 1.0);
        let fp32 = tolerance(Target::output("y"), DType::Float32);
        assert!(fp32.error(1.0, 1.0 + 1e-6, 1.0) <= 1.0);
        assert!(fp32.error(1.0, 1.0 + 1e-5, 1.0) > 1.0);
    }

    #[test]
    fn what_is_no_number_must_be_none_and_what_is_infinite_must_be_so() {
        let fp16 = tolerance(Target::output("y"), DType::Float16);
        assert_eq!(fp16.error(f64::NAN, f64::NAN, 1.0), 0.0);
        assert_eq!(fp16.error(1e6, f64::INFINITY, 1.0), 0.0, "beyond what the dtype holds");
        for (expected, got) in [
            (f64::NAN, 0.0),
            (0.0, f64::NAN),
            (1.0, f64::INFINITY),
            (f64::INFINITY, 65504.0),
            (f64::INFINITY, f64::NEG_INFINITY),
        ] {
            assert!(fp16.error(expected, got, 1.0) > 1.0, "{expected} {got}");
        }
    }

    #[test]
    fn what_is_stored_past_an_end_is_a_fault_and_what_is_left_is_none() {
        assert_eq!(stored_past("y", &[]), None);
        let mut past = vec![POISON; 510];
        assert_eq!(stored_past("y", &past), None);
        past[509] = 0;
        let said = stored_past("y", &past).expect("one byte differs");
        assert_eq!(said, "the call stored 1 byte past the end of `y`: it is byte 509 behind it (counted from 0)");
        (past[509], past[0], past[13]) = (POISON, 0, POISON - 1);
        let said = stored_past("y", &past).expect("two bytes differ");
        assert!(said.contains("2 bytes") && said.contains("byte 13"), "{said}");
    }

    #[test]
    fn long_sums_may_be_off_by_more() {
        let short = tolerance(Target::output("y"), DType::Float32);
        let long = tolerance(Target::output("y").sums(1 << 16, 0.5), DType::Float32);
        assert!(short.error(1.0, 1.001, 1.0) > 1.0 && long.error(1.0, 1.001, 1.0) <= 1.0);
        assert!(long.error(1.0, 1.1, 1.0) > 1.0);
    }

    #[test]
    fn a_sample_has_the_ends_and_is_spread_over_all() {
        let count = 1 << 40;
        let Chosen::Some(units) = chosen(count, NUMBERS, 7) else { panic!("too many for all") };
        assert_eq!((units[0], units[units.len() - 1]), (0, count - 1));
        assert!(units.windows(2).all(|pair| pair[0] < pair[1]), "each once, in order");
        assert_eq!(chosen(count, NUMBERS, 7), Chosen::Some(units.clone()));
        assert_ne!(chosen(count, NUMBERS, 8), Chosen::Some(units));
        assert_eq!(chosen(5, usize::MAX, 7), Chosen::All(5));
    }
}
