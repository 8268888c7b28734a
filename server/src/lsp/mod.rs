//! The language server, on standard input and output.
//!
//! ```text
//! input ─ guard ─ server ─> queue ─ state (documents, in order) ─> snapshot ─ requests ─> answers
//!                                                             └──> snapshot ─ diagnostics ─ outbox ─> output
//! ```
//!
//! One thread owns the documents and takes notifications in the order they came. Everything that reads them reads a
//! snapshot on another thread, and is cancelled when a newer text makes it stale. Positions are converted at the edge
//! alone. A panic costs the request that it happened in.

mod bench;
mod commands;
mod convert;
mod documents;
mod guard;
mod judge;
mod load;
#[cfg(test)]
mod model;
mod outbox;
mod parent;
mod pipes;
mod positions;
mod records;
mod requests;
mod server;
mod session;
pub(crate) mod settings;
mod snapshot;
mod state;
mod uris;

use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::sync::mpsc as channel;
use tower_lsp::{LspService, Server};

use self::guard::{Event, Guard};
use self::outbox::Outbox;
use self::server::Backend;
use self::state::State;
use crate::engine::STACK_BYTES;
use crate::exit::Exit;

/// How many requests may wait for their answers at once. Reading goes on meanwhile, so that a cancellation is heard.
const CONCURRENCY: usize = 1 << 12;
/// How long answers that are being made are waited for when the client has gone.
const DRAIN: Duration = Duration::from_secs(2);
/// How long answers that are made are waited for.
const FLUSH: Duration = Duration::from_millis(50);

/// Serves until the client ends.
pub(crate) fn run() -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.context("cannot start the server")?;
    let exit = runtime.block_on(serve());
    // What still waits for the client waits in vain.
    runtime.shutdown_background();
    exit
}

async fn serve() -> Result<Exit> {
    let (output, written, broken) = pipes::output().context("cannot write standard output")?;
    let (input, ended) = pipes::input(&output).context("cannot read standard input")?;
    let (events, mut happened) = channel::unbounded_channel();
    let (state, messages) = mpsc::channel();
    let outbox = Arc::new(Outbox::default());
    let refreshes_diagnostics = Arc::default();

    let owner = State::new(state.clone(), outbox.clone())?;
    let thread = std::thread::Builder::new().name("documents".to_owned()).stack_size(STACK_BYTES);
    thread.spawn(move || owner.run(&messages)).context("cannot start the server")?;

    let (service, socket) = LspService::build(|client| {
        tokio::spawn(outbox.clone().pump(client, state.clone()));
        Backend { state, outbox, refreshes_diagnostics: Arc::clone(&refreshes_diagnostics) }
    })
    .custom_method("tileops/debugInfo", Backend::debug_info)
    .custom_method("tileops/rows", Backend::rows)
    .finish();
    let guard = Guard { inner: service, events, refreshes_diagnostics, shut_down: false };
    let serving = Server::new(input, output, socket).concurrency_level(CONCURRENCY).serve(guard);

    let exit = {
        tokio::pin!(serving);
        tokio::pin!(ended);
        tokio::pin!(broken);
        let mut parent = parent::Watch::default();
        loop {
            tokio::select! {
                // `exit` stands in the input before its end.
                biased;
                Some(event) = happened.recv() => match event {
                    Event::Parent(id) => parent = parent::Watch::of(id),
                    Event::Exit { in_order } => {
                        let _ = tokio::time::timeout(FLUSH, &mut serving).await;
                        break if in_order { Exit::Clean } else { Exit::Defects };
                    }
                },
                () = parent.vanished() => break Exit::Failure,
                _ = &mut broken => break Exit::Failure,
                () = &mut serving => break Exit::Defects,
                _ = &mut ended => {
                    // What came before the end is answered, where that takes no time.
                    let _ = tokio::time::timeout(DRAIN, &mut serving).await;
                    let exits = std::iter::from_fn(|| happened.try_recv().ok());
                    let in_order = exits.into_iter().any(|event| event == Event::Exit { in_order: true });
                    break if in_order { Exit::Clean } else { Exit::Defects };
                }
            }
        }
        // The service goes out of scope, and with it the writing end.
    };
    written.wait(DRAIN);
    Ok(exit)
}
