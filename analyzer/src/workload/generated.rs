//! The contents of a metadata tensor: a recipe, followed when somebody reads it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::traffic::elements;
use crate::lang::Value;
use crate::lang::builtins::{DomainError, Generator, Seed};

/// What every row's private generators are seeded with, beside the op's and the tensor's names.
pub const WORKLOAD_SEED: u64 = 0x7469_6c65_6f70_7321;

/// The most entries that are generated at all. A real table has some millions; a slip of the pen can ask for 10^18.
const MAX_ENTRIES: u128 = 1 << 26;

/// The seed of the tensor's generator: the workload seed and the two names, mixed, so that a row always yields the same
/// values and a tensor's values never depend on another's.
pub fn seed_of(op: &str, tensor: &str) -> Seed {
    // FNV-1a over the names with a byte between them that no name has, then splitmix64's finalizer.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in op.bytes().chain([0]).chain(tensor.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    let mut z = (hash ^ WORKLOAD_SEED).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Seed(z ^ (z >> 31))
}

/// The contents of a metadata tensor: the generator and its arguments. The values exist once somebody asks for them.
pub struct Generated {
    name: &'static str,
    generator: &'static Generator,
    args: Vec<Value>,
    seed: Seed,
    shape: Vec<i128>,
    values: OnceLock<Result<Arc<[i64]>, DomainError>>,
}

impl Generated {
    /// The recipe of a generator that is called `name`, at arguments in the order of its parameters. Fails where the
    /// arguments are outside its domain.
    pub fn new(
        name: &'static str,
        generator: &'static Generator,
        args: Vec<Value>,
        seed: Seed,
    ) -> Result<Self, DomainError> {
        let shape = (generator.result_shape)(&args)?;
        Ok(Generated { name, generator, args, seed, shape, values: OnceLock::new() })
    }

    /// The generator's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The arguments, in the order of the generator's parameters.
    pub fn args(&self) -> &[Value] {
        &self.args
    }

    /// Its private seed.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// The shape of the values.
    pub fn shape(&self) -> &[i128] {
        &self.shape
    }

    /// The least and the greatest value there can be, where that is known without generating.
    pub fn bounds(&self) -> Option<(i128, i128)> {
        (self.generator.bounds)(&self.args)
    }

    /// The values, row-major; generated at the first call and kept.
    pub fn values(&self) -> Result<Arc<[i64]>, DomainError> {
        self.values.get_or_init(|| self.generate()).clone()
    }

    /// The values, row-major, without keeping them: for one who reads them once.
    pub fn generate(&self) -> Result<Arc<[i64]>, DomainError> {
        if let Some(values) = self.values.get() {
            return values.clone();
        }
        match elements(&self.shape) {
            Some(count) if count <= MAX_ENTRIES => (self.generator.generate)(&self.args, self.seed).map(Arc::from),
            _ => Err(DomainError(format!(
                "its result has {} entries, more than the {MAX_ENTRIES} that are generated",
                elements(&self.shape).map_or_else(|| "over 2^128".to_owned(), |n| n.to_string())
            ))),
        }
    }

    /// Whether `other` gives the same values because it is the same recipe.
    pub(super) fn is_recipe(&self, name: &str, args: &[Value], seed: Seed) -> bool {
        self.name == name && self.seed == seed && self.args == args
    }
}

impl fmt::Debug for Generated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A million values would drown what is being looked at.
        f.debug_struct("Generated").field("name", &self.name).field("args", &self.args).finish_non_exhaustive()
    }
}

impl PartialEq for Generated {
    fn eq(&self, other: &Self) -> bool {
        self.is_recipe(other.name, &other.args, other.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_stable_and_tell_names_apart() {
        assert_eq!(seed_of("GatherFwdOp", "ids"), seed_of("GatherFwdOp", "ids"));
        assert_ne!(seed_of("GatherFwdOp", "ids"), seed_of("GatherFwdOp", "idx"));
        assert_ne!(seed_of("AB", "C"), seed_of("A", "BC"));
    }
}
