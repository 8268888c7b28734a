//! What a row's inputs hold: a generator of the row's own, and the values that the row states.
//!
//! An element is a function of the row, the tensor's name, the set and its own position (see
//! [`Distribution`]), so no draw anywhere else moves it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize};
use tileops_analyzer::lang::builtins::WORKLOAD_SEED;
use tileops_analyzer::workload::{Call, Effect};
use tileops_ops::generated::REGISTRY;
use tileops_ops::{Arguments, CheckedCall, DType, Op, Tensor, construct};
use tileops_reference::{Distribution, Drawing, Reference, put_int};

use crate::machine::Machine;
use crate::rows::{Entry, described};

/// What a run's inputs are to show, as the command line and jobs name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Drawn(pub Drawing);

const DRAWINGS: [(&str, Drawing); 3] =
    [("usual", Drawing::Usual), ("ends", Drawing::Ends), ("specials", Drawing::Specials)];

impl FromStr for Drawn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = DRAWINGS.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, drawing)| Drawn(*drawing))
            .ok_or_else(|| "it is none of `usual`, `ends` and `specials`".to_owned())
    }
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(DRAWINGS.iter().find(|(_, drawing)| *drawing == self.0).map_or("", |(name, _)| name))
    }
}

impl TryFrom<String> for Drawn {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Drawn> for String {
    fn from(drawn: Drawn) -> String {
        drawn.to_string()
    }
}

/// What a tensor's elements are.
#[derive(Debug, Clone, PartialEq)]
pub enum Recipe {
    /// Drawn with this seed.
    Drawn(Distribution, u64),
    /// The values that the row states.
    Stated(Arc<[i64]>),
}

/// The seed of a row's generator: FNV-1a over the op's name, a zero byte and the case, and SplitMix64's finalizer.
pub fn row_seed(op: &str, case: &str) -> u64 {
    mixed(op.bytes().chain([0]).chain(case.bytes()), WORKLOAD_SEED)
}

/// The seed of a tensor in set number `set` of a row.
pub fn tensor_seed(row: u64, name: &str, set: usize) -> u64 {
    mixed(name.bytes().chain([0]).chain((set as u64).to_le_bytes()), row)
}

fn mixed(bytes: impl Iterator<Item = u8>, seed: u64) -> u64 {
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mut z = (hash ^ seed).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Recipe {
    /// The elements, as `dtype` stores them, on the host. A machine gives the same ones.
    pub fn bytes(&self, dtype: DType, elements: usize) -> Vec<u8> {
        let mut bytes = vec![0; elements * dtype.bits() as usize / 8];
        match self {
            Recipe::Drawn(distribution, seed) => {
                (0..elements).for_each(|at| distribution.draw(*seed, at as u64, dtype, &mut bytes, at));
            }
            Recipe::Stated(values) => {
                values.iter().take(elements).enumerate().for_each(|(at, &value)| {
                    put_int(dtype, &mut bytes, at, value.into());
                });
            }
        }
        bytes
    }
}

/// An input with its elements on a machine.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// It, with its storage.
    pub tensor: Tensor,
    /// What its elements are before a call.
    pub recipe: Recipe,
    /// Whether a call writes it: then it is drawn anew before each.
    pub is_written: bool,
}

/// One of the sets of inputs that take turns: the op, constructed and implemented, and what it is called with.
pub struct Set {
    /// The op.
    pub op: Box<dyn Op>,
    /// The arguments of its call.
    pub arguments: Arguments,
    /// Every input, those of the construction among them.
    pub inputs: Vec<Input>,
}

impl Set {
    /// Set number `number` of the inputs of `call`, which is `checked` as its op sees it.
    pub fn new(
        machine: &dyn Machine,
        reference: &Reference,
        entry: &Entry<'_>,
        call: &Call,
        checked: &CheckedCall,
        drawing: Drawing,
        number: usize,
    ) -> Result<Self> {
        let seed = row_seed(entry.op(), &call.case_id);
        let mut inputs = Vec::new();
        let (params, arguments) = entry.passed(call, &mut |name, tensor| -> Result<Tensor> {
            let described = described(name, tensor)?;
            let recipe = match &described.values {
                Some(values) => Recipe::Stated(values.clone()),
                None => {
                    let distribution = reference.distribution(checked, name, described.dtype, drawing);
                    Recipe::Drawn(distribution, tensor_seed(seed, name, number))
                }
            };
            let is_written = tensor.effect != Effect::Read;
            let tensor = machine.make(&described, &recipe)?;
            inputs.push(Input { name: name.to_owned(), tensor: tensor.clone(), recipe, is_written });
            Ok(tensor)
        })?;
        let mut op = construct(REGISTRY, entry.op(), &params)?;
        let implementation = machine
            .implementation(entry.op())
            .ok_or_else(|| anyhow!("nothing runs {} on {}", entry.op(), machine.describe().name))?;
        op.state_mut().implement(implementation);
        Ok(Set { op, arguments, inputs })
    }

    /// How much memory its inputs take, in bytes.
    pub fn storage(&self) -> usize {
        self.inputs.iter().flat_map(|input| &input.tensor.storage).map(|storage| storage.nbytes()).sum()
    }

    /// Draws the inputs that a call has written anew.
    pub fn renew(&self, machine: &dyn Machine) -> Result<()> {
        for input in self.inputs.iter().filter(|input| input.is_written) {
            machine.renew(&input.tensor, &input.recipe)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tensor_of_every_row_and_set_has_a_seed_of_its_own() {
        let mut seeds = Vec::new();
        for (op, case) in [("A", "b"), ("Ab", ""), ("A", "c")] {
            for name in ["x", "y"] {
                seeds.extend((0..3).map(|set| tensor_seed(row_seed(op, case), name, set)));
            }
        }
        let count = seeds.len();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), count);
    }

    #[test]
    fn a_drawing_has_a_name() {
        for (name, drawing) in DRAWINGS {
            assert_eq!((name.parse(), Drawn(drawing).to_string()), (Ok(Drawn(drawing)), name.to_owned()));
        }
        assert_eq!("end".parse::<Drawn>(), Err("it is none of `usual`, `ends` and `specials`".to_owned()));
    }

    #[test]
    fn stated_values_are_stored_as_they_are() {
        let recipe = Recipe::Stated([3, -1, 70_000].into());
        assert_eq!(recipe.bytes(DType::Int32, 3), [3_i32, -1, 70_000].map(i32::to_ne_bytes).concat());
    }
}
