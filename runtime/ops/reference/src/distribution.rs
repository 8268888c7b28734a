//! What the elements of an input are drawn from.

use tileops_ops::{Category, DType};

use crate::number::{put, put_int};

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
        }
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
}
