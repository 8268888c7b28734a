//! Answers to requests, one file a method. Each is a plain function of a snapshot.

pub(crate) mod diagnostic;
