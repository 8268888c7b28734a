//! The ops' CUDA kernels, and how a call is launched.
//!
//! What an op launches is data, a [`Plan`]: kernels with their grids and arguments, products, fills, scratch memory. An op's
//! planner makes it from the checked call and the [`Gpu`]'s facts alone, without a GPU; so CI compiles every kernel of every
//! row, and [`Cuda`] carries plans out. Kernels are the `.cu` files under `src/cu`, specialised for dtypes and constants by
//! definitions in front of them ([`Source`]).

mod cuda;
mod gpu;
mod ops;
mod plan;
mod source;

pub use cuda::{Cuda, Memory};
pub use gpu::Gpu;
pub use ops::{PLANNERS, Planner, planner};
pub use plan::{Arg, Launch, Multiply, Plan, Step, Where};
pub use source::{Header, Source};
