//! The page in a real Chromium: it renders, answers to mouse and keyboard, complains of nothing and loads nothing.
//!
//! Without a Chromium on the machine the tests say so and pass, except in CI, where they fail.

#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;
use tempfile::TempDir;

/// Notes every error and refused load, from before the page's own scripts on.
const WATCH: &str = r#"<script>
window.seen = [];
addEventListener("error", (e) => seen.push(`error: ${e.message}`));
addEventListener("unhandledrejection", (e) => seen.push(`rejection: ${e.reason}`));
document.addEventListener("securitypolicyviolation", (e) => seen.push(`refused: ${e.blockedURI}`));
for (const level of ["error", "warn"]) console[level] = (...words) => seen.push(`${level}: ${words.join(" ")}`);
</script>"#;

/// Uses the page as a person would, and writes what it saw into it.
const USE: &str = r##"<script>
addEventListener("load", async () => {
  const $ = (q) => document.querySelector(q);
  const all = (q) => [...document.querySelectorAll(q)];
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const key = (element, name) => element.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  const lines = () => all("#table tbody tr[data-row]");
  const painted = (id) => {
    const canvas = $(`${id} canvas`);
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    return pixels.some((value, at) => at % 4 === 3 && value > 0);
  };
  const out = {};
  try {
    await pause(50);
    out.title = document.title;
    out.rows = lines().length;
    out.count = $("#count").textContent;
    out.painted = ["#plot", "#histogram", "#peers"].map(painted);
    // Every rule of WCAG 2.1 A and AA, and what axe calls best practice, on the page as it is and with a row's facts open.
    const judge = async (when) => {
      if (!window.axe) return;
      // A colour on its way from one theme to the other is none of either.
      await pause(400);
      const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];
      const { violations, passes } = await axe.run(document, { runOnly: { type: "tag", values: tags } });
      out.judged = (out.judged ?? 0) + passes.length;
      out.violations = (out.violations ?? []).concat(violations.map((v) => `${when}: ${v.id} at ${v.nodes.map((n) => n.target.join(" ")).join(", ")}: ${v.help}`));
    };
    await judge("at first");
    out.labels = all("[role=img]").map((plot) => plot.getAttribute("aria-label").length > 40);
    out.errors = all("#error-list li").map((item) => item.textContent);
    out.unnamed = all("button").filter((b) => !(b.textContent.trim() || b.getAttribute("aria-label"))).length;
    out.landmarks = ["header", "main", "footer", "aside", "form[role=search]"].filter((name) => !$(name));
    out.captions = all("table").every((table) => table.caption);
    out.dark = document.documentElement.dataset.theme;
    $("#theme").click();
    out.toggled = document.documentElement.dataset.theme;
    out.firstByEfficiency = lines()[0].cells[0].textContent;
    out.sorted = all("th[aria-sort=ascending]").map((head) => head.textContent);
    all("#table th button")[0].click();
    all("#table th button")[0].click();
    out.resorted = all("th[aria-sort=descending]").map((head) => head.textContent);
    out.firstByOp = lines()[0].cells[0].textContent;
    lines()[0].focus();
    key(document.activeElement, "ArrowDown");
    out.moved = document.activeElement === lines()[1];
    key(document.activeElement, "Enter");
    await judge("with a row's facts, in the other theme");
    out.facts = $("#facts h3").textContent === lines()[1].cells[0].textContent && all("tr.detail").length === 1;
    const told = $("#facts").textContent;
    const { rows, shared } = JSON.parse($("#data").textContent);
    const record = rows.find((row) => row.op === $("#facts h3").textContent);
    record.device = shared[record.device];
    record.run = shared[record.run];
    record.timing.policy = shared[record.timing.policy];
    // Every word of the record is told, but those of a field that is told in other words: whether it fits, what bounds it.
    const { latency_bound, fits_l2, verdict, ...stated } = record;
    const wordsOf = (value) => (value !== null && typeof value === "object" ? Object.values(value).flatMap(wordsOf) : [value]).filter((word) => typeof word === "string" || typeof word === "boolean");
    const numbers = ["3954924560461193085", "100 kB", "60.0 kB", "[4, 8]", "[0, k 1]", "strides [8, 1]", "1980 MHz", "1965 MHz", "1995 MHz", "3201 MHz", "119.8 W", "43 °C", "62.9 MB", "1.20 µs", "1.10 µs to 1.30 µs"];
    out.words = wordsOf(stated).length;
    out.untold = [...wordsOf(stated).map(String), ...numbers].filter((text) => !told.includes(text));
    key(document.activeElement, "Enter");
    out.closed = all("tr.detail").length === 0;
    $("#text").value = "copy big";
    $("#text").dispatchEvent(new Event("input", { bubbles: true }));
    await pause(250);
    out.filtered = [lines().length, $("#count").textContent];
    $("#error-list button").click();
    await pause(50);
    out.error = [$("#facts h3").textContent, $("#count").textContent];
    $("#zoom-in").click();
    $("#zoom-all").click();
    out.resources = performance.getEntriesByType("resource").map((entry) => entry.name).filter((name) => !name.startsWith("data:"));
    out.elements = document.querySelectorAll("*").length;
    out.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    out.hostile = typeof window.broken;
  } catch (error) {
    seen.push(`probe: ${error.stack}`);
  }
  out.seen = window.seen;
  document.body.append(Object.assign(document.createElement("script"), { type: "application/json", id: "probe", textContent: JSON.stringify(out).replaceAll("<", "\\u003c") }));
});
</script>"##;

/// Uses the page and measures how long it takes to answer, painting included. Everything is done while the page loads:
/// a page is dumped when it has.
const HURRY: &str = r##"<script>
addEventListener("load", () => {
  const $ = (q) => document.querySelector(q);
  const paint = () => ["#plot", "#histogram", "#peers"].forEach((id) => echarts.getInstanceByDom($(id))?.getZr().flush());
  const out = { seen: window.seen };
  const measure = (name, act) => {
    const start = performance.now();
    act();
    paint();
    document.body.getBoundingClientRect();
    out[name] = performance.now() - start;
  };
  const submit = () => $("#filters").dispatchEvent(new Event("submit", { cancelable: true }));
  out.load = performance.now();
  measure("filter", () => { $("#text").value = "row-12"; submit(); });
  measure("unfilter", () => { $("#text").value = ""; submit(); });
  measure("sort", () => $("#table th button").click());
  measure("choose", () => $("#table tbody tr[data-row]").click());
  measure("theme", () => $("#theme").click());
  measure("zoom", () => $("#zoom-in").click());
  document.body.append(Object.assign(document.createElement("script"), { type: "application/json", id: "probe", textContent: JSON.stringify(out) }));
});
</script>"##;

/// Points at a point of the plot with a mouse, and presses it.
const POINT: &str = r##"<script>
addEventListener("load", () => {
  const out = {};
  try {
    const plot = document.querySelector("#plot");
    const chart = echarts.getInstanceByDom(plot);
    chart.getZr().flush();
    const many = chart.getOption().series.find((series) => String(series.id).startsWith("points-") && series.data.length > 1000);
    out.large = many.large;
    const [x, y] = chart.convertToPixel({ gridIndex: 0 }, many.data[700].slice(0, 2));
    const canvas = plot.querySelector("canvas");
    const box = canvas.getBoundingClientRect();
    const fire = (kind) => canvas.dispatchEvent(new MouseEvent(kind, { clientX: box.left + x, clientY: box.top + y, bubbles: true, cancelable: true, view: window }));
    fire("mousemove");
    out.tip = document.querySelector(".tip b")?.textContent;
    ["mousedown", "mouseup", "click"].forEach(fire);
    out.facts = document.querySelector("#facts h3")?.textContent;
  } catch (error) {
    seen.push(`probe: ${error.stack}`);
  }
  out.seen = window.seen;
  document.body.append(Object.assign(document.createElement("script"), { type: "application/json", id: "probe", textContent: JSON.stringify(out) }));
});
</script>"##;

fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let found = names.iter().flat_map(|name| folders.iter().map(move |f| f.join(name))).find(|path| path.is_file());
    assert!(found.is_some() || env::var_os("CI").is_none(), "CI has to have a Chromium on PATH");
    found
}

/// axe-core, which judges pages as a screen reader would meet them: where CI installs it, or where `AXE` says.
fn axe() -> Option<String> {
    let path = env::var_os("AXE").map(PathBuf::from).unwrap_or_else(|| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/ci/node_modules/axe-core/axe.min.js")
    });
    let found = fs::read_to_string(path).ok();
    assert!(found.is_some() || env::var_os("CI").is_none(), "CI has to have axe-core");
    // It speaks of script elements in its texts.
    found.map(|text| text.replace("</script", "<\\/script"))
}

/// The record with every field that one with a time may have, and with fields of another tool in each part.
fn detailed(record: &str) -> String {
    let mut record: Value = serde_json::from_str(record).expect("JSON");
    let more = serde_json::json!({
        "read_bytes": 60_000,
        "entry_hash": "e846b3570210b548",
        "seed": 3_954_924_560_461_193_085_u64,
        "data_terms": {"kept": "half of them"},
        "correctness": {"passed": true, "reference": "cpu-f64", "worst": 0.07, "judge": "another tool"},
        "tensors": [
            {"name": "x", "dtype": "float16", "shape": [4, 8], "strides": [8, 1], "effect": "read", "layout": "tiled"},
        ],
        "timing": {
            "reason": "none", "p10_ns": 1_100.0, "p90_ns": 1_300.0, "median_low_ns": 1_150.0, "median_high_ns": 1_250.0,
            "samples": 249, "kernels": 1, "excluded_copies_ns": 0.0, "clock": "device",
            "policy": {"l2": "read 256 MiB", "inputs": 5, "warmup": 6, "graph": false, "order": "at random"},
            "clocks": {
                "sm_mhz": 1980.0, "sm_min_mhz": 1965.0, "sm_max_mhz": 1995.0, "memory_mhz": 3201.0,
                "throttle": ["sw_power_cap"], "power_w": 119.763, "temperature_c": 43.0, "governor": "performance",
            },
        },
        "device": {
            "name": "NVIDIA H200", "driver": "580.159.04", "cuda": "13.0", "compute_capability": "9.0",
            "l2_bytes": 62_914_560, "uuid": "65fc4ba00fb62bb3", "board": "SXM",
        },
        "run": {
            "tool": "tileops-bench", "version": "0.1.0", "revision": "2ee3c8d1209f", "dirty": false,
            "started": "2026-11-30T01:30:35Z", "command": ["tileops-bench", "--budget", "0.12"],
            "libraries": {"cublaslt": "13.1"}, "night": "first",
        },
    });
    merge(&mut record, more);
    record.to_string()
}

fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            more.into_iter().for_each(|(name, value)| merge(into.entry(name).or_insert(Value::Null), value));
        }
        (into, more) => *into = more,
    }
}

/// Records of every kind, with names that are markup.
fn records(copies: usize) -> String {
    let record = |op: &str, case: &str, bytes: u64, flops: u64, ns: f64| {
        format!(
            r#"{{"schema":"tileops.record/1","op":"{op}","case":"{case}","family":"move","dtype":"float16","flops":{flops},"bytes":{bytes},"roof_key":"cuda_core.fp32","params":{{"axes":[0,{{"k":1}}]}},"tensors":[{{"name":"x","dtype":"float16","shape":[4,8],"effect":"read"}}],"timing":{{"source":"cupti","device_busy_ns":{ns},"policy":{{"l2":"read 256 MiB"}},"clocks":{{"sm_mhz":1980.0}}}},"device":{{"name":"NVIDIA H200"}},"run":{{"tool":"tileops-bench"}},"note":"by hand"}}"#
        )
    };
    let mut lines = vec![
        record("CopyFwdOp", "big", 1_000_000_000, 500_000_000, 250_000.0),
        record("AddFwdOp", "slow", 1_000_000_000, 500_000_000, 900_000.0),
        record("SumFwdOp", "wrong-formula", 1_000_000_000, 1_000, 100_000.0),
        detailed(&record("NegFwdOp", "tiny", 100_000, 50_000, 1_200.0)),
        record("</script><script>broken = 1</script>", "<img src=x onerror='broken = 1'>", 1_000_000, 9, 1_000_000.0),
        r#"{"schema":"tileops.record/1","op":"MulFwdOp","case":"not-timed","flops":1,"bytes":2}"#.to_owned(),
        r#"{"schema":"tileops.record/1","op":"CopyFwdOp","case":"big","peer":"<b>torch</b>","timing":{"source":"cupti","device_busy_ns":300000}}"#.to_owned(),
    ];
    for copy in 0..copies {
        lines.push(record(
            "ReluFwdOp",
            &format!("row-{copy}"),
            1_000_000 + copy as u64,
            1_000_000,
            2_000.0 + copy as f64,
        ));
    }
    lines.join("\n")
}

/// The page of `records`, with the watch before everything else and `probe` after it.
fn page(folder: &Path, records: &str, probe: &str) -> PathBuf {
    fs::write(folder.join("r.jsonl"), records).expect("written");
    let profile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles/h200.yaml");
    let output = Command::new(env!("CARGO_BIN_EXE_tileops-roofline"))
        .args(["r.jsonl", "--html", "report.html", "--profile"])
        .arg(profile)
        .current_dir(folder)
        .output()
        .expect("the program runs");
    assert!(output.status.code() == Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let path = folder.join("report.html");
    let page = fs::read_to_string(&path).expect("a page");
    let mut page = page.replacen("<head>", &format!("<head>{WATCH}"), 1);
    // The last one: the library's text holds one, too.
    let end = page.rfind("</body>").expect("an end");
    let axe = axe().map(|text| format!("<script>{text}</script>")).unwrap_or_default();
    page.insert_str(end, &format!("{axe}{probe}"));
    fs::write(&path, page).expect("written");
    path
}

/// What the page's user saw at a window of that size.
/// Clocks run in virtual time, so that nothing waits, unless `budget` is none.
fn visit(chromium: &Path, folder: &TempDir, page: &Path, size: &str, dark: bool, budget: Option<u32>) -> Value {
    let output = Command::new(chromium)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--host-resolver-rules=MAP * ~NOTFOUND",
        ])
        .args(["--dump-dom", &format!("--window-size={size}")])
        .args(budget.map(|ms| format!("--virtual-time-budget={ms}")))
        .arg(format!("--blink-settings=preferredColorScheme={}", if dark { 0 } else { 1 }))
        .arg(format!("--user-data-dir={}", folder.path().join(format!("chromium-{size}-{dark}")).display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("Chromium runs");
    let dom = String::from_utf8_lossy(&output.stdout);
    let found = dom.split_once("id=\"probe\">").and_then(|(_, rest)| rest.split_once("</script>"));
    let Some((probe, _)) = found else {
        panic!("the page's user never finished: {}\n{}", String::from_utf8_lossy(&output.stderr), dom.len())
    };
    serde_json::from_str(probe).expect("JSON")
}

#[test]
fn the_page_works_in_chromium() {
    let Some(chromium) = chromium() else {
        println!("skipped: no Chromium on PATH");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), &records(0), USE);
    for (size, dark) in [("1280,900", false), ("1280,900", true), ("500,844", false)] {
        let saw = visit(&chromium, &folder, &page, size, dark, Some(20_000));
        assert_eq!(saw["seen"], Value::Array(vec![]), "{saw:#}");
        assert_eq!(saw["resources"], Value::Array(vec![]), "{saw:#}");
        assert_eq!(saw["title"], "Roofline · NVIDIA H200");
        assert_eq!((&saw["rows"], &saw["count"]), (&6.into(), &"6 of 6 rows".into()));
        assert_eq!(saw["painted"], serde_json::json!([true, true, true]));
        assert_eq!(saw["labels"], serde_json::json!([true, true, true]));
        let error = "SumFwdOp wrong-formula: 10.0 TB/s is above the theoretical 4.81 TB/s of hbm";
        assert_eq!(saw["errors"], serde_json::json!([error]));
        assert_eq!((&saw["unnamed"], &saw["captions"]), (&0.into(), &true.into()));
        assert_eq!(saw["landmarks"], Value::Array(vec![]));
        let themes = if dark { ["dark", "light"] } else { ["light", "dark"] };
        assert_eq!((&saw["dark"], &saw["toggled"]), (&themes[0].into(), &themes[1].into()));
        assert_eq!(
            (&saw["sorted"], &saw["resorted"]),
            (&serde_json::json!(["Efficiency"]), &serde_json::json!(["Op"]))
        );
        assert_eq!(saw["firstByEfficiency"], "</script><script>broken = 1</script>");
        assert_eq!(saw["firstByOp"], "SumFwdOp");
        assert!(saw["words"].as_u64() > Some(25), "{}", saw["words"]);
        assert_eq!(saw["untold"], Value::Array(vec![]), "the facts of a row are all that its record says");
        for step in ["moved", "facts", "closed"] {
            assert_eq!(saw[step], true, "{step}: {saw:#}");
        }
        assert_eq!(saw["filtered"], serde_json::json!([1, "1 of 6 rows"]));
        assert_eq!(saw["error"][0], "SumFwdOp");
        assert_eq!(saw["overflow"], 0, "nothing is wider than the window at {size}");
        assert_eq!(saw["hostile"], "undefined", "record text is never markup");
        if saw["judged"].is_null() {
            println!("skipped: axe-core is not installed");
        } else {
            assert!(saw["judged"].as_u64() > Some(40), "axe judged: {}", saw["judged"]);
            assert_eq!(saw["violations"], Value::Array(vec![]), "at {size}, dark: {dark}");
        }
    }
}

#[test]
fn five_thousand_rows_stay_a_small_page() {
    let Some(chromium) = chromium() else {
        println!("skipped: no Chromium on PATH");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), &records(5_000), USE);
    let saw = visit(&chromium, &folder, &page, "1280,900", false, Some(20_000));
    assert_eq!(saw["seen"], Value::Array(vec![]), "{saw:#}");
    assert_eq!(saw["rows"], 100);
    assert_eq!(saw["count"], "5,006 of 5,006 rows");
    assert!(saw["elements"].as_u64() < Some(3_000), "{}", saw["elements"]);
}

/// So many points are drawn as one, and each is still its row's.
#[test]
fn one_of_five_thousand_points_gives_its_facts() {
    let Some(chromium) = chromium() else {
        println!("skipped: no Chromium on PATH");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), &records(5_000), POINT);
    let saw = visit(&chromium, &folder, &page, "1280,900", false, None);
    assert_eq!(saw, serde_json::json!({"large": true, "tip": "ReluFwdOp", "facts": "ReluFwdOp", "seen": []}));
}

#[test]
fn how_fast_five_thousand_rows_answer() {
    let Some(chromium) = chromium() else {
        println!("skipped: no Chromium on PATH");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path(), &records(5_000), HURRY);
    let saw = visit(&chromium, &folder, &page, "1280,900", false, None);
    assert_eq!(saw["seen"], Value::Array(vec![]), "{saw:#}");
    for step in ["load", "filter", "unfilter", "sort", "choose", "theme", "zoom"] {
        let ms = saw[step].as_f64().unwrap_or_else(|| panic!("{step} was measured: {saw:#}"));
        println!("{step:>10}: {ms:.0} ms");
    }
}
