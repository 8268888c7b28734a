//! What the elements of an input are drawn from.

use tileops_ops::{Category, DType};

use crate::deciding::{Ends, Rows};
use crate::number::{put, put_int};

/// What a call's inputs are to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Drawing {
    /// What its reference says: numbers as they come.
    #[default]
    Usual,
    /// That no end of a row is lost: see [`Ends`]. What has no such ends is drawn as usual.
    Ends,
    /// That what is infinite, no number, a zero of either sign or subnormal is what the definition makes of it: see
    /// [`Distribution::Specials`].
    Specials,
}

/// What elements are drawn from. An element is a function of the tensor's seed and its own position alone: any of them can
/// be drawn by itself, in any order, on a CPU or a GPU, and is the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Real numbers of `[low, high)`, each as likely: `low + (high - low) * u` with `u` a multiple of 2^-24, computed in
    /// single precision without contraction, then rounded to the dtype.
    Uniform {
        /// The least.
        low: f32,
        /// Above the greatest.
        high: f32,
    },
    /// Whole numbers of `low..high`.
    Integers {
        /// The least.
        low: i64,
        /// Above the greatest.
        high: i64,
    },
    /// True once in so many, and else false.
    OneIn(u32),
    /// One value, of any dtype.
    Constant(f32),
    /// Rows whose ends decide.
    Ends(Ends),
    /// Numbers of `[-4, 4)`, and among them infinities, what is no number, zeros of both signs, subnormals and, with
    /// `largest`, the largest finite numbers of the dtype. Where there are rows, a row has one kind of them or none, and all
    /// but zeros and subnormals once or twice: else every sum would be no number.
    Specials {
        /// The rows.
        rows: Option<Rows>,
        /// Whether the largest finite ones are among them.
        largest: bool,
    },
}

impl Distribution {
    /// What an op that says nothing else takes: numbers around zero, a coin for Booleans, small whole numbers.
    pub fn of(dtype: DType) -> Self {
        match dtype.category() {
            Category::Bool => Distribution::OneIn(2),
            Category::Int if dtype.name().starts_with('u') => Distribution::Integers { low: 0, high: 100 },
            Category::Int => Distribution::Integers { low: -100, high: 100 },
            Category::Float | Category::Complex if dtype == DType::Float8E8M0FnU => {
                Distribution::Uniform { low: 0.25, high: 4.0 }
            }
            Category::Float | Category::Complex => Distribution::Uniform { low: -1.0, high: 1.0 },
        }
    }

    /// Draws element `at` of the tensor with `seed`, and stores it at `place` of `bytes`.
    pub fn draw(self, seed: u64, at: u64, dtype: DType, bytes: &mut [u8], place: usize) {
        let bits = bits(seed, at);
        match self {
            Distribution::Uniform { low, high } => {
                let unit = (bits >> 8) as f32 * (1.0 / 16_777_216.0);
                let scaled = (high - low) * unit;
                put(dtype, bytes, place, f64::from(low + scaled));
            }
            Distribution::Integers { low, high } => {
                let span = u64::try_from(high.saturating_sub(low)).unwrap_or(1).max(1);
                // The high half of a product: every value nearly as likely, without a division.
                let offset = (u64::from(bits) * span.min(1 << 32)) >> 32;
                put_int(dtype, bytes, place, i128::from(low) + i128::from(offset));
            }
            Distribution::OneIn(many) => put_int(dtype, bytes, place, i128::from(bits.is_multiple_of(many.max(1)))),
            Distribution::Constant(value) => put(dtype, bytes, place, f64::from(value)),
            Distribution::Ends(ends) => match ends.deciding(at) {
                Some(value) => put(dtype, bytes, place, f64::from(value)),
                None => Distribution::Uniform { low: ends.low, high: ends.high }.draw(seed, at, dtype, bytes, place),
            },
            Distribution::Specials { rows, largest } => match special(rows, largest, seed, at, dtype) {
                Some(value) => put(dtype, bytes, place, value),
                None => Distribution::Uniform { low: -4.0, high: 4.0 }.draw(seed, at, dtype, bytes, place),
            },
        }
    }
}

/// Which special number the element `at` is, where it is one.
fn special(rows: Option<Rows>, largest: bool, seed: u64, at: u64, dtype: DType) -> Option<f64> {
    const INFINITY: f64 = f64::INFINITY;
    // The greatest that is finite, and the least that is not zero.
    let (greatest, least) = match dtype {
        DType::Float16 => (65504.0, 2_f64.powi(-24)),
        DType::BFloat16 => (f64::from(half::bf16::MAX), 2_f64.powi(-133)),
        _ => (f64::from(f32::MAX), 2_f64.powi(-149)),
    };
    let drawn = bits(seed ^ 0x5bec_1a15, at);
    let small = [0.0, -0.0, least, -least * 37.0];
    let one_of = |numbers: &[f64]| numbers[(drawn >> 8) as usize % numbers.len()];
    let Some(rows) = rows else {
        let of_all = match drawn % 32 {
            0 => INFINITY,
            1 => -INFINITY,
            2 => f64::NAN,
            3..7 => one_of(&small),
            7 if largest => one_of(&[greatest, -greatest]),
            _ => return None,
        };
        return Some(of_all);
    };
    let (row, index) = rows.place(at);
    let place = |which: u64| u64::from(bits(seed ^ which, row)) % rows.count().max(1);
    let (is_first, is_second) = (index == place(1), index == place(2));
    match row % 8 {
        1 => is_first.then_some(INFINITY),
        2 => is_first.then_some(-INFINITY),
        3 => is_first.then_some(f64::NAN),
        4 => drawn.is_multiple_of(4).then(|| one_of(&small)),
        5 => is_first.then_some(INFINITY).or_else(|| is_second.then_some(-INFINITY)),
        6 => Some(-INFINITY),
        7 => is_first.then_some(f64::NAN).or_else(|| is_second.then_some(INFINITY)),
        _ => None,
    }
}

/// 32 bits for element `at` of the tensor with `seed`: the finalizer of SplitMix64 (Steele, Lea, Flood, 2014) over a
/// counter, its high half.
pub(crate) fn bits(seed: u64, at: u64) -> u32 {
    let mut z = seed.wrapping_add((at.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::get;

    #[test]
    fn elements_stay_within_and_do_not_depend_on_order() {
        let uniform = Distribution::Uniform { low: -2.0, high: 3.0 };
        let mut bytes = vec![0; 4 * 4096];
        (0..4096).rev().for_each(|at| uniform.draw(7, at as u64, DType::Float32, &mut bytes, at));
        let values: Vec<f64> = (0..4096).map(|at| get(DType::Float32, &bytes, at)).collect();
        assert!(values.iter().all(|value| (-2.0..3.0).contains(value)));
        let mean = values.iter().sum::<f64>() / 4096.0;
        assert!((mean - 0.5).abs() < 0.1, "{mean}");
        let mut one = [0; 4];
        uniform.draw(7, 1234, DType::Float32, &mut one, 0);
        assert_eq!(get(DType::Float32, &one, 0), values[1234]);
    }

    #[test]
    fn specials_have_all_kinds_and_a_row_has_one() {
        for dtype in [DType::Float16, DType::BFloat16, DType::Float32] {
            let drawn = |rows| {
                let mut bytes = vec![0; 4096 * dtype.bits() as usize / 8];
                let specials = Distribution::Specials { rows, largest: true };
                (0..4096).for_each(|at| specials.draw(7, at as u64, dtype, &mut bytes, at));
                (0..4096).map(|at| get(dtype, &bytes, at)).collect::<Vec<f64>>()
            };
            let all = drawn(None);
            let least = 2_f64.powi(if dtype == DType::Float16 { -14 } else { -126 });
            for (what, is_there) in [
                ("an infinity", all.contains(&f64::INFINITY) && all.contains(&f64::NEG_INFINITY)),
                ("no number", all.iter().any(|x| x.is_nan())),
                ("a zero", all.iter().any(|x| *x == 0.0 && x.is_sign_negative())),
                ("a subnormal", all.iter().any(|x| *x != 0.0 && x.abs() < least)),
                ("the largest", all.iter().any(|x| x.is_finite() && x.abs() > 65000.0)),
            ] {
                assert!(is_there, "{dtype}: {what}");
            }
            let rows = drawn(Some(Rows::of(64)));
            let count =
                |row: usize, is: fn(&f64) -> bool| rows[row * 64..(row + 1) * 64].iter().filter(|x| is(x)).count();
            assert_eq!((count(0, |x| !x.is_finite()), count(1, |x| *x == f64::INFINITY)), (0, 1), "{dtype}");
            assert_eq!((count(3, |x| x.is_nan()), count(6, |x| *x == f64::NEG_INFINITY)), (1, 64), "{dtype}");
        }
    }
}
