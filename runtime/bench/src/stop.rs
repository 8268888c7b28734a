//! What ends a run early: Ctrl-C, or being told to end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether a run is to end. Whoever waits looks at it now and then.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// From here on a signal ends the run, and a second one the program at once.
    pub fn listen() -> io::Result<Self> {
        let (stop, again) = (Stop::default(), Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM] {
            // Of what is done for a signal, the first looks at what the last one did for the signal before.
            flag::register_conditional_shutdown(signal, 128 + signal, again.clone())?;
            flag::register(signal, again.clone())?;
            flag::register_usize(signal, stop.0.clone(), signal.unsigned_abs() as usize)?;
        }
        Ok(stop)
    }

    /// The number of the signal that came.
    pub fn signal(&self) -> Option<u8> {
        u8::try_from(self.0.load(Ordering::Relaxed)).ok().filter(|&signal| signal > 0)
    }
}
