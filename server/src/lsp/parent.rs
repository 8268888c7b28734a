//! The process that started the server: without it, nobody would ever end the server.

use std::time::Duration;

/// How often the process is looked for.
const EVERY: Duration = Duration::from_secs(1);

/// Looks for a process.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    id: Option<u32>,
    /// Whether it is the very process that started this one, which the system then says.
    direct: bool,
}

impl Watch {
    /// Looks for the process with an id, as the client gives it.
    pub(crate) fn of(id: u32) -> Self {
        Watch { id: Some(id), direct: parent_id() == Some(id) }
    }

    /// Comes to an end when the process is gone; never where that cannot be known.
    pub(crate) async fn vanished(&self) {
        let Some(id) = self.id else { return std::future::pending().await };
        loop {
            tokio::time::sleep(EVERY).await;
            if (self.direct && parent_id() != Some(id)) || is_gone(id) {
                return;
            }
        }
    }
}

#[cfg(unix)]
fn parent_id() -> Option<u32> {
    Some(std::os::unix::process::parent_id())
}

#[cfg(not(unix))]
fn parent_id() -> Option<u32> {
    None
}

/// Whether a process is known to be gone. Where the system has no files about processes, nothing is known.
fn is_gone(id: u32) -> bool {
    if !std::path::Path::new("/proc/self/stat").exists() {
        return false;
    }
    match std::fs::read_to_string(format!("/proc/{id}/stat")) {
        // The state stands behind the name, which is in parentheses and may itself have some.
        Ok(stat) => stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ended_is_gone_even_before_anyone_asks_how() {
        assert!(!is_gone(std::process::id()));
        let mut child = std::process::Command::new("true").spawn().expect("a process");
        let id = child.id();
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        while !is_gone(id) {
            assert!(std::time::Instant::now() < deadline, "the process is still there");
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait().expect("it ended");
        assert!(is_gone(id));
    }
}
