//! A reference, cut into units that do not depend on each other.

use tileops_ops::{CheckedCall, DType, OpError};

use crate::distribution::{Distribution, Drawing};
use crate::host::View;

/// What one op computes.
#[derive(Debug, Clone, Copy)]
pub struct Reference {
    /// The op.
    pub op: &'static str,
    /// Prepares a call.
    pub prepare: Prepare,
    /// What the input `name` of a call is drawn from, where the row states no values.
    pub inputs: fn(&CheckedCall, &str) -> Option<Distribution>,
}

/// Prepares a call for its computation: resolves what is the same for all units.
pub type Prepare = for<'a> fn(&'a CheckedCall, &'a Inputs<'a>) -> Result<Box<dyn Units + 'a>, OpError>;

impl Reference {
    /// The reference of `op`, whose inputs are drawn as their dtypes say.
    pub const fn new(op: &'static str, prepare: Prepare) -> Self {
        Reference { op, prepare, inputs: |_, _| None }
    }

    /// With inputs drawn by `inputs`; nothing for one that is drawn as its dtype says.
    #[must_use]
    pub const fn drawing(self, inputs: fn(&CheckedCall, &str) -> Option<Distribution>) -> Self {
        Reference { inputs, ..self }
    }

    /// What the input `name`, of `dtype`, is drawn from.
    pub fn distribution(&self, call: &CheckedCall, name: &str, dtype: DType, drawing: Drawing) -> Distribution {
        let drawn = match drawing {
            Drawing::Usual => None,
            Drawing::Ends => crate::deciding::ends(call, name),
            Drawing::Specials => crate::deciding::specials(call, name),
        };
        drawn.or_else(|| (self.inputs)(call, name)).unwrap_or_else(|| Distribution::of(dtype))
    }
}

/// The elements that a call reads, as they are before it.
#[derive(Debug, Default)]
pub struct Inputs<'a> {
    tensors: Vec<(&'a str, View<'a>)>,
}

impl<'a> Inputs<'a> {
    /// The tensors, by name. One that is not passed is left out.
    pub fn new(tensors: Vec<(&'a str, View<'a>)>) -> Self {
        Inputs { tensors }
    }

    /// The input called `name`, where it is passed.
    pub fn optional(&self, name: &str) -> Option<View<'a>> {
        self.tensors.iter().find(|(known, _)| *known == name).map(|(_, view)| *view)
    }

    /// The input called `name`.
    pub fn tensor(&self, call: &CheckedCall, name: &str) -> Result<View<'a>, OpError> {
        self.optional(name).ok_or_else(|| OpError::Implementation {
            op: call.op(),
            message: format!("the reference reads `{name}`, which the call does not pass"),
        })
    }
}

/// Where a target's elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// An output in storage of its own.
    Output,
    /// An output in the storage of an input, which is mutated.
    In(&'static str),
    /// A mutated input that is no output.
    Input,
}

/// A tensor that a call writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Where its elements are.
    pub place: Place,
    /// How many numbers were added up, each rounded, on the way to an element: what a tolerance grows with.
    pub terms: u64,
    /// What the magnitude of an element's rounding errors is measured by, where it is more than the element's own: the
    /// typical size of the numbers that are added up. Sums that cancel are small, and their errors are not.
    pub scale: f64,
}

impl Target {
    /// An output that each element of is computed from few numbers.
    pub fn output(name: &'static str) -> Self {
        Target { name, place: Place::Output, terms: 1, scale: 0.0 }
    }

    /// An output in the storage of the input `of`.
    pub fn within(name: &'static str, of: &'static str) -> Self {
        Target { place: Place::In(of), ..Target::output(name) }
    }

    /// A mutated input that is no output.
    pub fn input(name: &'static str) -> Self {
        Target { place: Place::Input, ..Target::output(name) }
    }

    /// With numbers that are rounded to `dtype` on the way, as what one stage stores for the next: their errors reach an
    /// element as the error of one number of the size `size` would.
    #[must_use]
    pub fn rounded(self, dtype: DType, size: f64) -> Self {
        let half = match dtype {
            DType::BFloat16 => 2_f64.powi(-8),
            DType::Float16 => 2_f64.powi(-11),
            _ => 2_f64.powi(-24),
        };
        // As so much more of what is added up, which errs by half a place of single precision.
        let scale = self.scale + half / 2_f64.powi(-24) * size / (8 * self.terms) as f64;
        Target { scale, ..self }
    }

    /// With sums of `terms` numbers of the size `scale`.
    #[must_use]
    pub fn sums(self, terms: usize, scale: f64) -> Self {
        Target { terms: terms.max(1) as u64, scale, ..self }
    }
}

/// A call, ready to be computed.
pub trait Units: Send + Sync {
    /// The tensors that the call writes.
    fn targets(&self) -> Vec<Target>;
    /// How many units there are. Together they give every element of every target that the call writes, each once.
    fn count(&self) -> usize;
    /// About how many numbers a unit reads or computes.
    fn cost(&self) -> usize;
    /// Computes one.
    fn compute(&self, unit: usize, sink: &mut Sink);
}

/// The elements of one unit: which, of which target, and their values.
#[derive(Debug, Default)]
pub struct Sink {
    elements: Vec<Element>,
}

/// An element that a unit gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Element {
    target: u32,
    at: usize,
    value: Number,
}

/// A value, in double precision or whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Real(f64),
    Whole(i128),
}

impl Sink {
    /// None.
    pub fn new() -> Self {
        Sink::default()
    }

    /// Element `at` of the flattened target number `target` is `value`.
    pub fn put(&mut self, target: usize, at: usize, value: f64) {
        self.elements.push(Element { target: target as u32, at, value: Number::Real(value) });
    }

    /// The same, for a whole number or a Boolean, exactly.
    pub fn put_int(&mut self, target: usize, at: usize, value: i128) {
        self.elements.push(Element { target: target as u32, at, value: Number::Whole(value) });
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.elements.clear();
    }

    /// The elements: target, position, value. A whole number comes as a real one here.
    pub fn reals(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        self.elements.iter().map(|element| {
            let value = match element.value {
                Number::Real(value) => value,
                Number::Whole(value) => value as f64,
            };
            (element.target as usize, element.at, value)
        })
    }

    /// Stores the elements of one target, whose dtype is `dtype`, by `store(position, bytes of one element)`.
    pub fn store(&self, target: usize, dtype: DType, mut store: impl FnMut(usize, &[u8])) {
        for element in self.elements.iter().filter(|element| element.target as usize == target) {
            let mut bytes = [0; 16];
            match element.value {
                Number::Real(value) => crate::number::put(dtype, &mut bytes, 0, value),
                Number::Whole(value) => crate::number::put_int(dtype, &mut bytes, 0, value),
            }
            store(element.at, &bytes[..dtype.bits() as usize / 8]);
        }
    }
}
