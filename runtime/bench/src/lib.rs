//! The ops of a manifest on the rows of their entries.
//!
//! The analyzer says which calls the rows determine, `tileops-ops` makes and prices them, and what came of it is a record
//! (`tileops-record`). Nothing here computes FLOPs or bytes: the op says them, and [`price`] alone puts them into records.
//!
//! A timed run is a parent and a child process an op. The parent ([`supervise`]) picks rows ([`select`]), starts children
//! (`child`), and appends their records ([`store`]) until [`stop`] says that it is to end; a child ([`worker`]) draws a row's inputs ([`inputs`]) on a [`machine`], holds the
//! op's output to the reference ([`judge`]), and then, where it is right, takes samples ([`sample`]). Beside them a process
//! compiles the kernels of the rows to come ([`ahead`]). Under a profiler a row's call is made and no more ([`one_call`]).

pub mod ahead;
mod child;
pub mod fault;
pub mod inputs;
pub mod judge;
pub mod machine;
pub mod one_call;
pub mod price;
pub mod rows;
pub mod sample;
pub mod select;
pub mod stop;
pub mod store;
pub mod supervise;
pub mod tell;
pub mod worker;
