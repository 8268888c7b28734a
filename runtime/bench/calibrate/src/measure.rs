//! What is measured, and how.
//!
//! Arrays are far larger than the L2 cache, so that every byte comes from memory; each time is the device's own, by
//! CUPTI; each way to reach a rate is measured in several rounds, one right behind the other, so that their spread is known.
//! It is the spread of those seconds, and not of the whole run.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tileops_device::{
    Activity, Argument, Buffer, Compute, CublasLt, Device, Grid, Kernel, MatrixType, Module, Monitor, Operands,
    Product, Reading, SpanKind,
};
use tileops_record::stats::median;
use tileops_roofline::profile::Profile;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// How often each rate is measured.
    pub(crate) rounds: u32,
    /// How long a product runs for its sustained rate.
    pub(crate) sustained_seconds: f64,
}

/// What measures.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    pub(crate) device: &'a Device,
    pub(crate) activity: &'a Activity,
    pub(crate) monitor: &'a Monitor,
    pub(crate) module: &'a Module,
    pub(crate) effort: Effort,
}

/// A rate, measured in rounds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rate {
    /// What reached it: the fastest of the ways that were tried.
    pub(crate) by: String,
    /// Each round's median, per second.
    pub(crate) rounds: Vec<f64>,
    /// The clocks, power and what held them back, behind each round.
    pub(crate) readings: Vec<Reading>,
}

impl Rate {
    /// The median of the rounds, per second.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        median(&sorted).unwrap_or(0.0)
    }

    /// The smallest and the largest of the rounds, per second.
    pub(crate) fn spread(&self) -> (f64, f64) {
        let fold = |pick: fn(f64, f64) -> f64| self.rounds.iter().copied().reduce(pick).unwrap_or(0.0);
        (fold(f64::min), fold(f64::max))
    }

    /// The lowest and the highest clock that was seen, in MHz.
    pub(crate) fn clocks(&self) -> Option<(u32, u32)> {
        let clocks = || self.readings.iter().map(|reading| reading.clock_mhz);
        Some((clocks().min()?, clocks().max()?))
    }
}

/// Everything that was measured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    /// Bytes a second, by access mix.
    pub(crate) mixes: BTreeMap<&'static str, Rate>,
    /// FLOP a second on the CUDA cores, by what they compute.
    pub(crate) cuda_core: BTreeMap<&'static str, Rate>,
    /// FLOP a second on the tensor cores, in short bursts, by operand.
    pub(crate) tensor_core: BTreeMap<&'static str, Rate>,
    /// The same over seconds, when power holds the clocks back.
    pub(crate) sustained: BTreeMap<&'static str, Rate>,
    /// The time of a small copy out of a cold cache, in nanoseconds.
    pub(crate) latency_floor_ns: f64,
    /// The time of a kernel that does nothing, in nanoseconds.
    pub(crate) empty_ns: f64,
}

/// The fraction of `theoretical` that `rate` is, to the precision that rounds repeat in.
pub(crate) fn fraction(rate: f64, theoretical: f64) -> f64 {
    (rate / theoretical * 1e3).round() / 1e3
}

impl Measured {
    /// Writes the calibrations into a profile, and nothing else of it.
    pub(crate) fn apply(&self, profile: &mut Profile) {
        let bandwidth = profile.hbm.bandwidth;
        for (name, rate) in &self.mixes {
            profile.hbm.mixes.insert((*name).to_owned(), fraction(rate.median(), bandwidth));
        }
        // The envelope: a ceiling that some legitimate mix can exceed is none.
        profile.hbm.calibration = profile.hbm.mixes.values().copied().reduce(f64::max);
        for (rates, peaks) in [(&self.cuda_core, &mut profile.cuda_core), (&self.tensor_core, &mut profile.tensor_core)]
        {
            for (name, rate) in rates {
                if let Some(peak) = peaks.get_mut(*name) {
                    peak.calibration = Some(fraction(rate.median(), peak.flops));
                }
            }
        }
        profile.latency_floor_ns = self.latency_floor_ns;
    }
}

/// The largest array that is used. Larger ones change nothing; smaller ones would be served by the cache in part.
const ARRAY_BYTES: usize = 4 << 30;
/// Bytes of the copy whose time is the latency floor.
const FLOOR_BYTES: u64 = 1 << 20;
const LAUNCHES: usize = 8;
const MATRIX: u64 = 8192;

/// A way to move or to compute: a kernel, its grid and the arguments that it takes.
struct Way<'a> {
    kernel: &'static str,
    grid: Grid,
    arguments: Vec<Argument<'a>>,
}

impl Bench<'_> {
    /// Measures everything that `profile` has a theoretical value for.
    pub(crate) fn all(&self, profile: &Profile, say: fn(&str)) -> Result<Measured> {
        let mut measured = Measured::default();
        self.memory(&mut measured, say).context("measuring the memory")?;
        self.floor(&mut measured).context("measuring the latency floor")?;
        say(&format!("floor    {:.0} ns, an empty kernel {:.0} ns", measured.latency_floor_ns, measured.empty_ns));
        if profile.cuda_core.contains_key("fp32") {
            let rate = self.multiply_adds().context("measuring fp32")?;
            say(&format!("fp32     {:.2} TFLOP/s", rate.median() / 1e12));
            measured.cuda_core.insert("fp32", rate);
        }
        for (name, element) in [
            ("fp16", MatrixType::Fp16),
            ("bf16", MatrixType::Bf16),
            ("tf32", MatrixType::Fp32),
            ("fp8", MatrixType::Fp8E4m3),
            ("int8", MatrixType::Int8),
        ] {
            if profile.tensor_core.contains_key(name) {
                let (burst, sustained) =
                    self.products(element).with_context(|| format!("measuring products of {name}"))?;
                let (burst_rate, sustained_rate) = (burst.median() / 1e12, sustained.median() / 1e12);
                say(&format!("{name:<8} {burst_rate:.0} TFLOP/s in bursts, {sustained_rate:.0} sustained"));
                measured.tensor_core.insert(name, burst);
                measured.sustained.insert(name, sustained);
            }
        }
        Ok(measured)
    }

    fn memory(&self, measured: &mut Measured, say: fn(&str)) -> Result<()> {
        let facts = self.device.facts();
        let bytes = ARRAY_BYTES.min(usize::try_from(facts.memory_bytes / 8)?) & !0xff;
        if (bytes as u64) < 16 * facts.l2_bytes {
            bail!("{bytes} bytes are not far more than the L2 cache holds");
        }
        let [a, b, c] = [self.array(bytes, 1)?, self.array(bytes, 2)?, self.array(bytes, 3)?];
        let sink = self.device.allocate(16)?;
        let words = i64::try_from(bytes / 16)?;
        let full = Grid::row(u32::try_from((bytes / 16).div_ceil(256))?, 256);
        let resident = |blocks: u32| Grid::row(facts.multiprocessors * blocks, 256);
        let (n, k) = (Argument::I64(words), Argument::F32(0.5));
        let copy = |kernel| Way { kernel, grid: full, arguments: vec![Argument::Buffer(&b), Argument::Buffer(&a), n] };
        let triad = |kernel| {
            let arguments = vec![Argument::Buffer(&c), Argument::Buffer(&a), Argument::Buffer(&b), n, k];
            Way { kernel, grid: full, arguments }
        };
        let read = |kernel, blocks| {
            let arguments = vec![Argument::Buffer(&a), n, Argument::Buffer(&sink)];
            Way { kernel, grid: resident(blocks), arguments }
        };
        let write = |kernel| Way { kernel, grid: full, arguments: vec![Argument::Buffer(&b), n, Argument::I32(5)] };
        let mixes = [
            ("copy", 2.0, vec![copy("copy_plain"), copy("copy_streamed")]),
            ("triad", 3.0, vec![triad("triad_plain"), triad("triad_streamed")]),
            ("read", 1.0, vec![read("read_8", 2), read("read_8", 4), read("read_4", 4), read("read_4", 8)]),
            ("write", 1.0, vec![write("write_plain"), write("write_streamed")]),
        ];
        for (name, arrays, ways) in mixes {
            let rate = self.best(&ways, arrays * bytes as f64)?;
            say(&format!("{name:<8} {:.0} GB/s by {}", rate.median() / 1e9, rate.by));
            measured.mixes.insert(name, rate);
        }
        Ok(())
    }

    /// The rate of the fastest way, where each launch does `work`.
    fn best(&self, ways: &[Way<'_>], work: f64) -> Result<Rate> {
        let mut rates = Vec::new();
        for way in ways {
            let kernel = self.module.kernel(way.kernel)?;
            let mut rate = Rate { by: format!("{} with {} blocks", way.kernel, way.grid.blocks.0), ..Rate::default() };
            for _ in 0..self.effort.rounds {
                let nanoseconds = self.kernel_time(&kernel, way.grid, &way.arguments)?;
                rate.rounds.push(work / nanoseconds * 1e9);
                rate.readings.push(self.monitor.read()?);
            }
            rates.push(rate);
        }
        rates.into_iter().max_by(|a, b| a.median().total_cmp(&b.median())).context("there is no way to measure it")
    }

    /// The median device-busy time of one launch, in nanoseconds, behind one that warms up.
    fn kernel_time(&self, kernel: &Kernel, grid: Grid, arguments: &[Argument<'_>]) -> Result<f64> {
        self.activity.take()?;
        for _ in 0..=LAUNCHES {
            kernel.launch(grid, arguments)?;
        }
        self.median_of(kernel.name(), LAUNCHES)
    }

    /// The median time of the last `count` kernels called `name`, in nanoseconds.
    fn median_of(&self, name: &str, count: usize) -> Result<f64> {
        let spans = self.activity.take()?;
        let times: Vec<f64> = spans
            .iter()
            .filter(|span| span.kind == SpanKind::Kernel && span.name == name)
            .map(|span| span.nanoseconds() as f64)
            .collect();
        if times.len() < count {
            bail!("CUPTI recorded {} of {count} launches of `{name}`", times.len());
        }
        let mut last = times[times.len() - count..].to_vec();
        last.sort_by(f64::total_cmp);
        median(&last).context("no launch was recorded")
    }

    fn floor(&self, measured: &mut Measured) -> Result<()> {
        let facts = self.device.facts();
        let (from, to) = (self.array(FLOOR_BYTES as usize, 1)?, self.array(FLOOR_BYTES as usize, 2)?);
        let flush_bytes = usize::try_from(4 * facts.l2_bytes)? & !0xff;
        let (flush, sink) = (self.array(flush_bytes, 3)?, self.device.allocate(16)?);
        let (copy, read, empty) =
            (self.module.kernel("copy_plain")?, self.module.kernel("read_8")?, self.module.kernel("empty")?);
        let words = i64::try_from(FLOOR_BYTES / 16)?;
        let flush_words = i64::try_from(flush_bytes / 16)?;
        let (mut copies, mut empties) = (Vec::new(), Vec::new());
        for _ in 0..self.effort.rounds {
            self.activity.take()?;
            for _ in 0..=LAUNCHES * 4 {
                // Reading what is four times as large leaves neither the copy's words nor anything dirty in the cache.
                let arguments = [Argument::Buffer(&flush), Argument::I64(flush_words), Argument::Buffer(&sink)];
                read.launch(Grid::row(facts.multiprocessors * 2, 256), &arguments)?;
                let grid = Grid::row(u32::try_from((FLOOR_BYTES / 16).div_ceil(256))?, 256);
                copy.launch(grid, &[Argument::Buffer(&to), Argument::Buffer(&from), Argument::I64(words)])?;
            }
            copies.push(self.median_of("copy_plain", LAUNCHES * 4)?);
            for _ in 0..=LAUNCHES * 4 {
                empty.launch(Grid::row(1, 32), &[])?;
            }
            empties.push(self.median_of("empty", LAUNCHES * 4)?);
        }
        for times in [&mut copies, &mut empties] {
            times.sort_by(f64::total_cmp);
        }
        measured.latency_floor_ns = median(&copies).unwrap_or(0.0).round();
        measured.empty_ns = median(&empties).unwrap_or(0.0).round();
        Ok(())
    }

    fn multiply_adds(&self) -> Result<Rate> {
        let sink = self.device.allocate(16)?;
        let rounds = 20_000_i32;
        let grid = Grid::row(self.device.facts().multiprocessors * 8, 256);
        let arguments =
            vec![Argument::Buffer(&sink), Argument::I32(rounds), Argument::F32(0.999), Argument::F32(0.001)];
        let threads = f64::from(grid.blocks.0) * f64::from(grid.threads.0);
        // 64 multiply-adds a round and thread, 2 FLOP each.
        let work = threads * f64::from(rounds) * 64.0 * 2.0;
        self.best(&[Way { kernel: "fma_fp32", grid, arguments }], work)
    }

    /// Rates of products in bursts, and over seconds.
    fn products(&self, element: MatrixType) -> Result<(Rate, Rate)> {
        let n = usize::try_from(MATRIX * MATRIX)?;
        let operand = |seed| self.operand(element, n, seed);
        let (a, b) = (operand(1)?, operand(2)?);
        let (result, compute) = match element {
            MatrixType::Fp8E4m3 => (MatrixType::Bf16, Compute::Fp32),
            MatrixType::Int8 => (MatrixType::Int32, Compute::Int32),
            MatrixType::Fp32 => (element, Compute::Tf32),
            other => (other, Compute::Fp32),
        };
        let d = self.device.allocate(n * result.bytes())?;
        let mut product =
            CublasLt::new(self.device)?.prepare(Product::linear(MATRIX, MATRIX, MATRIX, element, result, compute))?;
        let algorithms = product.algorithms();
        let work = 2.0 * (MATRIX as f64).powi(3);
        let mut burst = |algorithm: usize, launches: usize| -> Result<f64> {
            self.activity.take()?;
            for _ in 0..launches {
                product.run(algorithm, &Operands::new(&a, &b, &d))?;
            }
            let spans = self.activity.take()?;
            let kernels: Vec<u64> =
                spans.iter().filter(|span| span.kind == SpanKind::Kernel).map(|span| span.nanoseconds()).collect();
            if !kernels.len().is_multiple_of(launches) || kernels.is_empty() {
                bail!("CUPTI recorded {} kernels of {launches} products", kernels.len());
            }
            // A product may be several kernels: they count together.
            let mut times: Vec<f64> =
                kernels.chunks(kernels.len() / launches).map(|chunk| chunk.iter().sum::<u64>() as f64).collect();
            times.sort_by(f64::total_cmp);
            median(&times).context("no product was recorded")
        };
        let mut best: Option<(usize, Rate)> = None;
        for algorithm in 0..algorithms {
            let mut rate = Rate {
                by: format!("cuBLASLt's proposal {} at {MATRIX} x {MATRIX} x {MATRIX}", algorithm + 1),
                ..Rate::default()
            };
            burst(algorithm, 2)?;
            for _ in 0..self.effort.rounds {
                // A pause lets the clocks recover, so that a burst is one.
                std::thread::sleep(Duration::from_millis(60));
                rate.rounds.push(work / burst(algorithm, LAUNCHES)? * 1e9);
                rate.readings.push(self.monitor.read()?);
            }
            if best.as_ref().is_none_or(|(_, best)| rate.median() > best.median()) {
                best = Some((algorithm, rate));
            }
        }
        let (algorithm, best) = best.context("cuBLASLt proposes no algorithm")?;
        let mut sustained = Rate { by: best.by.clone(), ..Rate::default() };
        let start = Instant::now();
        while start.elapsed().as_secs_f64() < self.effort.sustained_seconds {
            let rate = work / burst(algorithm, 50)? * 1e9;
            // The first half heats up.
            if start.elapsed().as_secs_f64() >= self.effort.sustained_seconds / 2.0 {
                sustained.rounds.push(rate);
                sustained.readings.push(self.monitor.read()?);
            }
        }
        Ok((best, sustained))
    }

    /// An array of normally distributed fp32.
    fn array(&self, bytes: usize, seed: i32) -> Result<Buffer> {
        self.filled("fill_fp32", bytes, bytes / 4, seed)
    }

    fn operand(&self, element: MatrixType, n: usize, seed: i32) -> Result<Buffer> {
        let (kernel, items) = match element {
            MatrixType::Bf16 => ("fill_bf16", n),
            MatrixType::Fp16 => ("fill_fp16", n),
            MatrixType::Fp32 | MatrixType::Int32 => ("fill_fp32", n),
            MatrixType::Fp8E4m3 | MatrixType::Fp8E5m2 => ("fill_fp8", n / 2),
            MatrixType::Int8 => ("fill_int8", n),
        };
        self.filled(kernel, n * element.bytes(), items, seed)
    }

    fn filled(&self, kernel: &str, bytes: usize, items: usize, seed: i32) -> Result<Buffer> {
        let buffer = self.device.allocate(bytes)?;
        let grid = Grid::row(self.device.facts().multiprocessors * 8, 256);
        let arguments = [Argument::Buffer(&buffer), Argument::I64(i64::try_from(items)?), Argument::I32(seed)];
        self.module.kernel(kernel)?.launch(grid, &arguments)?;
        Ok(buffer)
    }
}
