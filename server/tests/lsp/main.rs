//! Sessions with the real server, over its real pipes.

mod cancel;
mod client;
mod code_actions;
mod contrib;
mod diagnostics;
mod ends;
mod faults;
mod features;
mod previews;
mod project;
#[path = "../../src/lsp/model/script.rs"]
mod script;
mod sessions;
