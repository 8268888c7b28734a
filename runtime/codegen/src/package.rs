//! The package on disk: what is there, and putting another in its place, whole or not at all.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tempfile::NamedTempFile;
use tileops_codegen::{EmittedFile, Target};
use tileops_files::stage;

/// The source files of a folder, as they are.
pub(crate) struct Package {
    folder: PathBuf,
    target: Target,
    /// Their names and contents.
    files: BTreeMap<String, Vec<u8>>,
}

impl Package {
    /// Reads what is in `folder`; nothing where there is none yet.
    pub(crate) fn read(folder: &Path, target: Target) -> Result<Package> {
        let mut files = BTreeMap::new();
        let suffix = format!(".{}", target.extension());
        let package = |files| Package { folder: folder.to_owned(), target, files };
        let listed = match std::fs::read_dir(folder) {
            Ok(listed) => listed,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(package(files)),
            Err(error) => return Err(error).with_context(|| format!("cannot list `{}`", folder.display())),
        };
        for item in listed {
            let path = item.with_context(|| format!("cannot list `{}`", folder.display()))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).filter(|name| name.ends_with(&suffix));
            if let Some(name) = name {
                let text = std::fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
                files.insert(name.to_owned(), text);
            }
        }
        Ok(package(files))
    }

    /// The text of the file called `name`.
    pub(crate) fn text(&self, name: &str) -> Option<std::borrow::Cow<'_, str>> {
        self.files.get(name).map(|text| String::from_utf8_lossy(text))
    }

    /// The files that an earlier manifest had and the one of `files` has not.
    pub(crate) fn gone(&self, files: &[EmittedFile]) -> Vec<String> {
        let ours = |text: &[u8]| text.starts_with(self.target.header().as_bytes());
        let written = |name: &str| files.iter().any(|file| file.path == name);
        let gone = self.files.iter().filter(|(name, text)| ours(text) && !written(name));
        gone.map(|(name, _)| name.clone()).collect()
    }

    /// Puts `files` where they belong, and removes those called `gone`; a file that says the same is not touched. Where
    /// that cannot be done, nothing is changed.
    pub(crate) fn replace(&self, files: &[EmittedFile], gone: &[String]) -> Result<()> {
        let changed: Vec<&EmittedFile> = files
            .iter()
            .filter(|file| self.files.get(&file.path).is_none_or(|text| *text != file.text.as_bytes()))
            .collect();
        let header = self.target.header().as_bytes();
        for file in &changed {
            // An empty `__init__.py` is nobody's work.
            let foreign = self
                .files
                .get(&file.path)
                .is_some_and(|text| !text.starts_with(header) && !text.iter().all(u8::is_ascii_whitespace));
            if foreign {
                bail!(
                    "`{}` was not written by tileops-codegen; move it away or choose another folder",
                    self.folder.join(&file.path).display()
                );
            }
        }
        let made = !self.folder.exists();
        std::fs::create_dir_all(&self.folder).with_context(|| format!("cannot make `{}`", self.folder.display()))?;
        // Every text is on the disk before the first takes its place, which is a move: no reader ever sees half of one.
        let mut staged = Vec::new();
        for file in changed {
            let path = self.folder.join(&file.path);
            staged.push((stage(&self.folder, file.text.as_bytes()).with_context(|| cannot_write(&path))?, file));
        }
        let mut done: Vec<&str> = Vec::new();
        let result = self.exchange(staged, gone, &mut done);
        if result.is_err() {
            for name in done {
                self.restore(name)?;
            }
            if made {
                // Only what this run made, and only while it is empty.
                let _ = std::fs::remove_dir(&self.folder);
            }
        }
        result
    }

    fn exchange<'n>(
        &self,
        staged: Vec<(NamedTempFile, &'n EmittedFile)>,
        gone: &'n [String],
        done: &mut Vec<&'n str>,
    ) -> Result<()> {
        for (temporary, file) in staged {
            let path = self.folder.join(&file.path);
            temporary.persist(&path).map_err(|error| error.error).with_context(|| cannot_write(&path))?;
            done.push(&file.path);
        }
        for name in gone {
            let path = self.folder.join(name);
            std::fs::remove_file(&path).with_context(|| format!("cannot remove `{}`", path.display()))?;
            done.push(name);
        }
        Ok(())
    }

    /// Puts back what was there under `name`.
    fn restore(&self, name: &str) -> Result<()> {
        let path = self.folder.join(name);
        let restored = match self.files.get(name) {
            Some(text) => tileops_files::replace(&path, text),
            None => std::fs::remove_file(&path),
        };
        restored.with_context(|| format!("cannot put back `{}` as it was", path.display()))
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write `{}`", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> EmittedFile {
        EmittedFile { path: path.to_owned(), text: format!("{}{text}", Target::Python.header()) }
    }

    fn listing(folder: &Path) -> BTreeMap<String, String> {
        let items = std::fs::read_dir(folder).expect("the folder can be listed").flatten();
        let text = |path: PathBuf| std::fs::read_to_string(path).expect("a file can be read");
        items.map(|item| (item.file_name().to_string_lossy().into_owned(), text(item.path()))).collect()
    }

    /// The last file has no place to go: those before it are as they were, and so is what would have been removed.
    #[test]
    fn what_fails_halfway_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let first = [file("a.py", "one"), file("gone.py", "")];
        Package::read(folder.path(), Target::Python).expect("read").replace(&first, &[]).expect("written");
        let before = listing(folder.path());
        let package = Package::read(folder.path(), Target::Python).expect("read");
        let next = [file("a.py", "two"), file("b.py", ""), file("missing/c.py", "")];
        let gone = package.gone(&next);
        assert_eq!(gone, ["gone.py"]);
        let error = package.replace(&next, &gone).expect_err("a folder is missing");
        assert!(format!("{error:#}").contains("missing/c.py"), "{error:#}");
        assert_eq!(listing(folder.path()), before);
        package.replace(&next[..2], &gone).expect("written");
        assert_eq!(listing(folder.path()).into_keys().collect::<Vec<_>>(), ["a.py", "b.py"]);
    }

    /// A file of somebody else refuses all of them, also those that come before it.
    #[test]
    fn a_foreign_file_refuses_the_whole() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        std::fs::write(folder.path().join("z.py"), "mine = 1\n").expect("written");
        let before = listing(folder.path());
        let package = Package::read(folder.path(), Target::Python).expect("read");
        assert!(package.replace(&[file("a.py", ""), file("z.py", "")], &[]).is_err());
        assert_eq!(listing(folder.path()), before);
    }
}
