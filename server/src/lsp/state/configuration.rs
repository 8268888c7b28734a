//! Settings and configuration files, and what places mean by them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tileops_analyzer::db::{AnalysisDb, FileText};
use tower_lsp::lsp_types::Url;

use super::super::load;
use super::super::outbox::{Outgoing, Refresh};
use super::super::records::Places;
use super::super::session;
use super::super::settings::Settings;
use super::super::snapshot::{File, Project};
use super::super::uris;
use super::State;
use crate::config::{Config, Configs, FILE_NAME};
use crate::formulas;
use crate::source::Source;

impl State {
    /// Whether a file is part of a manifest by its place, and the project that it is in.
    pub(super) fn place(&mut self, uri: &Url) -> (bool, PathBuf) {
        let Some(path) = uris::path(uri) else {
            let config = Arc::new(Config::without_file(Path::new("")));
            return (false, self.project(config));
        };
        let folder = path.parent().unwrap_or(&path).to_path_buf();
        let config = self.config_of(&folder);
        (config.holds(&path), self.project(config))
    }

    /// The configuration that holds in a folder.
    pub(super) fn config_of(&mut self, folder: &Path) -> Arc<Config> {
        if let Some(config) = self.configs.of(folder) {
            return config;
        }
        let root = session::root_of(&self.roots, folder).map_or(folder, PathBuf::as_path);
        let mut config = Config::without_file(root);
        if let Some(manifest) = &self.settings.manifest {
            config.manifest = manifest.clone();
        }
        Arc::new(config)
    }

    /// The project of a configuration: a new one where there is none yet.
    pub(super) fn project(&mut self, config: Arc<Config>) -> PathBuf {
        let root = config.root.clone();
        if !self.projects.contains_key(&root) {
            let mut problems = Vec::new();
            let mut db = AnalysisDb::default();
            let known = formulas::read(&config, &mut problems);
            db.set_formulas(known.formulas);
            db.set_formula_places(known.places);
            for problem in problems {
                self.warn(&format!("cannot read `{}`: {}", problem.path, problem.message));
            }
            self.projects.insert(root.clone(), Project { config, db, records: Arc::default() });
            self.read_records(&root);
            self.say_config_notes();
        }
        root
    }

    pub(super) fn set(&mut self, value: &Value) {
        let mut warnings = Vec::new();
        let settings = Settings::read(value, &mut warnings);
        for warning in warnings {
            self.warn(&warning);
        }
        if settings == *self.settings {
            return;
        }
        let before = &self.settings;
        let places = settings.manifest != before.manifest || settings.workspace != before.workspace;
        let records = settings.records != before.records || settings.profile != before.profile;
        self.settings = Arc::new(settings);
        if places {
            self.reconfigure();
        } else {
            self.advance();
            self.judge_everything();
        }
        if records && !places {
            let projects: Vec<PathBuf> = self.projects.keys().cloned().collect();
            projects.iter().for_each(|project| self.read_records(project));
            self.watch();
        }
        self.refresh_hints();
        if self.session.can.refresh_lenses {
            self.outbox.send(Outgoing::Refresh(Refresh::Lenses));
        }
    }

    pub(super) fn say_config_notes(&mut self) {
        let notes = std::mem::take(&mut self.configs.notes);
        for note in notes {
            let line = note.source.lines().line(note.range.start()) + 1;
            let help = note.help.map_or_else(String::new, |help| format!("; {help}"));
            self.warn(&format!("{}:{line}: {}{help}", note.source.path, note.message));
        }
        for (path, message) in std::mem::take(&mut self.configs.unreadable) {
            self.warn(&format!("cannot read `{}`: {message}", path.display()));
        }
    }

    /// Begins anew with what is on disk and in the client's documents: what places mean has changed.
    pub(super) fn reconfigure(&mut self) {
        self.advance();
        self.flush();
        self.configs = Configs::default();
        self.projects.clear();
        self.listed.clear();
        self.known_folders.clear();
        self.partly_known = Arc::default();
        self.background.clear();
        self.statuses.clear();
        self.ties = Arc::default();
        let before = std::mem::take(&mut self.files);
        for (key, file) in before.iter().filter(|(key, _)| !self.documents.contains_key(*key)) {
            // Those that are still part of the workspace are read again.
            self.outbox.publish(key, &file.url, self.revision, None, Vec::new());
        }
        let open: Vec<Url> = self.documents.values().map(|document| document.url.clone()).collect();
        for uri in open {
            if let Some(path) = uris::path(&uri) {
                self.know_folder_of(&path);
            }
            let key = uris::key(&uri);
            let (configured, project) = self.place(&uri);
            let Some(document) = self.documents.get(&key) else { continue };
            let text = document.text();
            let file = File {
                url: uri,
                source: Arc::new(Source::new(key.clone(), text.clone())),
                version: Some(document.version),
                project: project.clone(),
                configured,
                faults: Arc::default(),
                listed: false,
            };
            self.files.insert(key.clone(), file);
            if let Some(project) = self.projects.get_mut(&project) {
                project.db.set_files([FileText { path: key.clone(), text, configured, open: true }]);
            }
            self.dirty.insert(key);
        }
        self.list_workspace();
        self.watch();
        self.refresh = true;
    }

    /// Asks the client to say what happens to the files that matter.
    pub(super) fn watch(&mut self) {
        if !self.session.can.register_watchers {
            return;
        }
        let mut folders: Vec<PathBuf> = self.listed.iter().cloned().collect();
        let mut globs = vec![format!("**/{FILE_NAME}")];
        for project in self.projects.values() {
            for source in formulas::sources(&project.config) {
                globs.push(format!("{}/**/*.{{py,rs}}", uris::path_key(&source)));
                globs.push(uris::path_key(&source).to_string());
            }
            globs.extend(Places::of(&project.config, &self.settings).globs());
        }
        folders.retain(|folder| folder.is_absolute());
        globs.extend(folders.iter().map(|folder| format!("{}/**/*.{{yaml,yml}}", uris::path_key(folder))));
        self.outbox.send(Outgoing::Watch(load::watchers(globs)));
    }
}
