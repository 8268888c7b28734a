//! A CUDA device: what kernels are compiled, launched and timed with.
//!
//! Nothing of CUDA is needed to build this crate. Each library is looked for at run time, and one that is missing is an
//! error that says so and what to do ([`Library::require`]); nothing here panics for want of a GPU.
//!
//! - [`Device`] is one GPU: its facts, a stream, memory ([`Buffer`]).
//! - [`Compiler`] makes kernels from CUDA C++ for the device's own architecture, and keeps the results on disk.
//! - [`Kernel`] launches with arguments that are checked, one by one, against what the kernel declares.
//! - [`Graph`] is work that was captured once, and is launched as a whole.
//! - [`Activity`] tells how long the device was busy with each kernel, copy and fill, by CUPTI.
//! - [`Monitor`] reads clocks, power and the reasons for throttling, by NVML.
//! - [`CublasLt`] prepares matrix products, and [`MatrixMultiply`] runs them by the fastest algorithm.
//!
//! [`doctor`] says what of all this is found here, and what to do about the rest.
//!
//! All `unsafe` of the project is in this crate. What device memory holds is never seen through a Rust reference, so a
//! kernel that goes astray costs the device's results and, at worst, its context: not the memory safety of the host.

#![allow(unsafe_code, reason = "the edge to CUDA; each block says what makes it sound")]

mod activity;
mod compiler;
mod device;
pub mod doctor;
mod error;
mod graph;
mod kernel;
mod library;
mod matmul;
mod monitor;
mod range;

pub use activity::{Activity, Span, SpanKind};
pub use compiler::{Compiled, Compiler, Resources, resources};
pub use device::{Buffer, Device, Event, Facts};
pub use error::DeviceError;
pub use graph::Graph;
pub use kernel::{Argument, Grid, Kernel, Module};
pub use library::Library;
pub use matmul::{Compute, CublasLt, MatrixMultiply, MatrixScale, MatrixType, Operand, Operands, Product};
pub use monitor::{Monitor, Reading};
