//! Sessions with the real server, over its real pipes.

mod client;
mod diagnostics;
mod ends;
mod faults;
mod features;
mod previews;
mod project;
