//! A copy whose traffic is known.

use anyhow::{Context as _, Result};
use tileops_device::{Argument, Compiler, Device, Grid};

const SOURCE: &str = r#"
extern "C" __global__ void tileops_audit_copy(uint4* to, const uint4* from, unsigned long long words) {
  unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < words) to[i] = from[i];
}
"#;

/// Copies `bytes` bytes once, in a range that profilers look at.
pub(crate) fn run(number: usize, bytes: usize) -> Result<()> {
    let device = Device::open(number).with_context(|| format!("cannot use cuda:{number}"))?;
    let compiled = Compiler::new(device.facts().architecture()).compile("copy.cu", SOURCE)?;
    let kernel = device.load(&compiled)?.kernel("tileops_audit_copy")?;
    let (from, to) = (device.allocate(bytes)?, device.allocate(bytes)?);
    from.fill(1)?;
    let words = bytes / 16;
    let grid = Grid::row(u32::try_from(words.div_ceil(256))?, 256);
    let arguments = [Argument::Buffer(&to), Argument::Buffer(&from), Argument::I64(i64::try_from(words)?)];
    device.in_profiler_range(|| kernel.launch(grid, &arguments))?;
    Ok(())
}
