//! The private generators that seeded metadata is drawn from. Their values are part of a row's identity, so the
//! algorithm is stated here whole, and never changes:
//!
//! - a seed is FNV-1a (64 bits) over the op's name, a zero byte and the tensor's name, xor [`WORKLOAD_SEED`], passed
//!   through SplitMix64's finalizer;
//! - the stream is SplitMix64 from that seed;
//! - a number below `n` is the high word of `n` times the next draw, redrawn while the low word is under `2^64 mod n`;
//! - `k` distinct numbers below `n` are the first `k` of a Fisher-Yates shuffle of `0..n`, from the front.

use rustc_hash::FxHashMap;

use super::Seed;

/// What every row's private generators are seeded with, beside the op's and the tensor's names.
pub const WORKLOAD_SEED: u64 = 0x7469_6c65_6f70_7321;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn finalize(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Seed {
    /// The seed of the generator of `tensor` in `op`: the same at every call, and another for every other pair.
    pub fn new(op: &str, tensor: &str) -> Seed {
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        // No name has a zero byte, so the two names cannot run into each other.
        for byte in op.bytes().chain([0]).chain(tensor.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Seed(finalize((hash ^ WORKLOAD_SEED).wrapping_add(GOLDEN)))
    }
}

/// A SplitMix64 stream.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: Seed) -> Self {
        Random(seed.0)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        finalize(self.0)
    }

    /// A number below `n`, each as likely as another; 0 where `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        let mut wide = u128::from(self.next_u64()) * u128::from(n);
        if (wide as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (wide as u64) < threshold {
                wide = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (wide >> 64) as u64
    }
}

/// The largest pool that is kept as an array whatever is drawn from it. A larger one is kept as its differences from
/// `0..n`, unless half of it is drawn: same numbers.
const DENSE: u64 = 1 << 22;

/// Draws distinct numbers, many times over pools of the same size or smaller, each time in time linear in how many.
pub(super) struct Distinct {
    dense: Vec<u32>,
    sparse: FxHashMap<u64, u64>,
    swaps: Vec<u32>,
}

impl Distinct {
    /// For pools of at most `n` and at most `k` draws from each.
    pub(super) fn new(n: u64, k: u64) -> Self {
        let dense = match u32::try_from(n) {
            Ok(end) if n <= DENSE || n / 2 <= k => (0..end).collect(),
            _ => Vec::new(),
        };
        Distinct { dense, sparse: FxHashMap::default(), swaps: Vec::new() }
    }

    /// Appends `k` distinct numbers below `n` to `out`; `k` is at most `n`.
    pub(super) fn draw(&mut self, random: &mut Random, n: u64, k: u64, out: &mut Vec<i64>) {
        self.shuffle(random, n, k, out);
        // Undone from the back, the swaps leave `0..n` again.
        for (i, &j) in self.swaps.iter().enumerate().rev() {
            self.dense.swap(i, j as usize);
        }
        self.swaps.clear();
        self.sparse.clear();
    }

    /// As [`Distinct::draw`], for a single draw.
    pub(super) fn draw_once(mut self, random: &mut Random, n: u64, k: u64, out: &mut Vec<i64>) {
        self.shuffle(random, n, k, out);
    }

    fn shuffle(&mut self, random: &mut Random, n: u64, k: u64, out: &mut Vec<i64>) {
        let k = k.min(n);
        if n <= self.dense.len() as u64 {
            for i in 0..k {
                let j = i + random.below(n - i);
                self.dense.swap(i as usize, j as usize);
                // The pool has 2^32 numbers at most.
                self.swaps.push(j as u32);
                out.push(self.dense[i as usize].into());
            }
        } else {
            for i in 0..k {
                let j = i + random.below(n - i);
                let at_i = self.sparse.get(&i).copied().unwrap_or(i);
                let at_j = self.sparse.insert(j, at_i).unwrap_or(j);
                out.push(if j == i { at_i } else { at_j } as i64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_splitmix64() {
        // The reference implementation's first outputs from the seed 1234567.
        let mut random = Random::new(Seed(1_234_567));
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn seeds_are_stable_and_tell_names_apart() {
        assert_eq!(Seed::new("GatherFwdOp", "ids"), Seed::new("GatherFwdOp", "ids"));
        assert_ne!(Seed::new("GatherFwdOp", "ids"), Seed::new("GatherFwdOp", "idx"));
        assert_ne!(Seed::new("AB", "C"), Seed::new("A", "BC"));
    }

    #[test]
    fn both_representations_draw_the_same() {
        for (n, k) in [(1, 1), (10, 0), (10, 3), (10, 10), (1000, 999)] {
            let mut dense = Distinct::new(n, k);
            let mut sparse = Distinct { dense: Vec::new(), sparse: FxHashMap::default(), swaps: Vec::new() };
            let (mut a, mut b) = (Random::new(Seed(7)), Random::new(Seed(7)));
            for _ in 0..3 {
                let (mut from_dense, mut from_sparse) = (Vec::new(), Vec::new());
                dense.draw(&mut a, n, k, &mut from_dense);
                sparse.draw(&mut b, n, k, &mut from_sparse);
                assert_eq!(from_dense, from_sparse);
                let mut sorted = from_dense.clone();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len() as u64, k);
                assert!(sorted.iter().all(|&v| (0..n as i64).contains(&v)));
            }
        }
    }

    #[test]
    fn draws_are_even() {
        let mut random = Random::new(Seed(3));
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[random.below(6) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| (9_500..10_500).contains(&n)), "{counts:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }
}
