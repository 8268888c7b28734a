//! Diagnostics: those of the files that changed, of those that a change touches, and, when nobody waits, of all others.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tileops_analyzer::db::unless_stale;
use tileops_analyzer::workspace::{TieIndex, folder};
use tower_lsp::lsp_types::MessageType;

use super::outbox::Outgoing;
use super::snapshot::Snapshot;
use super::state::Message;
use crate::panics;

/// What is known of the ties between files.
pub(crate) struct Known {
    pub(crate) ties: Arc<Mutex<TieIndex>>,
    /// Whether all files have been looked at: one that has no ties then is new.
    pub(crate) all: bool,
}

/// Judges the files that changed, then those that the changes touch.
pub(crate) fn changed(snapshot: &Snapshot, known: &Known, mut left: BTreeSet<Arc<str>>) -> Message {
    let is_open = |key: &Arc<str>| snapshot.files.get(key).is_some_and(|file| file.version.is_some());
    let (open, closed): (Vec<_>, Vec<_>) = left.iter().cloned().partition(is_open);
    let mut changed = !closed.is_empty();
    let mut touched = BTreeSet::new();
    for key in open.into_iter().chain(closed) {
        let judged = if snapshot.is_stale() { None } else { publish(snapshot, &key) };
        let Some(more) = judged.and_then(|()| retie(snapshot, known, &key)) else {
            left.extend(touched);
            return Message::Judged { left, changed };
        };
        left.remove(&key);
        touched.extend(more);
    }
    while let Some(key) = touched.pop_first() {
        changed = true;
        if snapshot.is_stale() || publish(snapshot, &key).is_none() {
            left.insert(key);
            left.extend(touched);
            return Message::Judged { left, changed };
        }
        // It may point at other places now; what others see of it is as it was.
        if retie(snapshot, known, &key).is_none() {
            left.insert(key);
        }
    }
    Message::Judged { left, changed }
}

/// Judges files until something more urgent comes.
pub(crate) fn in_background(snapshot: &Snapshot, ties: &Arc<Mutex<TieIndex>>, files: Vec<Arc<str>>) -> Message {
    let known = Known { ties: ties.clone(), all: true };
    let mut files = files.into_iter();
    let mut changed = false;
    while let Some(key) = files.next() {
        let judged = if snapshot.is_stale() { None } else { publish(snapshot, &key) };
        // Nothing has changed: what this file is tied to is judged in its turn.
        if judged.and_then(|()| retie(snapshot, &known, &key)).is_none() {
            let left = std::iter::once(key).chain(files).collect();
            return Message::Background { left, changed };
        }
        changed = true;
    }
    Message::Background { left: Vec::new(), changed }
}

/// Publishes what is wrong with one file; nothing where the snapshot has become stale. A panic is said, and costs this
/// file's news alone.
fn publish(snapshot: &Snapshot, key: &Arc<str>) -> Option<()> {
    let Some(file) = snapshot.files.get(key).filter(|file| file.is_judged()) else { return Some(()) };
    let found = guarded(snapshot, key, || snapshot.diagnostics(key))?;
    if let Some(found) = found.filter(|_| !snapshot.session.pull) {
        snapshot.outbox.publish(key, &file.url, snapshot.revision, file.version, found);
    }
    Some(())
}

/// Takes in what ties a file to others now, and says which files a change of it touches; nothing where the snapshot has
/// become stale.
fn retie(snapshot: &Snapshot, known: &Known, key: &Arc<str>) -> Option<BTreeSet<Arc<str>>> {
    let file = snapshot.files.get(key);
    let db = match file {
        Some(file) => snapshot.db(file),
        None => snapshot.projects.values().map(|project| &project.db).find(|db| !db.siblings(key).is_empty()),
    };
    let ties = || db.map(|db| (db.ties(key), db.types_file(key)));
    // Of a file that the analyzer panics at nothing is known but that others are not to wait for it.
    let Some(ties) = guarded(snapshot, key, ties)? else { return Some(BTreeSet::new()) };
    let (ties, types) = ties.unwrap_or_default();
    // Nothing in there is left half-changed by a panic.
    let touched = known.ties.lock().unwrap_or_else(PoisonError::into_inner).update(key, ties, types);
    let is_new = known.all && file.is_none_or(|file| file.listed);
    if touched.was_known || is_new {
        return Some(touched.files);
    }
    let beside = snapshot.files.keys().filter(|other| folder(other) == folder(key) && *other != key);
    Some(beside.cloned().collect())
}

/// Runs `action`; nothing where the snapshot has become stale. A panic is said, and gives nothing within.
fn guarded<T>(snapshot: &Snapshot, key: &str, action: impl FnOnce() -> T) -> Option<Option<T>> {
    match panics::catch(|| unless_stale(action)) {
        Ok(result) => Some(Some(result?)),
        Err(panic) => {
            let text = format!("internal error in `{key}`: {panic}; this is a bug in tileops-lsp");
            snapshot.outbox.send(Outgoing::Log(MessageType::ERROR, text));
            Some(None)
        }
    }
}
