//! What the client has open.

use std::collections::BTreeSet;
use std::sync::Arc;

use tileops_analyzer::db::FileText;
use tileops_analyzer::workspace::FileKind;
use tower_lsp::lsp_types::{DidOpenTextDocumentParams, Url};

use super::super::documents::Document;
use super::super::outbox::{Outgoing, StatusParams};
use super::super::snapshot::File;
use super::super::{load, uris};
use super::State;
use crate::source::Source;

impl State {
    pub(super) fn open(&mut self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        let key = uris::key(&document.uri);
        self.advance();
        if let Some(path) = uris::path(&document.uri) {
            self.know_folder_of(&path);
        }
        let (configured, project) = self.place(&document.uri);
        let text: Arc<str> = document.text.as_str().into();
        let listed = self.files.get(&key).is_some_and(|file| file.listed);
        let file = File {
            url: document.uri.clone(),
            source: Arc::new(Source::new(key.clone(), text.clone())),
            version: Some(document.version),
            project: project.clone(),
            configured,
            faults: Arc::default(),
            listed,
        };
        self.files.insert(key.clone(), file);
        if let Some(project) = self.projects.get_mut(&project) {
            project.db.set_files([FileText { path: key.clone(), text, configured, open: true }]);
        }
        self.documents.insert(key.clone(), Document::new(document.uri, document.version, &document.text));
        self.statuses.remove(&key);
        self.dirty.insert(key);
    }

    pub(super) fn close(&mut self, uri: &Url) {
        let key = uris::key(uri);
        if self.documents.remove(&key).is_none() {
            return;
        }
        self.advance();
        self.unflushed.remove(&key);
        self.statuses.remove(&key);
        self.tokens.forget(&key);
        // What the client had in mind is gone: what counts is on disk.
        let on_disk = uris::path(uri).and_then(|path| Some((load::read(&path)?, path)));
        match on_disk {
            Some((text, path)) => {
                let listed = self.is_listed(&path);
                self.set_on_disk(&path, text, listed);
            }
            None => self.forget(&key),
        }
        self.heard_of(key);
    }

    /// Puts edited texts where snapshots see them.
    pub(super) fn flush(&mut self) {
        for key in std::mem::take(&mut self.unflushed) {
            let Some(document) = self.documents.get(&key) else { continue };
            let text = document.text();
            let source = Arc::new(Source::new(key.clone(), text.clone()));
            let Some(file) = self.files.edit(&key, document.version, source) else { continue };
            if let Some(project) = self.projects.get_mut(&file.project) {
                project.db.set_files([FileText { path: key.clone(), text, configured: file.configured, open: true }]);
            }
            self.dirty.insert(key);
        }
    }

    /// Says what open documents are, where that is news.
    pub(super) fn say_statuses_of(&mut self, keys: &BTreeSet<Arc<str>>) {
        for key in keys {
            let Some((file, document)) = self.files.get(key).zip(self.documents.get(key)) else { continue };
            let Some(kind) = self.projects.get(&file.project).and_then(|project| project.db.kind(key)) else {
                continue;
            };
            if self.statuses.insert(key.clone(), kind) == Some(kind) {
                continue;
            }
            self.outbox.send(Outgoing::Status(status(document.url.clone(), file.configured, kind)));
        }
    }
}

/// What is said of a file that is open.
fn status(uri: Url, configured: bool, kind: FileKind) -> StatusParams {
    let place = if configured { "it is in a manifest folder" } else { "its content is that of one" };
    let (manifest, kind, reason) = match kind {
        FileKind::Manifest => (true, "manifest", place),
        FileKind::Types => (true, "types", place),
        FileKind::Profile => (false, "profile", "it has the keys of a GPU profile"),
        FileKind::Skipped(reason) => (false, "none", reason),
    };
    StatusParams { uri, manifest, kind: kind.to_owned(), reason: reason.to_owned() }
}
