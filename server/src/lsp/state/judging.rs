//! What is judged when: what changed first, and the rest of the workspace when nobody waits.

use super::super::judge::{self, Known};
use super::super::outbox::{Outgoing, Refresh};
use super::State;

/// How many files the background judges before it looks up.
const BATCH: usize = 16;

impl State {
    pub(super) fn report_progress(&mut self) {
        let left = self.background.len();
        if let Some(progress) = &self.progress {
            if left == 0 && !self.in_background {
                self.progress = None;
                return;
            }
            progress.send_modify(|progress| {
                progress.total = progress.total.max(left);
                progress.done = progress.total - left;
            });
        }
    }

    pub(super) fn judge_everything(&mut self) {
        self.dirty.extend(self.documents.keys().cloned());
        self.background = self.files.iter().filter(|(_, file)| file.listed).map(|(key, _)| key.clone()).collect();
        self.refresh = true;
    }

    /// Starts whatever has to be done about what changed.
    pub(super) fn settle(&mut self) {
        self.flush();
        if !self.dirty.is_empty() && !self.judging {
            self.judging = true;
            let snapshot = self.snapshot();
            let dirty = std::mem::take(&mut self.dirty);
            let known = Known { ties: self.ties.clone(), all: self.background.is_empty() && !self.in_background };
            self.say_statuses_of(&dirty);
            let sender = self.sender.clone();
            self.front.spawn(move || {
                let message = judge::changed(&snapshot, &known, dirty);
                drop(snapshot);
                // Where nobody takes it, the server is ending.
                let _ = sender.send(message);
            });
        }
        if !self.judging && !self.in_background && !self.background.is_empty() {
            self.in_background = true;
            let files: Vec<_> = self.background.drain(..self.background.len().min(BATCH)).collect();
            let snapshot = self.snapshot();
            let (sender, ties) = (self.sender.clone(), self.ties.clone());
            self.back.spawn(move || {
                let message = judge::in_background(&snapshot, &ties, files);
                drop(snapshot);
                let _ = sender.send(message);
            });
        }
        let idle = self.listing == 0 && !self.judging && !self.in_background && self.background.is_empty();
        #[cfg(test)]
        if idle {
            // Whoever no longer waits has failed already.
            for waiting in self.waiting.drain(..) {
                let _ = waiting.send(());
            }
        }
        if idle && self.refresh {
            self.refresh = false;
            if self.session.pull {
                self.outbox.send(Outgoing::Refresh(Refresh::Diagnostics));
            }
        }
    }

    pub(super) fn refresh_hints(&self) {
        if self.session.can.refresh_hints {
            self.outbox.send(Outgoing::Refresh(Refresh::Hints));
        }
    }
}
