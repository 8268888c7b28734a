//! Addresses and the keys that files are known by. Nothing is assumed of an address: a client may invent schemes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tower_lsp::lsp_types::Url;

use crate::discover::normalized;

/// The path of a file's address; nothing for any other address.
pub(crate) fn path(uri: &Url) -> Option<PathBuf> {
    (uri.scheme() == "file").then(|| uri.to_file_path().ok()).flatten().map(|path| normalized(&path))
}

/// The key of an address: a file's path with `/`, however the client escapes it; any other address as it is.
pub(crate) fn key(uri: &Url) -> Arc<str> {
    match path(uri) {
        Some(path) => path_key(&path),
        None => uri.as_str().into(),
    }
}

/// The key of a path.
pub(crate) fn path_key(path: &Path) -> Arc<str> {
    path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/").into()
}

/// The address of a path; nothing for one that is not absolute.
pub(crate) fn of_path(path: &Path) -> Option<Url> {
    Url::from_file_path(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_file_have_one_key() {
        let key_of = |uri: &str| key(&Url::parse(uri).expect("a URL"));
        assert_eq!(&*key_of("file:///a/b%20c/d.yaml"), "/a/b c/d.yaml");
        assert_eq!(key_of("file:///a/%62/./c.yaml"), key_of("file:///a/b/c.yaml"));
    }

    #[test]
    fn odd_addresses_are_keys_of_their_own() {
        for odd in ["untitled:Untitled-1", "git:/a/b.yaml?x=1", "vscode-notebook-cell:x#y", "file://host/a.yaml", "x:"]
        {
            let url = Url::parse(odd).expect("a URL");
            assert!(!key(&url).is_empty(), "{odd}");
        }
    }
}
