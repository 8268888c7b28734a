//! The ops of a manifest on the rows of their entries.
//!
//! The analyzer says which calls the rows determine, `tileops-ops` makes and prices them, and what came of it is a record
//! (`tileops-record`). Nothing here computes FLOPs or bytes: the op says them.

pub mod price;
pub mod rows;
