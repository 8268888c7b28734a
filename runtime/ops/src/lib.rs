//! The ops of the manifest: construction, checked calls, rooflines.
//!
//! What an entry of the manifest says is emitted into [`generated`] as plain Rust by `tileops-codegen`; this crate knows
//! neither the manifest's language nor its reader. By hand are the interface ([`Op`]), the functions that `func` rooflines
//! name ([`formulas`]), and what an op's author declares in code ([`Declared`]).
//!
//! An op is constructed from parameters, called with tensors or with descriptions of them, and priced:
//!
//! ```
//! use tileops_ops::{
//!     Arguments, CheckedCall, DType, Declared, Op, OpError, Roofline, State, Tensor, Value,
//! };
//!
//! /// `y = factor * x` in `float32`. What is here by hand is what is emitted of an entry.
//! #[derive(Default)]
//! struct ScaleFwdOp {
//!     factor: f64,
//!     state: State,
//! }
//!
//! impl Op for ScaleFwdOp {
//!     fn name(&self) -> &'static str {
//!         "ScaleFwdOp"
//!     }
//!
//!     fn check_call(&self, arguments: &Arguments) -> Result<CheckedCall, OpError> {
//!         let refused = |declaration, message| Err(OpError::refused("ScaleFwdOp", declaration, message));
//!         let Some(x) = arguments.get("x") else {
//!             return refused("signature.inputs.x", "`x` is not passed");
//!         };
//!         if x.dtype != DType::Float32 {
//!             return refused("signature.inputs.x.dtype", "`x` must be `float32`");
//!         }
//!         Ok(CheckedCall::new(
//!             "ScaleFwdOp",
//!             vec![("factor", Value::Float(self.factor))],
//!             vec![("S", Value::from(x.shape.as_slice()))],
//!             vec![("x", Some(x.described()))],
//!             vec![("y", Some(x.described()))],
//!         ))
//!     }
//!
//!     fn eval_roofline(&self) -> Result<Roofline, OpError> {
//!         let call = self.completed_call()?;
//!         let flops = call.tensor("x")?.numel();
//!         let bytes = call.bytes("x")? + call.bytes("y")?;
//!         Roofline::of("ScaleFwdOp", flops, bytes)
//!     }
//!
//!     fn declared(&self) -> Declared {
//!         Declared::default()
//!     }
//!
//!     fn state(&self) -> &State {
//!         &self.state
//!     }
//!
//!     fn state_mut(&mut self) -> &mut State {
//!         &mut self.state
//!     }
//! }
//!
//! let mut op = ScaleFwdOp { factor: 0.5, ..ScaleFwdOp::default() };
//! assert!(matches!(op.eval_roofline(), Err(OpError::OpNotAvailable { .. })));
//! op.call(&Arguments::new().with("x", Tensor::new([4096, 4096], DType::Float32)))?;
//! assert_eq!(op.eval_roofline()?, Roofline { flops: 16_777_216, bytes: 134_217_728 });
//! assert_eq!(op.roof_key()?, "cuda_core.fp32");
//! # Ok::<(), OpError>(())
//! ```

extern crate self as tileops_ops;

mod arguments;
mod call;
pub mod declared;
mod dtype;
mod entry;
mod error;
pub mod formulas;
pub mod generated;
mod implementation;
mod int;
mod op;
pub mod prelude;
mod primitives;
mod tensor;
mod value;

pub use arguments::{Arguments, Params};
pub use call::{CheckedCall, Stage};
pub use declared::{DataTerms, Declared, OfCall};
pub use dtype::{Category, DType};
pub use entry::{Axes, Construction, Entry};
pub use error::{Cause, OpError};
pub use implementation::{Implementation, Outputs, Run};
pub use int::{Failure, Int, int};
pub use op::{DEFAULT_ROOF, Op, Registration, Registry, Roofline, State, construct};
pub use primitives::Undefined;
pub use tensor::{Shape, Storage, Tensor};
pub use value::{FieldTest, FromValue, Value, Variant};
