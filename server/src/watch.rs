//! `--watch`: checks again whenever a file changes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, Result};
use notify::{Event, RecursiveMode, Watcher};

use crate::check::Checker;
use crate::cli::Arguments;
use crate::config::FILE_NAME;
use crate::discover::is_yaml;
use crate::exit::Exit;
use crate::formulas::language;
use crate::notes::Notes;

/// How long the file system is quiet before a check starts: editors write a file in several steps.
const QUIET: Duration = Duration::from_millis(60);

/// Checks now and after every change, until interrupted.
pub(crate) fn run(arguments: &Arguments, notes: &Notes) -> Result<Exit> {
    let checker = Checker::new(arguments)?;
    let (sender, receiver) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // The receiver lives as long as the watcher does; when it does not, nobody is left to tell.
        let _ = sender.send(event);
    })
    .context("cannot watch files")?;
    let mut watched: Vec<PathBuf> = Vec::new();
    loop {
        // What changes while a check runs starts another: everything is watched before it is read.
        for root in &checker.watched()? {
            watch(&mut watcher, &mut watched, root)?;
        }
        checker.check(notes)?;
        notes.note("watching for changes; Ctrl-C ends it");
        // The channel is closed when the watcher is gone, and it is not.
        while let Ok(event) = receiver.recv() {
            if matters(&event) {
                break;
            }
        }
        loop {
            match receiver.recv_timeout(QUIET) {
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Failure),
            }
        }
    }
}

fn watch(watcher: &mut notify::RecommendedWatcher, watched: &mut Vec<PathBuf>, root: &Path) -> Result<()> {
    // An editor may replace a file by another of its name: its folder is what stays.
    let (path, mode) = match root.parent() {
        Some(parent) if !root.is_dir() => (parent, RecursiveMode::NonRecursive),
        _ => (root, RecursiveMode::Recursive),
    };
    if watched.iter().any(|known| known == path) {
        return Ok(());
    }
    if !path.exists() {
        // The check says that it is not there.
        return Ok(());
    }
    watcher.watch(path, mode).with_context(|| format!("cannot watch `{}`", path.display()))?;
    watched.push(path.to_path_buf());
    // A configuration file above says what a check means.
    let above = path.ancestors().find(|folder| folder.join(FILE_NAME).is_file());
    if let Some(folder) = above.filter(|folder| !watched.iter().any(|known| known == folder)) {
        watcher
            .watch(folder, RecursiveMode::NonRecursive)
            .with_context(|| format!("cannot watch `{}`", folder.display()))?;
        watched.push(folder.to_path_buf());
    }
    Ok(())
}

/// Whether an event can change a verdict. Reading a file is an event, too.
fn matters(event: &notify::Result<Event>) -> bool {
    match event {
        Ok(event) => {
            let relevant = |path: &PathBuf| {
                let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
                !hidden
                    && (is_yaml(path)
                        || language(path).is_some()
                        || path.file_name().is_some_and(|name| name == FILE_NAME))
            };
            !event.kind.is_access() && (event.need_rescan() || event.paths.iter().any(relevant))
        }
        // What went wrong may have hidden a change.
        Err(_) => true,
    }
}
