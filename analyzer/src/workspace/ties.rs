//! What ties a file to the others of its manifest, so that a change of one re-judges exactly those that it touches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::file::{Types, folder};
use crate::text::TextRange;

/// What a file has to do with the others of its manifest. Ranges are file offsets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ties {
    /// The ops that it declares, each with the places of their names. An entry whose name cannot be read has an empty one.
    pub declares: BTreeMap<Arc<str>, Vec<TextRange>>,
    /// The ops that its stages run.
    pub runs: BTreeSet<Arc<str>>,
    /// The types of `types.yaml` that it names, declared there or not.
    pub types: BTreeSet<Arc<str>>,
    /// The types whose places its defects name.
    pub places: BTreeSet<Arc<str>>,
}

/// The ties of many files.
#[derive(Debug, Default)]
pub struct TieIndex {
    folders: BTreeMap<Arc<str>, Manifest>,
}

/// Paths by what they have to do with a name.
type ByName = BTreeMap<Arc<str>, BTreeSet<Arc<str>>>;

#[derive(Debug, Default)]
struct Manifest {
    files: BTreeMap<Arc<str>, Ties>,
    declared: ByName,
    run: ByName,
    named: ByName,
    placed: ByName,
    types: Option<(Arc<str>, Arc<Types>)>,
}

/// The files that a change touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// The files, in the order of their paths; the changed file is not among them.
    pub files: BTreeSet<Arc<str>>,
    /// Whether something was known of the changed file before. Where not, and it is not new, others may be touched by what
    /// it had.
    pub was_known: bool,
}

impl TieIndex {
    /// Replaces what is known of the file at `path`; `ties` is nothing for a file that is gone. `types` is the folder's
    /// types file now. Says which other files' verdicts that can change.
    pub fn update(&mut self, path: &Arc<str>, ties: Option<Ties>, types: Option<(Arc<str>, Arc<Types>)>) -> Touched {
        let manifest = match self.folders.get_mut(folder(path)) {
            Some(manifest) => manifest,
            None => self.folders.entry(folder(path).into()).or_default(),
        };
        let mut touched = BTreeSet::new();
        manifest.retype(types, &mut touched);
        let was_known = manifest.files.contains_key(path);
        manifest.retie(path, ties, &mut touched);
        if manifest.files.is_empty() {
            self.folders.remove(folder(path));
        }
        touched.remove(path);
        Touched { files: touched, was_known }
    }
}

impl Manifest {
    /// Touches those that name a type that has changed, and those that point at one that has moved.
    fn retype(&mut self, types: Option<(Arc<str>, Arc<Types>)>, touched: &mut BTreeSet<Arc<str>>) {
        let same = match (&self.types, &types) {
            (Some((old_path, old)), Some((path, new))) => old_path == path && Arc::ptr_eq(old, new),
            (None, None) => true,
            _ => false,
        };
        if same {
            return;
        }
        let nothing = Arc::new(Types::default());
        let parts = |types: &Option<(Arc<str>, Arc<Types>)>| match types {
            Some((path, types)) => (Some(path.clone()), types.clone(), types.table.complete),
            None => (None, nothing.clone(), true),
        };
        let (old_path, old, was_complete) = parts(&self.types);
        let (new_path, new, is_complete) = parts(&types);
        let names = |types: &Types| -> BTreeSet<Arc<str>> { types.table.iter().map(|adt| adt.name.clone()).collect() };
        let (old_names, new_names) = (names(&old), names(&new));
        for name in old_names.union(&new_names) {
            if old.table.get(name) != new.table.get(name) {
                touched.extend(self.named.get(name).into_iter().flatten().cloned());
            }
        }
        // Of two types files in a folder one is read.
        if old_path != new_path {
            touched.extend([&old_path, &new_path].into_iter().flatten().cloned());
        }
        // What says that a type is not there says which ones are.
        if old_names != new_names || was_complete != is_complete {
            let unresolved =
                self.named.iter().filter(|(name, _)| !old_names.contains(*name) || !new_names.contains(*name));
            touched.extend(unresolved.flat_map(|(_, files)| files).cloned());
        }
        let place =
            |types: &Types, name: &str| types.places.iter().find(|(adt, _)| **adt == *name).map(|(_, range)| *range);
        for (name, files) in &self.placed {
            if old_path != new_path || place(&old, name) != place(&new, name) {
                touched.extend(files.iter().cloned());
            }
        }
        self.types = types;
    }

    /// Touches those that declare the same op, and those that run one that is new or gone.
    fn retie(&mut self, path: &Arc<str>, ties: Option<Ties>, touched: &mut BTreeSet<Arc<str>>) {
        let unnamed = self.declared.contains_key("");
        let old = self.files.remove(path).unwrap_or_default();
        let new = ties.clone().unwrap_or_default();
        let mut renamed = false;
        let all: BTreeSet<&Arc<str>> = old.declares.keys().chain(new.declares.keys()).collect();
        for name in all {
            let (before, after) = (old.declares.get(name), new.declares.get(name));
            if before == after {
                continue;
            }
            if !name.is_empty() {
                touched.extend(self.declared.get(name).into_iter().flatten().cloned());
            }
            if before.is_none() || after.is_none() {
                touched.extend(self.run.get(name).into_iter().flatten().cloned());
                renamed = true;
            }
        }
        replace(&mut self.declared, path, old.declares.keys(), new.declares.keys());
        replace(&mut self.run, path, &old.runs, &new.runs);
        replace(&mut self.named, path, &old.types, &new.types);
        replace(&mut self.placed, path, &old.places, &new.places);
        // What says that an op is not there names near ones, and says nothing where a name cannot be read.
        if renamed || unnamed != self.declared.contains_key("") {
            let unresolved = self.run.iter().filter(|(name, _)| !self.declared.contains_key(*name));
            touched.extend(unresolved.flat_map(|(_, files)| files).cloned());
        }
        if let Some(ties) = ties {
            self.files.insert(path.clone(), ties);
        }
    }
}

fn replace<'n>(
    index: &mut ByName,
    path: &Arc<str>,
    old: impl IntoIterator<Item = &'n Arc<str>>,
    new: impl IntoIterator<Item = &'n Arc<str>>,
) {
    let old: BTreeSet<&Arc<str>> = old.into_iter().collect();
    let new: BTreeSet<&Arc<str>> = new.into_iter().collect();
    for name in old.difference(&new) {
        if let Some(files) = index.get_mut(*name) {
            files.remove(path);
            if files.is_empty() {
                index.remove(*name);
            }
        }
    }
    for name in new.difference(&old) {
        index.entry((*name).clone()).or_default().insert(path.clone());
    }
}
