//! How long a million records take, and how much memory: `cargo bench -p tileops-roofline --bench million [RECORDS]`.
//!
//! Generates the records, has the real program price them in each form, and prints the time, the processor time of all
//! threads, the rate, and the greatest resident size. The baseline is Python's `json.loads` on the same lines in the same
//! run, which parses them and does nothing else: how many times its time, and its processor time, the program's goes into.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The line of a record, with everything that a benchmark writes.
fn line(n: usize) -> String {
    let size = 1024 + n % 4099 * 64;
    let (bytes, ns) = (size * 4096, 1_500.0 + (size as f64) * 1.1 + (n % 17) as f64);
    let op = ["SiluFwdOp", "AddFwdOp", "RMSNormFwdOp", "SoftmaxFwdOp", "GemmFwdOp"][n % 5];
    let family = ["elementwise", "elementwise", "norm", "softmax", "gemm"][n % 5];
    format!(
        r#"{{"schema":"tileops.record/1","op":"{op}","case":"row-{n}-bfloat16","family":"{family}","dtype":"bfloat16","params":{{"M":{size},"N":4096,"T":"bfloat16"}},"tensors":[{{"name":"x","dtype":"bfloat16","shape":[{size},4096],"effect":"read"}},{{"name":"y","dtype":"bfloat16","shape":[{size},4096],"effect":"write"}}],"flops":{},"bytes":{bytes},"read_bytes":{},"roof_key":"cuda_core.fp32","entry_hash":"sha256:9d0cfe1","seed":{n},"timing":{{"source":"cupti","device_busy_ns":{ns},"p10_ns":{},"p90_ns":{},"samples":50,"kernels":1,"policy":{{"l2":"read 256 MiB","inputs":4,"warmup":10}},"clocks":{{"sm_mhz":1980.0,"memory_mhz":3201.0}}}},"device":{{"name":"NVIDIA H200","driver":"580.159.04","cuda":"13.0"}},"run":{{"tool":"tileops-bench","version":"0.1.0","revision":"818fe99","started":"2026-11-29T20:00:00Z"}}}}"#,
        bytes * 2,
        bytes / 2,
        ns * 0.99,
        ns * 1.02,
    )
}

/// What a program took.
struct Taken {
    /// From its start to its end, in seconds.
    wall: f64,
    /// The processor time of all its threads, in seconds.
    processor: f64,
    /// The greatest resident size, in MB.
    peak: f64,
}

impl Taken {
    fn print(&self, name: &str, records: usize, baseline: Option<&Taken>) {
        let Taken { wall, processor, peak } = self;
        let rate = records as f64 / wall / 1e3;
        let ratio = baseline.map(|of| format!("  {:7.1}x  {:9.1}x", of.wall / wall, of.processor / processor));
        println!(
            "{name:<32} {wall:6.2} s  {processor:9.2} s  {rate:11.0}k  {peak:7.0} MB{}",
            ratio.unwrap_or_default()
        );
    }
}

/// The processor time of this process's children that have ended, in seconds: fields 16 and 17 of `proc(5)`'s `stat`, in
/// hundredths.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("a Linux system");
    let (_, fields) = stat.rsplit_once(") ").expect("the program's name in brackets");
    let hundredths = fields.split(' ').skip(13).take(2).map(|field| field.parse::<f64>().expect("a number"));
    hundredths.sum::<f64>() / 100.0
}

/// Runs `command` and says what it took.
fn measure(mut command: Command) -> Taken {
    let (before, start) = (processor_time(), Instant::now());
    let mut child = command.stdout(Stdio::null()).spawn().expect("the program runs");
    // The kernel keeps the high-water mark as long as the process is there; the last look before its end is it.
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0.0f64;
    loop {
        if let Ok(text) = std::fs::read_to_string(&status) {
            let kb =
                text.lines().find_map(|l| l.strip_prefix("VmHWM:")?.trim().trim_end_matches(" kB").parse::<f64>().ok());
            peak = peak.max(kb.unwrap_or(0.0) * 1024.0 / 1e6);
        }
        if child.try_wait().expect("a status").is_some() {
            return Taken { wall: start.elapsed().as_secs_f64(), processor: processor_time() - before, peak };
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

fn main() {
    let records: usize = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(1_000_000);
    let folder = tempfile::tempdir().expect("a folder");
    let plain = folder.path().join("r.jsonl");
    let mut out = BufWriter::new(File::create(&plain).expect("a file"));
    for n in 0..records {
        writeln!(out, "{}", line(n)).expect("written");
    }
    out.flush().expect("written");
    let packed = folder.path().join("r.jsonl.zst");
    let mut encoder = zstd::Encoder::new(File::create(&packed).expect("a file"), 3).expect("an encoder");
    std::io::copy(&mut File::open(&plain).expect("a file"), &mut encoder).expect("compressed");
    encoder.finish().expect("compressed");
    let size = std::fs::metadata(&plain).expect("a file").len() as f64 / 1e6;
    println!("{records} records, {size:.0} MB\n");
    println!(
        "{:<32} {:>8}  {:>11}  {:>12}  {:>10}  {:>8}  {:>10}",
        "", "time", "processor", "records/s", "resident", "faster", "processor"
    );
    let baseline = {
        let mut command = Command::new("python3");
        command.args(["-c", "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"]).arg(&plain);
        measure(command)
    };
    baseline.print("python3 json.loads (baseline)", records, None);
    let profile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles/h200.yaml");
    for (name, file, format) in [
        ("csv", &plain, "csv"),
        ("csv, from zstd", &packed, "csv"),
        ("table", &plain, "table"),
        ("json", &plain, "json"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tileops-roofline"));
        command.arg(file).arg("--profile").arg(&profile).args(["--format", format]);
        measure(command).print(&format!("tileops-roofline, {name}"), records, Some(&baseline));
    }
}
