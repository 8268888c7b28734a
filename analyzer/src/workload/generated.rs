//! The contents of a metadata tensor: a recipe, followed when somebody reads it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::traffic::elements;
use crate::lang::Value;
use crate::lang::builtins::{DomainError, Generator, Seed};

/// The most entries that are generated at all. A real table has some millions; a slip of the pen can ask for 10^18.
const MAX_ENTRIES: u128 = 1 << 26;

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
        match self.too_many() {
            None => (self.generator.generate)(&self.args, self.seed).map(Arc::from),
            Some(why) => Err(DomainError(why)),
        }
    }

    /// That the values are too many to be generated, and how many they are.
    pub fn too_many(&self) -> Option<String> {
        let count = match elements(&self.shape) {
            Some(count) if count <= MAX_ENTRIES => return None,
            Some(count) => count.to_string(),
            None => "over 2^128".to_owned(),
        };
        Some(format!("its result has {count} entries, more than the {MAX_ENTRIES} that are generated"))
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
