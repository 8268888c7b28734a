//! What a call launches, as data.

use tileops_device::{Grid, Product};

use crate::source::Source;

/// What a call launches.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Where each output is, by its name. One that is not named has memory of its own.
    pub places: Vec<(&'static str, Where)>,
    /// Memory for between the steps, in bytes each.
    pub scratch: Vec<usize>,
    /// What is done, in this order.
    pub steps: Vec<Step>,
}

/// Where an output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// In the memory of an input, which is mutated.
    In(&'static str),
    /// In the buffer that the caller passed, where one was.
    Out,
}

/// One step.
#[derive(Debug, Clone)]
pub enum Step {
    /// A kernel.
    Launch(Launch),
    /// A matrix product by cuBLASLt.
    Product(Multiply),
    /// Sets every byte of some memory.
    Fill(Arg, u8),
}

/// A kernel's launch.
#[derive(Debug, Clone)]
pub struct Launch {
    /// What it is compiled from.
    pub source: Source,
    /// The kernel's name in it.
    pub kernel: &'static str,
    /// How many threads.
    pub grid: Grid,
    /// The arguments, in their order.
    pub arguments: Vec<Arg>,
}

/// A matrix product.
#[derive(Debug, Clone)]
pub struct Multiply {
    /// What is multiplied.
    pub product: Product,
    /// A.
    pub a: Arg,
    /// B.
    pub b: Arg,
    /// C, where `beta` is not zero.
    pub c: Option<Arg>,
    /// D.
    pub d: Arg,
    /// The bias, where there is one.
    pub bias: Option<Arg>,
    /// The scales of A, where it has some.
    pub scale_a: Option<Arg>,
    /// The scales of B, where it has some.
    pub scale_b: Option<Arg>,
    /// The factor of the product.
    pub alpha: f32,
    /// The factor of C.
    pub beta: f32,
}

impl Multiply {
    /// `D = A B`.
    pub fn new(product: Product, a: Arg, b: Arg, d: Arg) -> Self {
        Multiply { product, a, b, c: None, d, bias: None, scale_a: None, scale_b: None, alpha: 1.0, beta: 0.0 }
    }

    /// Every argument that is memory.
    pub fn arguments(&self) -> impl Iterator<Item = &Arg> {
        let optional = [&self.c, &self.bias, &self.scale_a, &self.scale_b].into_iter().flatten();
        [&self.a, &self.b, &self.d].into_iter().chain(optional)
    }
}

/// An argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// The address of an input or an output; nothing where the call has none of that name.
    Tensor(&'static str),
    /// No address.
    Null,
    /// The address of scratch memory, by its number.
    Scratch(usize),
    /// A 32-bit integer.
    I32(i32),
    /// A 64-bit integer.
    I64(i64),
    /// A 32-bit float.
    F32(f32),
    /// A structure that is taken by value, as its bytes.
    Bytes(Vec<u8>),
}

impl Plan {
    /// Nothing yet.
    pub fn new() -> Self {
        Plan::default()
    }

    /// With the output `name` at `place`.
    #[must_use]
    pub fn place(mut self, name: &'static str, place: Where) -> Self {
        self.places.push((name, place));
        self
    }

    /// With a kernel's launch behind what is there.
    #[must_use]
    pub fn launch(mut self, source: Source, kernel: &'static str, grid: Grid, arguments: Vec<Arg>) -> Self {
        self.steps.push(Step::Launch(Launch { source, kernel, grid, arguments }));
        self
    }

    /// With a matrix product behind what is there.
    #[must_use]
    pub fn product(mut self, multiply: Multiply) -> Self {
        self.steps.push(Step::Product(multiply));
        self
    }

    /// With every byte of `what` set to `byte` behind what is there.
    #[must_use]
    pub fn fill(mut self, what: Arg, byte: u8) -> Self {
        self.steps.push(Step::Fill(what, byte));
        self
    }

    /// Asks for `bytes` of scratch memory.
    pub fn scratch(&mut self, bytes: usize) -> Arg {
        self.scratch.push(bytes);
        Arg::Scratch(self.scratch.len() - 1)
    }
}
