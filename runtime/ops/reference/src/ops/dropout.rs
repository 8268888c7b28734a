//! Elements at random, the others as many times larger.

use tileops_ops::CheckedCall;

use crate::ops::elements::{Prepared, elements};
use crate::units::{Inputs, Reference, Target};

pub(crate) const REFERENCES: &[Reference] = &[Reference::new("DropoutFwdOp", dropout)];

/// An element is dropped where its 32 random bits, as a fraction, are below `p`: a word of Philox, whose key is the seed, and
/// whose counter is the element's position over four.
fn dropout<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let (x, p) = (inputs.tensor(call, "x")?, call.float("p")?);
    if !call.bool("training")? || p == 0.0 {
        return elements(vec![Target::output("y")], x.len(), move |at, sink| sink.put(0, at, x.get(at)));
    }
    let seed = inputs.tensor(call, "seed")?.int(0) as u64;
    let (below, factor) = (p * 2_f64.powi(32), 1.0 / (1.0 - p));
    elements(vec![Target::output("y")], x.len(), move |at, sink| {
        let word = philox(seed, at as u64 / 4)[at % 4];
        sink.put(0, at, if f64::from(word) < below { 0.0 } else { x.get(at) * factor });
    })
}

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, 2011).
fn philox(seed: u64, counter: u64) -> [u32; 4] {
    let mut key = [seed as u32, (seed >> 32) as u32];
    let mut words = [counter as u32, (counter >> 32) as u32, 0, 0];
    for _ in 0..10 {
        let [first, second] = [u64::from(words[0]) * 0xd251_1f53, u64::from(words[2]) * 0xcd9e_8d57];
        let high = |product: u64| (product >> 32) as u32;
        words = [high(second) ^ words[1] ^ key[0], second as u32, high(first) ^ words[3] ^ key[1], first as u32];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_authors() {
        // Known answers of the authors' library, Random123.
        assert_eq!(philox(0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    }
}
