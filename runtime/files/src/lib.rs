//! Files that are put in their place whole: no reader ever sees half of one, and what ends the program leaves the old one.

use std::io::{Result, Write as _};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// A file of `folder` with these contents, on the disk, which has no place yet: `persist` gives it one. Who may read it is
/// what any other new file says, not what a temporary one does.
pub fn stage(folder: &Path, contents: &[u8]) -> Result<NamedTempFile> {
    let mut builder = Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The process's mask is applied to it.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(contents)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Puts `contents` in the place of the file at `path`, whole or not at all.
pub fn replace(path: &Path, contents: &[u8]) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    stage(folder, contents)?.persist(path).map_err(|error| error.error)?;
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
            assert_eq!(std::fs::read_to_string(&path).expect("it can be read"), contents);
        }
        drop(stage(folder.path(), b"never placed").expect("it is written"));
        assert_eq!(std::fs::read_dir(folder.path()).expect("it can be listed").count(), 1);
        assert!(replace(&folder.path().join("none/a.txt"), b"").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn who_may_read_it_is_as_of_any_new_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder can be made");
        let mode = |name: &str| std::fs::metadata(folder.path().join(name)).expect("it is there").permissions().mode();
        std::fs::write(folder.path().join("plain"), "").expect("it is written");
        replace(&folder.path().join("placed"), b"").expect("it is written");
        assert_eq!(mode("placed"), mode("plain"));
    }
}
