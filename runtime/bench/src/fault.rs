//! Faults on purpose: what tests of the benchmark's own soundness break.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use globset::{Glob, GlobMatcher};
use serde::{Deserialize, Serialize};
use tileops_device::DeviceError;
use tileops_ops::{CheckedCall, Implementation, OpError, Outputs, Run, Tensor};

use crate::machine::Machine;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The outputs are wrong.
    Wrong,
    /// A kernel never ends.
    Hang,
    /// A kernel writes where no memory is; on the CPU, the process is aborted.
    Crash,
    /// The process is aborted.
    Abort,
    /// The process panics.
    Panic,
    /// The process takes 3 s to start.
    SlowStart,
    /// The process does not end when its rows are done.
    Linger,
}

/// A fault in the rows of one op: `wrong:ReluFwdOp:*-float16`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Injection {
    /// What goes wrong.
    pub fault: Fault,
    /// The op.
    pub op: String,
    /// The cases, as a glob.
    pub case: String,
}

impl FromStr for Injection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.splitn(3, ':').collect();
        let [fault, op, case] = parts[..] else { return Err("it is not `FAULT:OP:CASES`".to_owned()) };
        let fault = match fault {
            "wrong" => Fault::Wrong,
            "hang" => Fault::Hang,
            "crash" => Fault::Crash,
            "abort" => Fault::Abort,
            "panic" => Fault::Panic,
            "slow-start" => Fault::SlowStart,
            "linger" => Fault::Linger,
            _ => {
                let all = "`wrong`, `hang`, `crash`, `abort`, `panic`, `slow-start` or `linger`";
                return Err(format!("a fault is {all}"));
            }
        };
        Glob::new(case).map_err(|error| error.to_string())?;
        Ok(Injection { fault, op: op.to_owned(), case: case.to_owned() })
    }
}

impl Injection {
    /// Whether it is of that row.
    pub fn is_of(&self, op: &str, case: &str) -> bool {
        let matches = |matcher: GlobMatcher| matcher.is_match(case);
        self.op == op && Glob::new(&self.case).is_ok_and(|glob| matches(glob.compile_matcher()))
    }
}

/// Runs an op, and then makes a fault happen.
pub struct Faulty {
    /// What runs it.
    pub inner: Arc<dyn Implementation>,
    /// What goes wrong.
    pub fault: Fault,
    /// On which machine.
    pub machine: Arc<dyn Machine>,
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").field("fault", &self.fault).field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl Implementation for Faulty {
    fn run(&self, call: &CheckedCall, run: &mut Run<'_>) -> Result<Outputs, OpError> {
        let outputs = self.inner.run(call, run)?;
        let tensors: Vec<Tensor> = outputs.iter().filter_map(|(_, tensor)| tensor.clone()).collect();
        match self.fault {
            Fault::SlowStart | Fault::Linger => return Ok(outputs),
            Fault::Panic => panic!("a fault on purpose\nin two lines"),
            Fault::Wrong | Fault::Hang | Fault::Crash | Fault::Abort => {}
        }
        let failed = |error: anyhow::Error| match error.downcast::<DeviceError>() {
            Ok(error) => OpError::failed(call.op(), error),
            Err(error) => OpError::Implementation { op: call.op(), message: format!("{error:#}") },
        };
        self.machine.fail(self.fault, &tensors).map_err(failed)?;
        Ok(outputs)
    }
}
