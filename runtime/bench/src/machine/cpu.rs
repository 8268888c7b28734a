//! The CPU: ops run by their references.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use tileops_device::Reading;
use tileops_ops::{CheckedCall, Implementation, Tensor};
use tileops_record::Device;
use tileops_reference::{Cpu, Host as Elements};

use super::{Clock, Machine, Sample, elements};
use crate::fault::Fault;
use crate::inputs::Recipe;

/// The CPU.
#[derive(Debug, Clone, Copy)]
pub struct Host;

fn host(tensor: &Tensor) -> Result<&Elements> {
    let storage = tensor.storage.as_ref().and_then(|storage| storage.as_any().downcast_ref());
    storage.with_context(|| format!("{tensor} is not in the host's memory"))
}

impl Machine for Host {
    fn describe(&self) -> Device {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        Device { name: model.map_or("CPU", |(_, name)| name.trim()).into(), ..Device::default() }
    }

    fn clock(&self) -> Clock {
        let reason = Some("the reference ran it, on the CPU".to_owned());
        Clock { source: "cpu", reason, l2: "as the call before left it".to_owned(), unread: None }
    }

    fn implementation(&self, op: &str) -> Option<Arc<dyn Implementation>> {
        Some(Arc::new(Cpu(tileops_reference::of(op)?)))
    }

    fn compile(&self, _: &CheckedCall) -> Result<()> {
        Ok(())
    }

    fn rotation(&self) -> (usize, usize) {
        (0, usize::MAX)
    }

    fn make(&self, described: &Tensor, recipe: &Recipe) -> Result<Tensor> {
        let bytes = recipe.bytes(described.dtype, elements(described)?);
        Ok(described.clone().with_storage(Elements::new(bytes)))
    }

    fn renew(&self, tensor: &Tensor, recipe: &Recipe) -> Result<()> {
        *host(tensor)?.write() = recipe.bytes(tensor.dtype, elements(tensor)?);
        Ok(())
    }

    fn read(&self, tensor: &Tensor) -> Result<Vec<u8>> {
        Ok(host(tensor)?.read().clone())
    }

    fn poison(&self, _: &[Tensor], _: &[Tensor]) -> Result<()> {
        // Memory for outputs is new, and zero.
        Ok(())
    }

    fn past(&self, _: &Tensor) -> Result<Vec<u8>> {
        // Memory ends with its tensor.
        Ok(Vec::new())
    }

    fn fail(&self, fault: Fault, outputs: &[Tensor]) -> Result<()> {
        match fault {
            Fault::Wrong => outputs.iter().try_for_each(|output| {
                host(output)?.write().fill(0x3f);
                Ok(())
            }),
            Fault::Hang => loop {
                std::thread::park();
            },
            Fault::Crash | Fault::Abort => std::process::abort(),
            Fault::Panic | Fault::SlowStart | Fault::Linger => Ok(()),
        }
    }

    fn reading(&self) -> Option<Reading> {
        None
    }

    fn sample(
        &self,
        count: usize,
        renew: &mut dyn FnMut(usize) -> Result<()>,
        call: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<(Vec<Sample>, Option<Reading>)> {
        let mut samples = Vec::with_capacity(count);
        for number in 0..count {
            renew(number)?;
            let start = Instant::now();
            call(number)?;
            let busy = start.elapsed().as_secs_f64() * 1e9;
            samples.push(Sample { busy, elapsed: busy, ..Sample::default() });
        }
        Ok((samples, None))
    }
}
