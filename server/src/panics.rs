//! Panics are this program's own bugs: each costs what it was about and nothing else.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

/// Where tests learn what a panic costs, the environment names what is to panic: an entry, or a request.
static INJECTED: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("TILEOPS_LSP_TEST_PANIC").ok());

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps panics from being printed where they happen; [`catch`] gives them to its caller, place included.
pub(crate) fn install() {
    std::panic::set_hook(Box::new(|info| LAST.set(Some(info.to_string()))));
}

/// Runs `action`. A panic in it becomes an error that says what happened.
pub(crate) fn catch<T>(action: impl FnOnce() -> T) -> Result<T, String> {
    // What `action` was changing when it panicked is not looked at again: callers take its result or nothing.
    catch_unwind(AssertUnwindSafe(action)).map_err(|payload| LAST.take().unwrap_or_else(|| describe(&*payload)))
}

/// Panics where the environment asks for a panic in `what`.
pub(crate) fn injected(what: &str) {
    assert!(INJECTED.as_deref() != Some(what), "a deliberate panic");
}

fn describe(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a message".to_owned()
    }
}
