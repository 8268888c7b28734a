//! The records of benchmarks, and the program that writes some.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;
use tower_lsp::lsp_types::MessageType;

use super::super::bench::Run;
use super::super::outbox::Outgoing;
use super::super::records::{Places, Records};
use super::{Message, State};
use crate::panics;

impl State {
    /// Has the records of a project read, where it has some.
    pub(super) fn read_records(&mut self, root: &Path) {
        let Some(project) = self.projects.get_mut(root) else { return };
        let places = Places::of(&project.config, &self.settings);
        if places == Places::default() {
            project.records = Arc::default();
            return;
        }
        // What changes while they are read is read when they are.
        if let Some(again) = self.reading.get_mut(root) {
            *again = true;
            return;
        }
        self.reading.insert(root.to_path_buf(), false);
        let (sender, project) = (self.sender.clone(), root.to_path_buf());
        self.back.spawn(move || {
            let message = match panics::catch(|| Records::read(&places)) {
                Ok((records, problems)) => Message::Records { project, records: Box::new(records), problems },
                Err(panic) => Message::Bug(format!("reading records: {panic}")),
            };
            // Where nobody takes it, the server is ending.
            let _ = sender.send(message);
        });
    }

    /// Runs the program that prices rows, with progress while it runs.
    pub(super) fn price(&mut self, run: Run) {
        let (shown, ended) = watch::channel(());
        if self.session.can.progress {
            self.outbox.send(Outgoing::Work(run.title(), ended));
        }
        let sender = self.sender.clone();
        let thread = std::thread::Builder::new().name("pricing".to_owned());
        let started = thread.spawn(move || {
            let result = run.run();
            drop(shown);
            let _ = sender.send(Message::Priced(run, result));
        });
        if let Err(error) = started {
            self.outbox.send(Outgoing::Show(MessageType::ERROR, format!("cannot price rows: {error}")));
        }
    }
}
