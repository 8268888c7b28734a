//! The real program: every format, option and exit code, as a shell would see them.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use tileops_record::load;
use tileops_roofline::profile::Profile;
use tileops_roofline::report::{self, Report, TableOptions};
use unicode_width::UnicodeWidthStr;

/// 1 TB/s and 100 TFLOP/s effective, of 2 TB/s and 200 TFLOP/s theoretical; bf16 has 1 PFLOP/s and no calibration.
const PROFILE: &str = "\
gpu: Test GPU
hbm: {bandwidth: 2.0e+12, calibration: 0.5}
cuda_core: {fp32: {flops: 2.0e+14, calibration: 0.5}}
tensor_core: {bf16: {flops: 1.0e+15}}
latency_floor_ns: 1000
l2_bytes: 1000000
source: made up for the tests
";

/// 1 GB takes 1 ms at the effective bandwidth, so that 1.25 ms are 80 %: at ceiling.
const COPY: &str = r#"{"schema":"tileops.record/1","op":"CopyFwdOp","case":"big-float16","family":"move","dtype":"float16","flops":500000000,"bytes":1000000000,"roof_key":"cuda_core.fp32","timing":{"source":"cupti","device_busy_ns":1200000,"excluded_copies_ns":50000,"p10_ns":1190000,"p90_ns":1220000,"samples":50},"device":{"name":"Test GPU"}}"#;
/// 1 TFLOP takes 1 ms on the tensor cores, so that 2 ms are 50 %; torch needs 1.6 ms.
const GEMM: &str = r#"{"schema":"tileops.record/1","op":"GemmFwdOp","case":"square-bfloat16","family":"gemm","dtype":"bfloat16","flops":1000000000000,"bytes":100000000,"roof_key":"tensor_core.bf16","timing":{"source":"cupti","device_busy_ns":2000000},"device":{"name":"Test GPU"},"note":{"by":"me"}}"#;
const GEMM_TORCH: &str = r#"{"schema":"tileops.record/1","op":"GemmFwdOp","case":"square-bfloat16","peer":"torch","timing":{"source":"cupti","device_busy_ns":1600000}}"#;
/// 1 GB in 0.8 ms: 125 %, and 1.25 TB/s are not impossible.
const ANOMALY: &str = r#"{"schema":"tileops.record/1","op":"AddFwdOp","case":"odd, \"quoted\"","family":"move","dtype":"float16","flops":1,"bytes":1000000000,"roof_key":"cuda_core.fp32","timing":{"source":"cupti","device_busy_ns":800000},"device":{"name":"Test GPU"}}"#;
/// Half a microsecond measured, 100 ns at the speed of light: both below the floor.
const TINY: &str = r#"{"schema":"tileops.record/1","op":"NegFwdOp","case":"tiny|float16","family":"move","dtype":"float16","flops":50000,"bytes":100000,"roof_key":"cuda_core.fp32","timing":{"source":"cupti","device_busy_ns":500},"device":{"name":"Test GPU"}}"#;
/// 1 GB in 0.4 ms are 2.5 TB/s: above the theoretical 2 TB/s.
const IMPOSSIBLE: &str = r#"{"schema":"tileops.record/1","op":"SumFwdOp","case":"wrong-formula","family":"reduction","dtype":"float16","flops":1,"bytes":1000000000,"roof_key":"cuda_core.fp32","timing":{"source":"cupti","device_busy_ns":400000},"device":{"name":"Test GPU"}}"#;

/// A record with no reading, by the fields it has beside its names.
fn blank(case: &str, fields: &str) -> String {
    format!(r#"{{"schema":"tileops.record/1","op":"BlankFwdOp","case":"{case}"{fields}}}"#)
}

fn blanks() -> Vec<String> {
    let cupti = r#","timing":{"source":"cupti","device_busy_ns":5000}"#;
    let work = r#","flops":1,"bytes":2"#;
    let device = r#","device":{"name":"Test GPU"}"#;
    vec![
        blank("1-not-timed", work),
        blank(
            "2-not-cupti",
            &format!(r#"{work}{device},"roof_key":"cuda_core.fp32","timing":{{"source":"events","device_busy_ns":5}}"#),
        ),
        blank("3-no-bytes", &format!(r#","flops":1{cupti}{device}"#)),
        blank("4-zero-bytes", &format!(r#","flops":1,"bytes":0{cupti}{device}"#)),
        blank("5-no-device", &format!("{work}{cupti}")),
        blank("6-other-device", &format!(r#"{work}{cupti},"device":{{"name":"Other GPU"}}"#)),
        blank("7-no-roof-key", &format!("{work}{cupti}{device}")),
        blank("8-unknown-roof-key", &format!(r#"{work}{cupti}{device},"roof_key":"tensor_core.fp4""#)),
        blank(
            "9-no-time",
            &format!(r#"{work}{device},"roof_key":"cuda_core.fp32","timing":{{"source":"cupti","device_busy_ns":0}}"#),
        ),
    ]
}

fn healthy() -> String {
    let blanks = blanks();
    let blanks: Vec<&str> = blanks.iter().map(String::as_str).collect();
    [[COPY, GEMM, GEMM_TORCH, ANOMALY, TINY].as_slice(), &blanks].concat().join("\n")
}

fn everything() -> String {
    format!("{}\n{IMPOSSIBLE}", healthy())
}

/// A folder with the profile and with files in it.
struct Project(TempDir);

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Project(tempfile::tempdir().expect("a folder"));
        for (name, text) in files.iter().chain(&[("gpu.yaml", PROFILE)]) {
            fs::write(project.path().join(name), text).expect("written");
        }
        project
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect("readable")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tileops-roofline"));
        command.args(arguments).current_dir(self.path()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program runs")
    }

    fn report(&self, arguments: &[&str]) -> Output {
        self.run(&[arguments, &["--profile", "gpu.yaml"]].concat())
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

#[test]
fn every_format_prints_what_it_is_known_for() {
    let project = Project::new(&[("r.jsonl", &everything())]);
    for format in ["table", "json", "csv", "markdown", "junit"] {
        let output = project.report(&["r.jsonl", "--format", format]);
        assert_eq!(output.status.code(), Some(1), "{format}: {}", stderr(&output));
        assert_eq!(stderr(&output), "", "{format}");
        insta::assert_snapshot!(format, stdout(&output).replace("\r\n", "\n"));
    }
    assert_eq!(stdout(&project.report(&["r.jsonl"])), stdout(&project.report(&["r.jsonl", "--format", "table"])));
}

#[test]
fn the_json_form_gives_every_row_its_reading_or_the_reason_for_none() {
    let project = Project::new(&[("r.jsonl", &healthy())]);
    let output = project.report(&["r.jsonl", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    for row in rows {
        for field in ["efficiency", "bound", "latency_bound", "verdict", "blank_reason"] {
            assert!(row.get(field).is_some(), "{field} of {row}");
        }
        assert_ne!(row["efficiency"].is_null(), row["blank_reason"].is_null(), "{row}");
    }
    let find = |op: &str| rows.iter().find(|r| r["op"] == op).expect("the op");
    assert_eq!(
        (&find("CopyFwdOp")["efficiency"], &find("CopyFwdOp")["verdict"]),
        (&0.8.into(), &Value::from("at_ceiling"))
    );
    assert_eq!((&find("GemmFwdOp")["efficiency"], &find("GemmFwdOp")["bound"]), (&0.5.into(), &Value::from("compute")));
    assert_eq!(
        (&find("GemmFwdOp")["against_best_peer"], &find("GemmFwdOp")["note"]["by"]),
        (&1.25.into(), &"me".into())
    );
    assert_eq!(find("AddFwdOp")["verdict"], "anomaly");
    assert_eq!((&find("NegFwdOp")["latency_bound"], &find("NegFwdOp")["verdict"]), (&true.into(), &Value::Null));
    let reasons: Vec<&str> = rows.iter().filter_map(|r| r["blank_reason"].as_str()).collect();
    assert_eq!(
        reasons,
        [
            "not timed",
            "timed by events, not by CUPTI",
            "it states no bytes",
            "its bytes formula gives 0",
            "it names no device",
            "the profile is of Test GPU, and it ran on Other GPU",
            "it states no roof key",
            "the profile has no `tensor_core.fp4`",
            "its time is 0 ns",
        ]
    );
    // A blank enters no average: (0.8 + 0.5) / 2, the anomaly and the latency-bound row aside.
    assert_eq!(report["summary"]["median_efficiency"], 0.65);
    assert_eq!((&report["summary"]["priced"], &report["healthy"]), (&4.into(), &true.into()));
}

#[test]
fn a_formula_error_fails_the_run_and_names_row_rate_and_ceiling() {
    let project = Project::new(&[("r.jsonl", IMPOSSIBLE)]);
    let output = project.report(&["r.jsonl"]);
    assert_eq!(output.status.code(), Some(1));
    let line = "formula error: SumFwdOp wrong-formula: 2.5000e12 bytes/s is above the theoretical 2.0000e12 of `hbm`";
    assert!(stdout(&output).contains(line), "{}", stdout(&output));
}

#[test]
fn a_malformed_line_costs_itself_and_is_named() {
    let text = format!("{COPY}\n{{\"schema\":\n\n{GEMM}\n{}\n", COPY.replace("record/1", "record/7"));
    let project = Project::new(&[("r.jsonl", &text)]);
    let output = project.report(&["r.jsonl", "--format", "csv"]);
    assert_eq!(output.status.code(), Some(2));
    let errors = stderr(&output);
    let errors: Vec<&str> = errors.lines().collect();
    assert!(errors[0].starts_with("error: r.jsonl:2: not a record: "), "{errors:?}");
    assert_eq!(
        errors[1],
        "error: r.jsonl:5: its schema is `tileops.record/7`, and this version reads `tileops.record/1`"
    );
    assert_eq!(errors.len(), 2);
    assert_eq!(stdout(&output).lines().count(), 3, "a head and two rows");
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_reported() {
    let project =
        Project::new(&[("r.jsonl", COPY), ("bad.yaml", "gpu: X\nhbm: {bandwidth: -1}\nlatency_floor_ns: 1\n")]);
    fs::create_dir(project.path().join("empty")).expect("a folder");
    let output = project.report(&["r.jsonl", "missing.jsonl", "empty", "none-*.jsonl"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).contains("1 row on Test GPU, 1 with a reading"), "{}", stdout(&output));
    let errors = stderr(&output);
    assert!(errors.contains("error: missing.jsonl: "), "{errors}");
    assert!(errors.contains("error: empty: no file of records here"), "{errors}");
    assert!(errors.contains("error: none-*.jsonl: no file of records here"), "{errors}");

    let output = project.run(&["r.jsonl", "--profile", "bad.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), "error: bad.yaml: `hbm.bandwidth` is -1: a rate is positive and finite\n");
    let output = project.run(&["r.jsonl", "--profile", "none.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("error: cannot read the profile none.yaml: "), "{}", stderr(&output));
    assert_eq!(project.run(&["r.jsonl"]).status.code(), Some(2), "a profile is needed");
    assert_eq!(project.report(&["r.jsonl", "--format", "pdf"]).status.code(), Some(2));
}

#[test]
fn files_folders_globs_and_compression_come_to_the_same() {
    let project = Project::new(&[]);
    let night = project.path().join("nights/1");
    fs::create_dir_all(&night).expect("a folder");
    fs::write(night.join("a.jsonl"), COPY).expect("written");
    fs::write(night.join("b.jsonl.zst"), zstd::encode_all(GEMM.as_bytes(), 0).expect("compressed")).expect("written");
    fs::write(night.join("notes.txt"), "no record").expect("written");
    let all = project.report(&["nights/1/a.jsonl", "nights/1/b.jsonl.zst"]);
    assert_eq!(all.status.code(), Some(0), "{}", stderr(&all));
    assert!(stdout(&all).contains("2 rows on Test GPU, 2 with a reading"));
    assert_eq!(project.report(&["nights"]).stdout, all.stdout);
    assert_eq!(project.report(&["nights/*/*.jsonl*"]).stdout, all.stdout);
}

#[test]
fn an_output_file_gets_what_the_terminal_would_without_colour() {
    let project = Project::new(&[("r.jsonl", &everything())]);
    let printed = project.report(&["r.jsonl"]);
    let kept = project.report(&["r.jsonl", "--output-file", "report.txt"]);
    assert_eq!((kept.status.code(), stdout(&kept).as_str()), (Some(1), ""));
    assert_eq!(project.read("report.txt"), stdout(&printed));
    assert!(!stdout(&printed).contains('\u{1b}'));
    let coloured =
        project.command(&["r.jsonl", "--profile", "gpu.yaml"]).env("CLICOLOR_FORCE", "1").output().expect("runs");
    assert!(stdout(&coloured).contains("\u{1b}["));
    let nowhere = project.report(&["r.jsonl", "--output-file", "no/such/folder.txt"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(stderr(&nowhere).starts_with("error: cannot write no/such/folder.txt: "));
}

/// JSON reads them a second time, while it is written.
#[test]
fn a_report_may_take_the_place_of_its_records() {
    for format in ["table", "json", "csv", "markdown", "junit"] {
        let project = Project::new(&[("r.jsonl", &healthy())]);
        let printed = project.report(&["r.jsonl", "--format", format]);
        let kept = project.report(&["r.jsonl", "--format", format, "--output-file", "r.jsonl"]);
        assert_eq!((kept.status.code(), stdout(&kept).as_str()), (Some(0), ""), "{}", stderr(&kept));
        assert_eq!(project.read("r.jsonl"), stdout(&printed), "{format}");
    }
}

/// The table as a terminal of that width shows it.
fn table(records: &str, width: Option<usize>) -> String {
    let project = Project::new(&[("r.jsonl", records)]);
    let profile = Profile::from_yaml(PROFILE).expect("a profile");
    let report = Report::new(load(&[project.path().join("r.jsonl")]).records, &profile);
    let mut out = Vec::new();
    report::table(&report, &profile, TableOptions { width }, &mut out).expect("written");
    anstream::adapter::strip_str(&String::from_utf8(out).expect("UTF-8")).to_string()
}

#[test]
fn a_table_keeps_to_the_width_of_the_terminal() {
    for width in [40, 60, 80, 120, 200] {
        let text = table(&healthy(), Some(width));
        let widest = text.lines().map(UnicodeWidthStr::width).max();
        assert!(widest <= Some(width), "{width}: {widest:?}\n{text}");
        insta::assert_snapshot!(format!("table_{width}"), text);
    }
    let wide = table(&healthy(), None);
    assert!(wide.contains("the profile is of Test GPU, and it ran on Other GPU"), "without a width nothing is cut");
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let many = vec![COPY; 5_000].join("\n");
    let project = Project::new(&[("r.jsonl", &many)]);
    let mut child = project
        .command(&["r.jsonl", "--profile", "gpu.yaml", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    let mut pipe = child.stdout.take().expect("a pipe");
    pipe.read_exact(&mut [0; 64]).expect("the start");
    drop(pipe);
    let output = child.wait_with_output().expect("ends");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

const NIGHTLY: &str = r#"<testsuites><testsuite name="pytest">
  <testcase name="test_copy[big-float16]"><properties>
    <property name="op" value="CopyFwdOp"/>
    <property name="tileops_device_busy_ms" value="1.25"/><property name="tileops_timing" value="cupti"/>
    <property name="tileops_flops" value="500000000"/><property name="tileops_bytes" value="1000000000"/>
    <property name="tileops_dtype" value="float16"/>
    <property name="torch_device_busy_ms" value="2.5"/><property name="torch_timing" value="cupti"/>
  </properties></testcase>
  <testcase name="test_copy[skipped]"><skipped message="no kernel"/></testcase>
</testsuite></testsuites>"#;

#[test]
fn an_imported_nightly_prices_like_our_own_records() {
    let project = Project::new(&[("night.xml", NIGHTLY), ("roofs.yaml", "CopyFwdOp: {float16: cuda_core.fp32}\n")]);
    let mut encoder = liblzma::read::XzEncoder::new(NIGHTLY.as_bytes(), 6);
    let mut compressed = Vec::new();
    encoder.read_to_end(&mut compressed).expect("compressed");
    fs::write(project.path().join("night.xml.xz"), compressed).expect("written");

    let options = ["--device", "Test GPU", "--roofs", "roofs.yaml"];
    let plain = project.run(&[&["import", "night.xml"], options.as_slice()].concat());
    assert_eq!((plain.status.code(), stdout(&plain).lines().count()), (Some(0), 2), "{}", stderr(&plain));
    assert_eq!(stderr(&plain), "2 records; 1 test cases state no time\n");
    let packed = project.run(&[&["import", "night.xml.xz", "--output-file", "n.jsonl"], options.as_slice()].concat());
    assert_eq!((packed.status.code(), stdout(&packed).as_str()), (Some(0), ""));
    assert_eq!(project.read("n.jsonl"), stdout(&plain));

    let output = project.report(&["n.jsonl", "--format", "json"]);
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let row = &report["rows"][0];
    assert_eq!((&row["efficiency"], &row["against_best_peer"]), (&0.8.into(), &0.5.into()));
}

#[test]
fn an_import_names_what_it_loses() {
    let broken = NIGHTLY.replace("\"1.25\"", "\"fast\"");
    let project = Project::new(&[("night.xml", &broken)]);
    let output = project.run(&["import", "night.xml"]);
    assert_eq!((output.status.code(), stdout(&output).lines().count()), (Some(2), 1));
    let expected =
        "error: night.xml: case `test_copy[big-float16]`: `tileops_device_busy_ms` is `fast`, which is no number\n";
    assert!(stderr(&output).starts_with(expected), "{}", stderr(&output));
    assert_eq!(project.run(&["import", "none.xml"]).status.code(), Some(2));
}

#[test]
fn the_page_is_whole_and_record_text_stays_text() {
    let hostile = COPY.replace("big-float16", "</script><script>alert(1)</script><!--");
    let project = Project::new(&[("r.jsonl", &format!("{hostile}\n{GEMM}"))]);
    let output = project.report(&["r.jsonl", "--html", "report.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("2 rows on Test GPU"), "the table is printed beside the page");
    let page = project.read("report.html");
    assert!(!page.contains("<script>alert") && !page.contains("/*{{"));
    let (_, data) = page.split_once("<script id=\"data\" type=\"application/json\">").expect("the data");
    let (data, _) = data.split_once("</script>").expect("its end");
    let data: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(data["rows"][0]["case"], "</script><script>alert(1)</script><!--");
    // Nothing on the page loads from elsewhere.
    let markup = page.split("<script>").next().expect("a head");
    assert!(!markup.contains("http://") && !markup.contains("https://") && !markup.contains("src="));
}

#[test]
fn the_documentations_worked_example_is_what_the_program_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("docs/roofline.md")).expect("the page").replace("\r\n", "\n");
    let block = |language: &str| {
        let (_, rest) = text.split_once("## A worked example").expect("the example");
        let (_, rest) = rest.split_once(&format!("```{language}\n")).expect("a block");
        rest.split_once("```").expect("its end").0
    };
    let project = Project::new(&[("r.jsonl", block("json"))]);
    let profile = root.join("profiles/h200.yaml");
    let output = project.run(&["r.jsonl", "--profile", &profile.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), block("text"));
}

#[test]
fn the_svg_stands_on_its_own_in_light_and_dark() {
    let project = Project::new(&[("r.jsonl", &everything())]);
    let output = project.report(&["r.jsonl", "--svg", "plot.svg"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let svg = project.read("plot.svg");
    let mut reader = quick_xml::Reader::from_str(&svg);
    let mut texts = Vec::new();
    loop {
        match reader.read_event().expect("well-formed XML") {
            quick_xml::events::Event::Text(text) => texts.push(String::from_utf8_lossy(&text).trim().to_owned()),
            quick_xml::events::Event::Eof => break,
            _ => {}
        }
    }
    for expected in [
        "Roofline plot of Test GPU: 5 rows",
        "Roofline of Test GPU",
        "1 formula error",
        "1 anomaly",
        "1 latency-bound",
        "1 at ceiling",
        "1 below the ceiling",
        "tensor_core.bf16 1.00 PFLOP/s",
        "cuda_core.fp32 100 TFLOP/s",
        "memory 1.00 TB/s",
        "Arithmetic intensity, FLOP/B",
    ] {
        assert!(texts.iter().any(|text| text == expected), "{expected}: {texts:?}");
    }
    assert!(svg.contains("@media (prefers-color-scheme:dark)"));
    assert!(!svg.contains("<script") && !svg.contains("href"), "nothing runs and nothing is loaded");
    // Every colour of the drawing has one for dark pages.
    for part in svg.split("fill=\"#").skip(1).chain(svg.split("stroke=\"#").skip(1)) {
        let colour = &part[..6];
        assert!(svg.contains(&format!("[fill=\"#{colour}\"]{{fill:#")), "#{colour}");
    }
}
