//! Files that are put in their place whole: no reader ever sees half of one, and what ends the program leaves the old one.

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Result, Write as _};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// The mode of a file that says nothing of its own: the process's mask is applied to it.
const ANY: u32 = 0o666;
/// The mode of a file that only its owner reads.
const OWN: u32 = 0o600;

/// A file of `folder` with these contents, on the disk, which has no place yet: `persist` gives it one. Who may read it is
/// what any other new file says, not what a temporary one does.
pub fn stage(folder: &Path, contents: &[u8]) -> Result<NamedTempFile> {
    let mut file = new_file(folder, ANY)?;
    file.write_all(contents)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// An empty file of `folder` with this mode.
fn new_file(folder: &Path, mode: u32) -> Result<NamedTempFile> {
    let mut builder = Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = mode;
    builder.tempfile_in(folder).map_err(plain)
}

/// What the operating system said, without the temporary name, which tells nobody anything.
fn plain(error: Error) -> Error {
    match error.to_string().split_once(" at path ") {
        Some((said, _)) => Error::new(error.kind(), said),
        None => error,
    }
}

/// Puts `contents` in the place of the file at `path`, whole or not at all. Whose a file that is there is, and who may read
/// and write it, stays, and a symbolic link stays one: what it leads to is replaced. What is no regular file (a terminal, a
/// pipe), or is open already under the name of a descriptor (`/dev/stdout`), is written to; and so is a file whose owner or
/// group this process cannot give to the one that would replace it, or whose folder takes no other.
pub fn replace(path: &Path, contents: &[u8]) -> Result<()> {
    replace_with(path, |file| file.write_all(contents))
}

/// As [`replace`], of the contents that `write` writes. Until it has, the old ones can be read.
pub fn replace_with(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    // Whoever has it open would go on in a file that has no name any more.
    if is_descriptor(path) {
        return write(&mut File::create(path)?);
    }
    let target = match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => match fs::canonicalize(path) {
            Ok(target) => target,
            // It leads nowhere yet: whoever follows it makes what it leads to.
            Err(_) => return write(&mut File::create(path)?),
        },
        _ => path.to_owned(),
    };
    let there = fs::metadata(&target).ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        return write(&mut File::create(target)?);
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Nobody reads meanwhile what is not for him.
    let mut file = match (new_file(folder, if there.is_some() { OWN } else { ANY }), &there) {
        (Err(error), Some(_)) if error.kind() == ErrorKind::PermissionDenied => {
            return write(&mut File::create(target)?);
        }
        (file, _) => file?,
    };
    if there.as_ref().is_some_and(|there| keep_owner(&file, there).is_err()) {
        return write(&mut File::create(target)?);
    }
    write(file.as_file_mut())?;
    if let Some(there) = there {
        file.as_file().set_permissions(there.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(target).map_err(|error| error.error)?;
    Ok(())
}

fn is_descriptor(path: &Path) -> bool {
    ["/dev", "/proc"].iter().any(|of_descriptors| path.starts_with(of_descriptors))
}

/// Fails where [`replace`] would, for a reason that is known before there is anything to write: a folder that is not there, or
/// that takes no file. What is at `path` stays as it is.
pub fn can_replace(path: &Path) -> Result<()> {
    let folder_of = |path: &Path| match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => folder.to_owned(),
        None => ".".into(),
    };
    if is_descriptor(path) {
        return Ok(());
    }
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(Error::new(ErrorKind::IsADirectory, "it is a folder")),
        // To open a pipe would be to wait for whoever reads it.
        Ok(there) if !there.is_file() => Ok(()),
        Ok(_) => {
            let target = fs::canonicalize(path)?;
            match new_file(&folder_of(&target), OWN) {
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    File::options().write(true).open(target).map(drop)
                }
                made => made.map(drop),
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // A link that leads nowhere yet is followed.
            let target = fs::read_link(path).map_or_else(|_| path.to_owned(), |to| folder_of(path).join(to));
            new_file(&folder_of(&target), ANY).map(drop)
        }
        Err(error) => Err(error),
    }
}

/// Makes `file` his and his group's whose `there` is.
#[cfg(unix)]
fn keep_owner(file: &NamedTempFile, there: &fs::Metadata) -> Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let own = file.as_file().metadata()?;
    let changed = |own: u32, due: u32| (own != due).then_some(due);
    match (changed(own.uid(), there.uid()), changed(own.gid(), there.gid())) {
        (None, None) => Ok(()),
        (owner, group) => fchown(file.as_file(), owner, group),
    }
}

#[cfg(not(unix))]
fn keep_owner(_: &NamedTempFile, _: &fs::Metadata) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("a.txt");
        for contents in ["first", "second"] {
            replace(&path, contents.as_bytes()).expect("it is written");
            assert_eq!(fs::read_to_string(&path).expect("it can be read"), contents);
        }
        drop(stage(folder.path(), b"never placed").expect("it is written"));
        assert_eq!(fs::read_dir(folder.path()).expect("it can be listed").count(), 1);
        let error = replace(&folder.path().join("none/a.txt"), b"").expect_err("there is no such folder");
        assert!(error.kind() == std::io::ErrorKind::NotFound && !error.to_string().contains(".tmp"), "{error}");
        replace(folder.path(), b"").expect_err("a folder is not written to");
        let read = |_: &mut File| {
            assert_eq!(fs::read_to_string(&path)?, "second");
            Err(Error::other("halfway"))
        };
        replace_with(&path, read).expect_err("it was not written");
        assert_eq!(fs::read_to_string(&path).expect("it can be read"), "second");
        assert_eq!(fs::read_dir(folder.path()).expect("it can be listed").count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("a.txt");
        can_replace(&path).expect("it can be made");
        fs::write(&path, "old").expect("it is written");
        can_replace(&path).expect("it can be replaced");
        assert_eq!(fs::read_to_string(&path).expect("it can be read"), "old");
        assert_eq!(fs::read_dir(folder.path()).expect("it can be listed").count(), 1, "nothing is left beside it");
        let error = can_replace(&folder.path().join("none/a.txt")).expect_err("there is no such folder");
        assert!(error.kind() == ErrorKind::NotFound && !error.to_string().contains(".tmp"), "{error}");
        can_replace(folder.path()).expect_err("a folder is not written to");
        can_replace(&path.join("b.txt")).expect_err("a file holds no file");
        #[cfg(unix)]
        {
            can_replace(Path::new("/dev/null")).expect("it is written to");
            let link = folder.path().join("link");
            std::os::unix::fs::symlink("none/b.txt", &link).expect("it is made");
            can_replace(&link).expect_err("it leads to a folder that is not there");
        }
    }

    #[cfg(unix)]
    #[test]
    fn who_may_read_it_is_as_of_any_new_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder can be made");
        let mode = |name: &str| fs::metadata(folder.path().join(name)).expect("it is there").permissions().mode();
        fs::write(folder.path().join("plain"), "").expect("it is written");
        replace(&folder.path().join("placed"), b"").expect("it is written");
        assert_eq!(mode("placed"), mode("plain"));
        for bits in [0o600, 0o755, 0o444] {
            let own = fs::Permissions::from_mode(bits);
            fs::set_permissions(folder.path().join("placed"), own).expect("they can be set");
            replace(&folder.path().join("placed"), b"new").expect("it is written");
            assert_eq!(mode("placed") & 0o777, bits);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_open_is_written_to_under_the_name_of_its_descriptor() {
        use std::os::fd::AsRawFd as _;
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("redirected");
        let mut open = File::options().append(true).create(true).open(&path).expect("it can be made");
        let name = format!("/proc/self/fd/{}", open.as_raw_fd());
        replace(Path::new(&name), b"a report, ").expect("it is written");
        open.write_all(b"and what is said behind it").expect("it is open");
        let whole = fs::read_to_string(&path).expect("it can be read");
        assert_eq!(whole, "a report, and what is said behind it");
    }

    #[cfg(unix)]
    #[test]
    fn whose_a_file_is_stays() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("theirs");
        fs::write(&path, "old").expect("it is written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("they can be set");
        // Only the superuser can give a file away; of any other the file's owner is who replaces it.
        let _ = chown(&path, Some(12_345), Some(54_321));
        let whose =
            || fs::metadata(&path).map(|file| (file.uid(), file.gid(), file.mode() & 0o777)).expect("it is there");
        let before = whose();
        replace(&path, b"new").expect("it is written");
        assert_eq!((whose(), fs::read_to_string(&path).expect("it can be read")), (before, "new".to_owned()));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_what_it_leads_to_is_replaced() {
        use std::os::unix::fs::{MetadataExt as _, symlink};
        let folder = tempfile::tempdir().expect("a folder can be made");
        let (file, link) = (folder.path().join("deep/a.txt"), folder.path().join("link"));
        fs::create_dir(folder.path().join("deep")).expect("it is made");
        symlink("deep/a.txt", &link).expect("it is made");
        // It leads nowhere at first.
        let mut places = Vec::new();
        for contents in ["first", "second"] {
            replace(&link, contents.as_bytes()).expect("it is written");
            assert_eq!(fs::read_link(&link).expect("a link"), Path::new("deep/a.txt"));
            assert_eq!(fs::read_to_string(&file).expect("it can be read"), contents);
            places.push(fs::metadata(&file).expect("it is there").ino());
        }
        // Whoever reads the first reads the whole of it.
        assert_ne!(places[0], places[1]);
        assert_eq!(fs::read_dir(folder.path().join("deep")).expect("it can be listed").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_written_to() {
        use std::io::Read as _;
        replace(Path::new("/dev/null"), b"nothing").expect("it is written");
        assert!(!fs::metadata("/dev/null").expect("it is there").is_file());
        // A process's open pipe is a link that leads to no path.
        let (read, write) = std::io::pipe().expect("a pipe");
        let place = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&write));
        if Path::new(&place).exists() {
            replace(Path::new(&place), b"through").expect("it is written");
            drop(write);
            let mut said = String::new();
            { read }.read_to_string(&mut said).expect("it can be read");
            assert_eq!(said, "through");
        }
    }
}
