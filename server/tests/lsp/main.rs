//! Sessions with the real server, over its real pipes.

mod client;
mod code_actions;
mod diagnostics;
mod ends;
mod faults;
mod features;
mod previews;
mod project;
