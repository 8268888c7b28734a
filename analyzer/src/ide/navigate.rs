//! From a name to its declaration, to its uses, and to another name.

use std::sync::Arc;

use super::mentions::{Mention, Subject, mention_at, mentions};
use super::site::Site;
use super::{Edit, FileEdits};
use crate::db::AnalysisDb;
use crate::defect::Place;
use crate::lang::DType;
use crate::lang::builtins;
use crate::text::{TextRange, TextSize};
use crate::workspace::FileKind;

/// Characters of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file's path.
    pub path: Arc<str>,
    /// The characters.
    pub range: TextRange,
}

/// Where a name is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The name that was asked about, in its file.
    pub origin: TextRange,
    /// Its declarations.
    pub targets: Vec<Location>,
}

/// A use of a name in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Highlight {
    /// Where it stands.
    pub range: TextRange,
    /// Whether the name is declared there.
    pub declares: bool,
}

/// Where what stands at `offset` is declared.
pub fn definition(db: &AnalysisDb, path: &str, offset: TextSize) -> Option<Definition> {
    let site = Site::at(db, path, offset)?;
    let found = mentions(&site);
    let mention = mention_at(&found, site.local(offset))?;
    let origin = site.global(mention.range);
    let targets: Vec<Location> = match &mention.subject {
        Subject::Op(name) => db
            .locate(path, &Place::Op(name.to_string(), 0))
            .map(|(path, range)| Location { path, range })
            .into_iter()
            .collect(),
        Subject::Function(path) => {
            let place = db.formula_place(path);
            place.map(|place| Location { path: place.path.clone(), range: place.function.range }).into_iter().collect()
        }
        subject if is_shared(subject) => {
            all(db, path, subject).into_iter().filter(|(_, declares)| *declares).map(|(location, _)| location).collect()
        }
        subject => found
            .iter()
            .filter(|other| other.declares && other.subject == *subject)
            .map(|other| Location { path: site.path.clone(), range: site.global(other.range) })
            .collect(),
    };
    (!targets.is_empty()).then_some(Definition { origin, targets })
}

/// Whether entries share what is named.
fn is_shared(subject: &Subject) -> bool {
    matches!(
        subject,
        Subject::Op(_) | Subject::Adt(_) | Subject::Constructor(..) | Subject::Field(..) | Subject::Function(_)
    )
}

/// Whether a name is one that can be followed at all.
fn has_uses(subject: &Subject) -> bool {
    is_shared(subject)
        || matches!(
            subject,
            Subject::Name(_)
                | Subject::Family(_)
                | Subject::Formal(..)
                | Subject::Local(..)
                | Subject::Out
                | Subject::Builtin(_)
                | Subject::DType(_)
        )
}

/// Every mention of a shared name in the manifest, and whether it declares it.
fn all(db: &AnalysisDb, path: &str, subject: &Subject) -> Vec<(Location, bool)> {
    let word = match subject {
        Subject::Op(name)
        | Subject::Adt(name)
        | Subject::Constructor(_, name)
        | Subject::Field(_, name)
        | Subject::Function(name) => name,
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    if let Subject::Function(path) = subject
        && let Some(place) = db.formula_place(path)
    {
        found.push((Location { path: place.path.clone(), range: place.function.range }, true));
    }
    for path in db.siblings(path) {
        // Most files do not have the word at all.
        if !db.text(&path).is_some_and(|text| text.contains(&**word)) {
            continue;
        }
        for site in Site::all(db, &path) {
            if !site.text().contains(&**word) {
                continue;
            }
            for mention in mentions(&site).iter().filter(|mention| mention.subject == *subject) {
                found.push((Location { path: path.clone(), range: site.global(mention.range) }, mention.declares));
            }
        }
    }
    found
}

/// Every use of what stands at `offset`, its declarations among them where `declarations` says so.
pub fn references(db: &AnalysisDb, path: &str, offset: TextSize, declarations: bool) -> Vec<Location> {
    let Some((_, uses)) = uses(db, path, offset) else { return Vec::new() };
    uses.into_iter().filter(|(_, declares)| declarations || !declares).map(|(location, _)| location).collect()
}

fn uses(db: &AnalysisDb, path: &str, offset: TextSize) -> Option<(Mention, Vec<(Location, bool)>)> {
    let site = Site::at(db, path, offset)?;
    let found = mentions(&site);
    let mention = mention_at(&found, site.local(offset)).filter(|mention| has_uses(&mention.subject))?.clone();
    let uses = if is_shared(&mention.subject) {
        all(db, path, &mention.subject)
    } else {
        let own = found.iter().filter(|other| other.subject == mention.subject);
        let place = |range| Location { path: site.path.clone(), range: site.global(range) };
        own.map(|other| (place(other.range), other.declares)).collect()
    };
    Some((mention, uses))
}

/// The uses of what stands at `offset` in the same file.
pub fn highlights(db: &AnalysisDb, path: &str, offset: TextSize) -> Vec<Highlight> {
    let Some((_, uses)) = uses(db, path, offset) else { return Vec::new() };
    uses.into_iter()
        .filter(|(location, _)| &*location.path == path)
        .map(|(location, declares)| Highlight { range: location.range, declares })
        .collect()
}

/// The name at `offset`, where it can be given another; else why it cannot.
pub fn prepare_rename(db: &AnalysisDb, path: &str, offset: TextSize) -> Result<(TextRange, String), String> {
    let site = Site::at(db, path, offset).ok_or("nothing that has a name stands here")?;
    let found = mentions(&site);
    let mention = mention_at(&found, site.local(offset)).ok_or("nothing that has a name stands here")?;
    let text = site.slice(mention.range).to_owned();
    let refused = |what: &str| Err(format!("`{text}` is {what}, and cannot be renamed"));
    match &mention.subject {
        Subject::Name(_)
        | Subject::Family(_)
        | Subject::Formal(..)
        | Subject::Local(..)
        | Subject::Adt(_)
        | Subject::Constructor(..)
        | Subject::Field(..)
        | Subject::Op(_) => Ok((site.global(mention.range), text)),
        Subject::Key(..) => refused("a key of the manifest language"),
        Subject::Word(..) | Subject::Kind(_) | Subject::Member(_) => refused("a word of the manifest language"),
        Subject::Builtin(_) => refused("a built-in"),
        Subject::DType(_) => refused("a dtype"),
        Subject::Type(_) => refused("a type of Python's"),
        Subject::Literal(_) => refused("a literal that callers pass"),
        Subject::Out => refused("reserved for the caller's buffer"),
        Subject::OpFamily(_) => refused("the name of a file too"),
        Subject::Function(_) => refused("declared in the formula sources"),
        Subject::Unknown(_) => refused("not declared"),
    }
}

/// The edits that give what stands at `offset` another name; else why it cannot have it.
pub fn rename(db: &AnalysisDb, path: &str, offset: TextSize, new: &str) -> Result<Vec<FileEdits>, String> {
    prepare_rename(db, path, offset)?;
    let (mention, uses) = uses(db, path, offset).ok_or("nothing that has a name stands here")?;
    check_name(new)?;
    let site = Site::at(db, path, offset).ok_or("nothing that has a name stands here")?;
    match &mention.subject {
        Subject::Name(_) | Subject::Family(_) => {
            let scope = site.analysis.as_ref().map(|analysis| &analysis.scope);
            if site.slice(mention.range) != new
                && scope.is_some_and(|scope| scope.get(new).is_some() || scope.family(new).is_some())
            {
                return Err(format!("`{new}` is declared in this entry already"));
            }
            if mentions(&site).iter().any(|m| matches!(&m.subject, Subject::Local(name, _) if &**name == new)) {
                return Err(format!("a comprehension's variable is called `{new}` already"));
            }
        }
        Subject::Op(_) if db.ops(path).iter().any(|op| op == new) && site.slice(mention.range) != new => {
            return Err(format!("the manifest has an op `{new}` already"));
        }
        Subject::Adt(_) if site.adts.get(new).is_some() && site.slice(mention.range) != new => {
            return Err(format!("the manifest has a type `{new}` already"));
        }
        _ => {}
    }
    let mut files: Vec<FileEdits> = Vec::new();
    for (location, _) in uses {
        let edit = Edit { range: location.range, text: new.to_owned() };
        match files.iter_mut().find(|file| file.path == location.path) {
            Some(file) if file.edits.iter().any(|other| other.range == edit.range) => {}
            Some(file) => file.edits.push(edit),
            None => files.push(FileEdits { path: location.path, edits: vec![edit] }),
        }
    }
    Ok(files)
}

/// Whether something can have the name.
fn check_name(new: &str) -> Result<(), String> {
    let mut chars = new.chars();
    let is_identifier = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_identifier {
        return Err(format!("`{new}` is not an identifier"));
    }
    let is_word = crate::model::schema::is_python_keyword(new)
        || ["true", "false", "null", "yes", "no", "on", "off", "inf", "out"]
            .contains(&new.to_ascii_lowercase().as_str());
    if is_word {
        return Err(format!("`{new}` has a meaning of its own"));
    }
    if builtins::find(new).is_some() || DType::from_name(new).is_some() {
        return Err(format!("`{new}` is a name of the manifest language"));
    }
    Ok(())
}

/// Whether a file is part of a manifest.
pub(crate) fn is_manifest(db: &AnalysisDb, path: &str) -> bool {
    matches!(db.kind(path), Some(FileKind::Manifest | FileKind::Types))
}
