//! A GPU: ops run by their kernels, timed by CUPTI's activity records.

use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use tileops_device::{
    Activity, Argument, Buffer, Compiler, Device, Event, Grid, Kernel, Module, Monitor, Reading, Span, SpanKind,
};
use tileops_kernels::{Cuda, Memory, Step, planner};
use tileops_ops::{CheckedCall, DType, Implementation, Tensor};
use tileops_reference::Distribution;

use super::{Clock, Machine, POISON, Sample, elements};
use crate::fault::Fault;
use crate::inputs::Recipe;

/// The kernels that a measurement needs, as CUDA C++.
pub const SOURCE: &str = include_str!("bench.cu");

/// What every kernel of [`SOURCE`] begins with.
const OWN: &str = "tileops_bench_";
const FLUSH: &str = "tileops_bench_flush";
/// How much is read to flush the L2 cache, at least.
const FLUSH_BYTES: usize = 256 << 20;
/// How much memory the sets of inputs should take, in sizes of the L2 cache.
const ROTATION: u64 = 4;

/// A GPU.
#[derive(Debug)]
pub struct Gpu {
    cuda: Cuda,
    clock: Timer,
    monitor: Result<Monitor, String>,
    /// Why the monitor did not read the clocks, where it could not.
    unread: OnceLock<String>,
    module: Module,
    flush: Kernel,
    draw: Kernel,
    /// What is read to flush the L2 cache.
    words: Buffer,
    sink: Buffer,
}

#[derive(Debug)]
enum Timer {
    Cupti(Activity),
    Events(String),
}

impl Gpu {
    /// Takes up GPU number `number`.
    pub fn open(number: usize) -> Result<Self> {
        let device = Device::open(number)
            .with_context(|| format!("cannot use cuda:{number} (`--device cpu` runs the references, without a GPU)"))?;
        // Recording begins before the first kernel, so that nothing runs unrecorded.
        let clock = match Activity::start(&device) {
            Ok(activity) => Timer::Cupti(activity),
            Err(error) => Timer::Events(error.to_string()),
        };
        let compiled = Compiler::new(device.facts().architecture()).compile("bench.cu", SOURCE)?;
        let module = device.load(&compiled)?;
        let flush_bytes = FLUSH_BYTES.max(usize::try_from(ROTATION * device.facts().l2_bytes)?).next_multiple_of(16);
        let (words, sink) = (device.allocate(flush_bytes)?, device.allocate(16)?);
        words.fill(1)?;
        Ok(Gpu {
            flush: module.kernel(FLUSH)?,
            draw: module.kernel("tileops_bench_draw")?,
            monitor: Monitor::new(&device).map_err(|error| error.to_string()),
            unread: OnceLock::new(),
            cuda: Cuda::new(device)?,
            clock,
            module,
            words,
            sink,
        })
    }

    fn device(&self) -> &Device {
        self.cuda.device()
    }

    fn flush(&self) -> Result<()> {
        let words = i64::try_from(self.words.bytes() / 16)?;
        let arguments = [Argument::Buffer(&self.words), Argument::I64(words), Argument::Buffer(&self.sink)];
        Ok(self.flush.launch(Grid::row(self.device().facts().multiprocessors * 2, 256), &arguments)?)
    }

    /// Draws the first `count` elements.
    fn drawing(&self, memory: &Memory, dtype: DType, count: usize, from: Distribution, seed: u64) -> Result<()> {
        let dtype = DType::ALL.iter().position(|&known| known == dtype).unwrap_or_default();
        let (kind, low, high, least, span) =
            kind_of(from).with_context(|| format!("{from:?} is drawn on the host alone"))?;
        let blocks = count.div_ceil(256).clamp(1, self.device().facts().multiprocessors as usize * 16);
        let arguments = [
            Argument::Buffer(memory.buffer()),
            Argument::I64(i64::try_from(count)?),
            Argument::I64(seed.cast_signed()),
            Argument::I32(i32::try_from(dtype)?),
            Argument::I32(kind),
            Argument::F32(low),
            Argument::F32(high),
            Argument::I64(least),
            Argument::I64(span),
        ];
        Ok(self.draw.launch(Grid::row(u32::try_from(blocks)?, 256), &arguments)?)
    }
}

/// What the kernel that draws takes for a distribution: nothing for what only tests draw, which the host does.
fn kind_of(from: Distribution) -> Option<(i32, f32, f32, i64, i64)> {
    Some(match from {
        Distribution::Uniform { low, high } => (0, low, high, 0, 0),
        Distribution::Integers { low, high } => {
            let span = u64::try_from(high.saturating_sub(low)).unwrap_or(1).clamp(1, 1 << 32);
            (1, 0.0, 0.0, low, span.cast_signed())
        }
        Distribution::OneIn(many) => (2, 0.0, 0.0, 0, i64::from(many.max(1))),
        Distribution::Constant(value) => (3, value, 0.0, 0, 0),
        Distribution::Ends(_) | Distribution::Specials { .. } => return None,
    })
}

fn memory(tensor: &Tensor) -> Result<&Memory> {
    let storage = tensor.storage.as_ref().and_then(|storage| storage.as_any().downcast_ref());
    storage.with_context(|| format!("{tensor} is not in the GPU's memory"))
}

fn storage(tensor: &Tensor) -> Result<usize> {
    Ok(usize::try_from(tensor.nbytes()?)?)
}

impl Machine for Gpu {
    fn describe(&self) -> tileops_record::Device {
        let facts = self.device().facts();
        tileops_record::Device {
            name: facts.name.as_str().into(),
            driver: self.monitor.as_ref().ok().and_then(|monitor| monitor.driver().ok()).map(Into::into),
            cuda: Some(format!("{}.{}", facts.cuda / 1000, facts.cuda % 1000 / 10).into()),
            compute_capability: Some(format!("{}.{}", facts.capability.0, facts.capability.1).into()),
            l2_bytes: Some(facts.l2_bytes),
            uuid: Some(facts.uuid.as_str().into()),
            ..tileops_record::Device::default()
        }
    }

    fn clock(&self) -> Clock {
        let l2 = format!("read {} MiB", self.words.bytes() >> 20);
        let unread = self.unread.get().cloned();
        match &self.clock {
            Timer::Cupti(_) => Clock { source: "cupti", reason: None, l2, unread },
            Timer::Events(reason) => Clock { source: "events", reason: Some(reason.clone()), l2, unread },
        }
    }

    fn implementation(&self, op: &str) -> Option<Arc<dyn Implementation>> {
        Some(self.cuda.implementation(planner(op)?))
    }

    fn compile(&self, call: &CheckedCall) -> Result<()> {
        let Some(planner) = planner(call.op()) else { return Ok(()) };
        for step in &planner(call, self.cuda.gpu())?.steps {
            if let Step::Launch(launch) = step {
                self.cuda.kernel(&launch.source, launch.kernel)?;
            }
        }
        Ok(())
    }

    fn in_profiler_range(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.device().in_profiler_range(work)
    }

    fn rotation(&self) -> (usize, usize) {
        let facts = self.device().facts();
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        // Outputs and scratch memory need room, too.
        (size(ROTATION * facts.l2_bytes), size(facts.memory_bytes / 2))
    }

    fn make(&self, described: &Tensor, recipe: &Recipe) -> Result<Tensor> {
        let tensor = described.clone().with_storage(self.cuda.allocate(storage(described)?)?);
        self.renew(&tensor, recipe)?;
        Ok(tensor)
    }

    fn renew(&self, tensor: &Tensor, recipe: &Recipe) -> Result<()> {
        match recipe {
            Recipe::Drawn(from, seed) if kind_of(*from).is_some() => {
                self.drawing(memory(tensor)?, tensor.dtype, elements(tensor)?, *from, *seed)
            }
            Recipe::Drawn(..) | Recipe::Stated(_) => {
                // A draw of nothing tells the copy behind it from those of a call.
                self.drawing(memory(tensor)?, tensor.dtype, 0, Distribution::Constant(0.0), 0)?;
                let bytes = recipe.bytes(tensor.dtype, elements(tensor)?);
                Ok(memory(tensor)?.buffer().write(&bytes)?)
            }
        }
    }

    fn read(&self, tensor: &Tensor) -> Result<Vec<u8>> {
        let memory = memory(tensor)?;
        let mut bytes = vec![0_u8; memory.bytes()];
        // A page is taken when it is first written. By one thread that takes longer than the copy.
        bytes.par_chunks_mut(1 << 20).for_each(|chunk| chunk.iter_mut().step_by(4096).for_each(|byte| *byte = 1));
        memory.buffer().read(&mut bytes)?;
        Ok(bytes)
    }

    fn poison(&self, outputs: &[Tensor], mutated: &[Tensor]) -> Result<()> {
        let mut held = Vec::new();
        for output in outputs {
            let memory = self.cuda.allocate(storage(output)?)?;
            memory.buffer().fill(POISON)?;
            held.push(memory);
        }
        for input in mutated {
            let memory = memory(input)?;
            memory.buffer().fill_from(memory.bytes(), POISON)?;
        }
        // What is freed here is what the next allocations of these sizes get.
        Ok(())
    }

    fn past(&self, tensor: &Tensor) -> Result<Vec<u8>> {
        let memory = memory(tensor)?;
        Ok(memory.buffer().read_from(memory.bytes())?)
    }

    fn fail(&self, fault: Fault, outputs: &[Tensor]) -> Result<()> {
        match fault {
            Fault::Wrong => outputs.iter().try_for_each(|output| Ok(memory(output)?.buffer().fill(0x3f)?)),
            Fault::Hang => {
                let kernel = self.module.kernel("tileops_bench_hang")?;
                Ok(kernel.launch(Grid::row(1, 1), &[Argument::Buffer(&self.sink)])?)
            }
            Fault::Crash => {
                let kernel = self.module.kernel("tileops_bench_crash")?;
                Ok(kernel.launch(Grid::row(1, 1), &[Argument::Null])?)
            }
            Fault::Abort => std::process::abort(),
            Fault::Panic | Fault::SlowStart | Fault::Linger => Ok(()),
        }
    }

    fn reading(&self) -> Option<Reading> {
        let read = match &self.monitor {
            Ok(monitor) => monitor.read().map_err(|error| error.to_string()),
            Err(why) => Err(why.clone()),
        };
        read.map_err(|why| self.unread.get_or_init(|| why)).ok()
    }

    fn sample(
        &self,
        count: usize,
        renew: &mut dyn FnMut(usize) -> Result<()>,
        call: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<(Vec<Sample>, Option<Reading>)> {
        match &self.clock {
            Timer::Cupti(activity) => {
                activity.take()?;
                for number in 0..count {
                    renew(number)?;
                    self.flush()?;
                    call(number)?;
                }
                let reading = self.reading();
                Ok((samples(&activity.take()?, count)?, reading))
            }
            Timer::Events(_) => {
                let mut marks: Vec<(Event, Event)> = Vec::new();
                for number in 0..count {
                    renew(number)?;
                    self.flush()?;
                    let (start, end) = (self.device().event()?, self.device().event()?);
                    self.device().record(&start)?;
                    call(number)?;
                    self.device().record(&end)?;
                    marks.push((start, end));
                }
                let reading = self.reading();
                self.device().synchronize()?;
                let timed = marks.iter().map(|(start, end)| {
                    let busy = start.nanoseconds_to(end)?;
                    Ok(Sample { busy, elapsed: busy, ..Sample::default() })
                });
                Ok((timed.collect::<Result<_>>()?, reading))
            }
        }
    }
}

/// The samples of `count` calls, of the spans from before the first flush to behind the last call.
fn samples(spans: &[Span], count: usize) -> Result<Vec<Sample>> {
    let is_flush = |span: &Span| span.kind == SpanKind::Kernel && span.name == FLUSH;
    let first = spans.iter().position(is_flush).unwrap_or(spans.len());
    let mut samples: Vec<Vec<&Span>> = Vec::new();
    // What is behind a renewal and before a flush is the renewal's: a copy has no name to be told by.
    let mut is_call = false;
    for span in &spans[first..] {
        if is_flush(span) {
            samples.push(Vec::new());
            is_call = true;
        } else if span.kind == SpanKind::Kernel && span.name.starts_with(OWN) {
            is_call = false;
        } else if is_call && let Some(sample) = samples.last_mut() {
            sample.push(span);
        }
    }
    if samples.len() != count {
        bail!("CUPTI recorded {} of {count} flushes", samples.len());
    }
    Ok(samples.iter().map(|spans| sample(spans)).collect())
}

fn sample(spans: &[&Span]) -> Sample {
    let kernels = spans.iter().filter(|span| span.kind == SpanKind::Kernel).count() as u64;
    let busy = union(spans.iter().filter(|span| span.kind != SpanKind::Copy));
    let all = union(spans.iter());
    let ends = spans.iter().map(|span| span.start).min().zip(spans.iter().map(|span| span.end).max());
    let elapsed = ends.map_or(0, |(start, end)| end.saturating_sub(start));
    Sample { busy: busy as f64, copies: (all - busy) as f64, elapsed: elapsed as f64, kernels: Some(kernels) }
}

/// The time that some of the spans cover, in nanoseconds; they come in the order of their starts.
fn union<'a>(spans: impl Iterator<Item = &'a &'a Span>) -> u64 {
    let (mut covered, mut until) = (0, 0);
    for span in spans {
        let start = span.start.max(until);
        covered += span.end.saturating_sub(start);
        until = until.max(span.end);
    }
    covered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(kind: SpanKind, name: &str, start: u64, end: u64) -> Span {
        Span { kind, name: name.to_owned(), start, end }
    }

    #[test]
    fn a_call_is_what_is_between_a_flush_and_what_is_ours() {
        let spans = [
            span(SpanKind::Fill, "", 0, 90),
            span(SpanKind::Kernel, FLUSH, 100, 200),
            span(SpanKind::Kernel, "a", 210, 220),
            // Overlaps the kernel by 5, and is copied for 10 more.
            span(SpanKind::Copy, "", 215, 230),
            span(SpanKind::Kernel, "b", 240, 250),
            span(SpanKind::Kernel, "tileops_bench_draw", 260, 400),
            span(SpanKind::Copy, "", 405, 410),
            span(SpanKind::Kernel, FLUSH, 420, 500),
            span(SpanKind::Fill, "", 500, 504),
        ];
        let found = samples(&spans, 2).expect("two flushes, two samples");
        assert_eq!(found[0], Sample { busy: 20.0, copies: 10.0, elapsed: 40.0, kernels: Some(2) });
        assert_eq!(found[1], Sample { busy: 4.0, copies: 0.0, elapsed: 4.0, kernels: Some(0) });
        assert!(samples(&spans, 3).is_err(), "a lost record is no sample of zero");
    }
}
