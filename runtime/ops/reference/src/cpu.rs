//! The reference as what runs an op: all units, on all cores.

use std::sync::Arc;

use rayon::prelude::*;
use tileops_ops::{CheckedCall, Implementation, OpError, Outputs, Run, Storage, Tensor};

use crate::host::{Host, View};
use crate::units::{Inputs, Place, Reference, Sink};

/// Runs the calls of one op by its reference. Its tensors' elements are [`Host`]s.
#[derive(Debug, Clone, Copy)]
pub struct Cpu(pub &'static Reference);

impl Implementation for Cpu {
    fn run(&self, call: &CheckedCall, run: &mut Run<'_>) -> Result<Outputs, OpError> {
        let refuse = |message: String| OpError::Implementation { op: call.op(), message };
        // What a call mutates it reads as it was before.
        let mut held: Vec<(&'static str, &Tensor, Vec<u8>)> = Vec::new();
        for (name, _) in call.inputs() {
            if let Some(tensor) = run.tensor(name) {
                let bytes = host(tensor).ok_or_else(|| refuse(format!("`{name}` is not in the host's memory")))?;
                held.push((name, tensor, bytes.read().clone()));
            }
        }
        let views =
            held.iter().map(|(name, tensor, bytes)| (*name, View { dtype: tensor.dtype, shape: &tensor.shape, bytes }));
        let inputs = Inputs::new(views.collect());
        let units = (self.0.prepare)(call, &inputs)?;
        let targets = units.targets();
        let mut written = Vec::new();
        for target in &targets {
            let tensor = match target.place {
                Place::Output => output(call, target.name)?,
                Place::In(of) => within(call, run, target.name, of)?,
                Place::Input => {
                    run.tensor(target.name).cloned().ok_or_else(|| refuse(format!("no `{}`", target.name)))?
                }
            };
            written.push(tensor);
        }
        if let Some(out) = run.out().filter(|out| out.storage.is_some()) {
            let buffered =
                written.iter_mut().zip(&targets).find(|(t, target)| target.place == Place::Output && t.is_alike(out));
            if let Some((tensor, _)) = buffered {
                *tensor = out.clone();
            }
        }
        let hosts: Vec<&Host> = written.iter().filter_map(host).collect();
        if hosts.len() != targets.len() {
            return Err(refuse("what it writes is not in the host's memory".to_owned()));
        }
        // Small units are taken many at a time, so that a thread's work outweighs its hand-over.
        let together = 1 + 4096 / units.cost().max(1);
        (0..units.count()).into_par_iter().with_min_len(together).for_each_init(Sink::new, |sink, unit| {
            sink.clear();
            units.compute(unit, sink);
            for (at, (tensor, host)) in written.iter().zip(&hosts).enumerate() {
                let mut buffer = host.write();
                sink.store(at, tensor.dtype, |place, bytes| {
                    buffer[place * bytes.len()..(place + 1) * bytes.len()].copy_from_slice(bytes);
                });
            }
        });
        let outputs = call.outputs().iter().map(|(name, due)| {
            let at = targets.iter().position(|target| target.name == *name && target.place != Place::Input);
            (*name, due.as_ref().and_then(|_| Some(written[at?].clone())))
        });
        Ok(outputs.collect())
    }
}

fn host(tensor: &Tensor) -> Option<&Host> {
    tensor.storage.as_ref()?.as_any().downcast_ref()
}

fn output(call: &CheckedCall, name: &str) -> Result<Tensor, OpError> {
    let described = call.tensor(name)?.described();
    let bytes = usize::try_from(described.nbytes()?).unwrap_or(usize::MAX);
    let storage: Arc<dyn Storage> = Host::new(vec![0; bytes]);
    Ok(described.with_storage(storage))
}

fn within(call: &CheckedCall, run: &Run<'_>, name: &str, of: &str) -> Result<Tensor, OpError> {
    let described = call.tensor(name)?.described();
    match run.tensor(of).and_then(|tensor| tensor.storage.clone()) {
        Some(storage) => Ok(described.with_storage(storage)),
        None => Err(OpError::Implementation {
            op: call.op(),
            message: format!("`{name}` is in `{of}`, which has no elements"),
        }),
    }
}
