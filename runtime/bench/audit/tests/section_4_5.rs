//! roofline.txt §4.5, sentence by sentence.

use std::sync::Arc;

use tileops_analyzer::lang::{DType, Value};
use tileops_analyzer::model::TensorRole;
use tileops_analyzer::text::TextRange;
use tileops_analyzer::workload::{Call, CallTensor, Effect};
use tileops_audit::counters::{self, Unusable};
use tileops_audit::ncu::{READ, WRITE};
use tileops_audit::verdict::PREMISE;
use tileops_audit::{Audited, Candidate, Exemptions, Plan, Profile, Row, Run, Verdict, judge, report};

const HEAD: &str = r#""ID","Kernel Name","Metric Name","Metric Unit","Metric Value""#;

/// What Nsight Compute prints of kernels that read and wrote so much.
fn profile(kernels: &[(&str, &str)]) -> Profile {
    let line = |(id, (read, written)): (usize, &(&str, &str))| {
        format!(
            "\"{id}\",\"k{id}\",\"{READ}\",\"byte\",\"{read}\"\n\"{id}\",\"k{id}\",\"{WRITE}\",\"byte\",\"{written}\""
        )
    };
    let lines: Vec<String> = kernels.iter().enumerate().map(line).collect();
    Profile::parse(&format!("==PROF== Connected\n{HEAD}\n{}", lines.join("\n"))).expect("a table")
}

fn tensor(elements: i128, effect: Effect) -> Option<CallTensor> {
    let role = if effect == Effect::Write { TensorRole::Output } else { TensorRole::Input };
    Some(CallTensor { role, shape: vec![elements], dtype: DType::Float16, effect, values: None })
}

/// A call of `N` elements and the index `window`, which may be absent.
fn call(n: i128, window: Value) -> Call {
    Call {
        row: 0,
        range: TextRange::default(),
        case_id: "large-float16".to_owned(),
        params: vec![(Arc::from("window"), window)],
        indices: vec![(Arc::from("N"), Value::Int(n))],
        tensors: vec![
            (Arc::from("x"), tensor(n, Effect::Read)),
            (Arc::from("mask"), None),
            (Arc::from("y"), tensor(n, Effect::Write)),
        ],
    }
}

fn run(run: Run, declared: Option<u128>, exemptions: &str) -> Audited {
    let call = call(500_000, Value::Int(128));
    let exemptions = if exemptions.is_empty() {
        Exemptions::default()
    } else {
        Exemptions::from_yaml(exemptions).expect("a configuration")
    };
    judge(&Row { op: "WindowFwdOp", call: &call, declared, bytes: Some(2_000_000), run }, &exemptions)
}

fn measured(read: &str) -> Run {
    Run::Measured { profile: profile(&[(read, "400,000")]), calls: 1 }
}

fn of(read: &str) -> Verdict {
    run(measured(read), Some(1_000_000), "").verdict
}

const EXEMPT: &str = "
exemptions:
  - op: WindowFwdOp
    when: present(window) and window < N
    reason: Positions outside of the window are not loaded.
";

#[test]
fn reads_that_fall_short_of_the_declared_half_fail() {
    assert_eq!(of("949,000"), Verdict::Fail);
    assert_eq!(of("950,000"), Verdict::Ok, "5 % is measurement");
    assert_eq!(of("1,000,000"), Verdict::Ok);
}

#[test]
fn reads_that_far_exceed_it_are_a_warning() {
    assert_eq!(of("1,500,000"), Verdict::Ok);
    assert_eq!(of("1,500,001"), Verdict::Warn);
    let warned = run(measured("3,000,000"), Some(1_000_000), "");
    assert_eq!(
        warned.why,
        "300.0 % of the declared 1.00 MB were read (3.00 MB): several passes, or what replaying costs"
    );
}

#[test]
fn the_write_side_is_measured_and_reported_and_never_judged() {
    for written in ["0", "1,000,000", "99,000,000,000"] {
        let audited = run(Run::Measured { profile: profile(&[("1,000,000", written)]), calls: 1 }, Some(1_000_000), "");
        assert_eq!(audited.verdict, Verdict::Ok, "{written}");
        assert_eq!(audited.written, Some(written.replace(',', "").parse().expect("a number")));
        assert_eq!(audited.declared_write, Some(1_000_000));
    }
    let text = report::text(&[run(measured("1,000,000"), Some(1_000_000), "")], &Exemptions::default());
    assert_eq!(
        text.lines().skip(3).take(4).collect::<Vec<_>>(),
        [
            "    op           case              read  declared    share  kernels  written  declared",
            "    WindowFwdOp  large-float16  1.00 MB   1.00 MB  100.0 %        1   400 kB   1.00 MB",
            "",
            "writes are reported and never judged: what still lies in the L2 cache at the end is not counted",
        ],
        "{text}"
    );
    // A write that was not counted costs the verdict on the reads nothing.
    let unwritten = run(Run::Measured { profile: profile(&[("1,000,000", "n/a")]), calls: 1 }, Some(1_000_000), "");
    assert_eq!((unwritten.verdict, unwritten.written), (Verdict::Ok, None));
}

#[test]
fn a_verdict_states_its_premise() {
    let cold = |premise: &str| premise.contains("replay from cold caches can only add reads");
    let fetched = |premise: &str| premise.contains("every conforming kernel has to fetch what the formula charges");
    assert!(PREMISE.contains("cold caches") && fetched(PREMISE));
    for (read, exempt, both, verdict) in [
        ("1", "", (true, true), Verdict::Fail),
        ("9,000,000", "", (true, false), Verdict::Warn),
        ("1", EXEMPT, (false, true), Verdict::Exempt),
        ("1,000,000", "", (true, true), Verdict::Ok),
    ] {
        let audited = run(measured(read), Some(1_000_000), exempt);
        let premise = audited.premise.expect("a verdict on the reads has one");
        assert_eq!((audited.verdict, (cold(premise), fetched(premise))), (verdict, both), "{premise}");
        let text = report::text(&[audited], &Exemptions::from_yaml(EXEMPT).expect("a configuration"));
        let stated = format!("  premise: {premise}");
        assert_eq!(text.lines().nth(1), Some(&*stated), "right below its verdict: {text}");
    }
    assert_eq!(run(measured("1"), None, "").premise, None, "there is no verdict to state it with");
}

#[test]
fn the_kernels_of_a_call_count_together() {
    let two = Run::Measured {
        profile: profile(&[("600,000", "0"), ("600,000", "0"), ("600,000", "0"), ("600,000", "0")]),
        calls: 2,
    };
    let audited = run(two, Some(1_200_000), "");
    assert_eq!((audited.verdict, audited.read, audited.kernels), (Verdict::Ok, Some(1_200_000.0), Some(2.0)));
}

#[test]
fn a_shortfall_inside_a_configured_exception_is_exempt_with_its_reason() {
    let audited = run(measured("300,000"), Some(1_000_000), EXEMPT);
    assert_eq!(audited.verdict, Verdict::Exempt);
    assert_eq!(audited.exemption.as_deref(), Some("present(window) and window < N"));
    assert!(audited.why.ends_with("; Positions outside of the window are not loaded."), "{}", audited.why);
}

#[test]
fn rows_outside_of_the_exception_are_judged_as_before() {
    let exemptions = Exemptions::from_yaml(EXEMPT).expect("a configuration");
    for (window, expected) in
        [(Value::Int(128), Verdict::Exempt), (Value::Int(500_000), Verdict::Fail), (Value::None, Verdict::Fail)]
    {
        let call = call(500_000, window.clone());
        let row =
            Row { op: "WindowFwdOp", call: &call, declared: Some(1_000_000), bytes: None, run: measured("300,000") };
        assert_eq!(judge(&row, &exemptions).verdict, expected, "{window:?}");
        let other = Row { op: "OtherFwdOp", ..row };
        assert_eq!(judge(&other, &exemptions).verdict, Verdict::Fail, "the exception is another op's");
    }
    // The exception is from a shortfall, from nothing else.
    assert_eq!(run(measured("1,000,000"), Some(1_000_000), EXEMPT).verdict, Verdict::Ok);
    assert_eq!(run(measured("9,000,000"), Some(1_000_000), EXEMPT).verdict, Verdict::Warn);
}

#[test]
fn the_form_of_a_condition_is_checked() {
    let config = |when: &str, reason: &str| format!("exemptions:\n  - {{op: A, when: '{when}', reason: '{reason}'}}\n");
    let error = |text: &str| {
        let errors = Exemptions::from_yaml(text).expect_err(text);
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert!(error(&config("N > ", "r")).starts_with("exemptions[0] (A): `when` is no expression: "));
    assert_eq!(
        error(&config("True", "r")),
        "exemptions[0] (A): `when: True` reads nothing of the call, and would exempt every row: write a condition over its \
         parameters and indices"
    );
    assert_eq!(error(&config("1 < 2", "r")).lines().count(), 1);
    assert_eq!(
        error(&config("N + 1", "r")),
        "exemptions[0] (A): `when: N + 1` is no condition: write a comparison, such as `S_kv > 4096`"
    );
    assert!(error(&config("N > 1", "  ")).contains("states no reason"));
    assert!(error("exemptions: [{op: A, when: N > 1}]").contains("missing field `reason`"));
    assert!(error("exemptions: [{op: A, when: N > 1, reason: r, until: 2027}]").contains("unknown field `until`"));
    let twice = "exemptions: [{op: A, when: N > 1, reason: r}, {op: A, when: N > 1, reason: s}]";
    assert_eq!(error(twice), "exemptions[1] (A): the same condition stands above");
    let two = "exemptions: [{op: A, when: '1', reason: r}, {op: B, when: 'N >', reason: r}]";
    assert_eq!(error(two).lines().count(), 2, "one mistake hides no other");
}

#[test]
fn a_condition_names_what_the_calls_have() {
    let calls = [call(500_000, Value::Int(128))];
    let check = |when: &str| {
        let config = format!(
            "exemptions:\n  - {{op: WindowFwdOp, when: '{when}', reason: r}}\n  - {{op: Gone, when: N > 1, reason: r}}\n"
        );
        let exemptions = Exemptions::from_yaml(&config).expect("well formed");
        let errors = exemptions.check(|op| (op == "WindowFwdOp").then_some(calls.as_slice()));
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(check("present(mask) and N > 1"), ["exemptions[1] (Gone): the manifest has no such op"]);
    assert_eq!(
        check("windw < 4")[0],
        "exemptions[0] (WindowFwdOp): `windw` is no parameter, index or tensor of the op's calls; `window` is close. They have N, \
         mask, window, x, y"
    );
}

#[test]
fn a_condition_without_a_value_for_the_row_exempts_nothing() {
    let config = "exemptions: [{op: WindowFwdOp, when: \"N // (window - 128) > 1\", reason: r}]";
    let audited = run(measured("300,000"), Some(1_000_000), config);
    assert_eq!(audited.verdict, Verdict::Error);
    assert!(audited.why.contains("has no value: "), "{}", audited.why);
    assert_eq!(
        run(measured("300,000"), Some(1_000_000), "exemptions: [{op: WindowFwdOp, when: \"len((N, 1))\", reason: r}]")
            .verdict,
        Verdict::Error
    );
}

#[test]
fn an_op_that_declares_nothing_gets_no_verdict_which_is_not_a_pass() {
    let audited = run(measured("1,000,000"), None, "");
    assert_eq!((audited.verdict, audited.read), (Verdict::NoVerdict, Some(1_000_000.0)), "measured all the same");
    assert_eq!(report::exit_code(&[audited]), 1);
}

#[test]
fn never_run_or_no_read_at_all_is_skipped() {
    let audited = run(Run::Not("no kernel for this row".to_owned()), Some(1_000_000), "");
    assert_eq!((audited.verdict, audited.why.as_str()), (Verdict::Skipped, "no kernel for this row"));
    let mut fill = call(500_000, Value::Int(1));
    fill.tensors.retain(|(name, _)| &**name != "x");
    let row = Row { op: "FillFwdOp", call: &fill, declared: Some(0), bytes: Some(1_000_000), run: measured("64") };
    assert_eq!(judge(&row, &Exemptions::default()).verdict, Verdict::Skipped);
}

#[test]
fn no_read_of_what_is_bound_is_skipped_inside_of_an_exception_alone() {
    let inside = "exemptions: [{op: WindowFwdOp, when: \"N == 500000\", reason: nothing decides}]";
    let audited = run(measured("64"), Some(0), inside);
    assert_eq!(audited.verdict, Verdict::Skipped, "{}", audited.why);
    assert_eq!(audited.why, "the formula declares no read; nothing decides");
    assert_eq!(audited.exemption.as_deref(), Some("N == 500000"));
    assert_eq!(run(measured("64"), Some(0), &inside.replace("==", "!=")).verdict, Verdict::Error);
    assert_eq!(run(measured("64"), Some(0), &inside.replace("N ==", "len((N, 1)) or N ==")).verdict, Verdict::Error);
}

/// The rows of our own manifest that read nothing of what they bind are those that our exceptions name.
#[test]
fn our_exceptions_are_of_our_rows() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let manifest = tileops_bench::rows::Manifest::read(&root.join("manifest")).expect("our manifest is clean");
    let text = std::fs::read_to_string(root.join("runtime/bench/audit/exemptions.yaml")).expect("it can be read");
    let exemptions = Exemptions::from_yaml(&text).expect("it is a configuration");
    let entries: Vec<_> = manifest.entries().collect();
    let calls = |op: &str| entries.iter().find(|entry| entry.op() == op).map(|entry| entry.calls());
    assert_eq!(exemptions.check(calls), []);
    let mut used = std::collections::BTreeSet::new();
    for entry in &entries {
        for call in entry.calls() {
            let op = entry.called(tileops_ops::generated::REGISTRY, call).expect("a row can be called");
            let declared = op.eval_roofline_read_bytes().transpose().expect("a row has a price");
            let run = Run::Not("this test runs none".to_owned());
            let row = Row { op: entry.op(), call, declared, bytes: None, run };
            let exempt = exemptions.of(row.op, call).expect("the condition has a value");
            used.extend(exempt.map(|exemption| exemption.op.clone()));
            // That it was not run is no error; that it reads nothing of what is bound is one, where no exception holds.
            let audited = judge(&row, &Exemptions::default());
            assert_eq!(audited.verdict == Verdict::Error, exempt.is_some(), "{} {}", row.op, call.case_id);
            assert_eq!(judge(&row, &exemptions).verdict, Verdict::Skipped, "{} {}", row.op, call.case_id);
        }
    }
    assert_eq!(used.len(), exemptions.iter().count(), "each of them is of some row");
}

#[test]
fn no_usable_measurement_is_an_error() {
    assert_eq!(
        run(measured("1,000,000"), Some(0), "").why,
        "the declared read half is 0, and the call binds 1000000 bytes that it reads"
    );
    let errors = [
        run(measured("1,000,000"), Some(0), ""),
        run(measured("n/a"), Some(1_000_000), ""),
        run(Run::Measured { profile: Profile::default(), calls: 1 }, Some(1_000_000), ""),
        run(Run::Measured { profile: profile(&[("1", "1")]), calls: 0 }, Some(1_000_000), ""),
        run(Run::Failed("the kernel hung".to_owned()), Some(1_000_000), ""),
    ];
    for error in &errors {
        assert_eq!(error.verdict, Verdict::Error, "{}", error.why);
    }
    assert_eq!(errors[1].why, format!("a kernel has no value of `{READ}`"));
    assert_eq!(report::exit_code(&errors), 1);
}

#[test]
fn fail_error_and_no_verdict_fail_the_audit_and_nothing_else_does() {
    let mut row = run(measured("1,000,000"), Some(1_000_000), "");
    for verdict in Verdict::ALL {
        row.verdict = verdict;
        let fails = ["FAIL", "ERROR", "NO-VERDICT"].contains(&verdict.word());
        assert_eq!(report::exit_code(&[row.clone()]), u8::from(fails), "{}", verdict.word());
    }
    assert_eq!(report::exit_code(&[]), 0);
}

#[test]
fn the_rows_cover_the_formulas_branches_largest_first() {
    let candidate = |op: &str, case: &str, branch: &str, bytes: u128| Candidate {
        op: op.to_owned(),
        case: case.to_owned(),
        branch: vec![("causal".to_owned(), branch.to_owned())],
        bytes,
    };
    let candidates = [
        candidate("AFwdOp", "small", "true", 10),
        candidate("AFwdOp", "large", "true", 1_000),
        candidate("AFwdOp", "other", "false", 100),
        candidate("BFwdOp", "one", "-", 500),
    ];
    let cases = |rows: &[&Candidate]| rows.iter().map(|c| c.case.clone()).collect::<Vec<_>>();
    let plan = Plan::new(&candidates, None);
    assert_eq!(cases(&plan.rows), ["large", "one", "other"], "every branch, by its largest row");
    let plan = Plan::new(&candidates, Some(2));
    assert_eq!(
        (cases(&plan.rows), cases(&plan.uncovered)),
        (vec!["large".to_owned(), "one".to_owned()], vec!["other".to_owned()])
    );
}

#[test]
fn counters_that_cannot_be_trusted_are_found_before_a_formula_is_judged() {
    let printed = |read: &str| format!("==PROF== Connected\n{HEAD}\n\"0\",\"copy\",\"{READ}\",\"byte\",\"{read}\"\n");
    assert_eq!(counters::check(&printed("67,114,752"), 67_108_864).map(|share| share > 1.0), Ok(true));
    assert!(matches!(counters::check(&printed("34,000,000"), 67_108_864), Err(Unusable::Implausible { .. })));
    assert_eq!(counters::check(&printed("n/a"), 67_108_864), Err(Unusable::NoMetric));
    assert_eq!(
        counters::check("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", 1),
        Err(Unusable::Permission)
    );
    assert_eq!(counters::check(HEAD, 1), Err(Unusable::NoKernel));
    assert!(matches!(counters::check("", 1), Err(Unusable::Csv(_))));
}

#[test]
fn a_report_has_the_worst_in_front_and_names_what_was_never_needed() {
    let rows = [
        run(measured("1,000,000"), Some(1_000_000), EXEMPT),
        run(measured("100"), Some(1_000_000), ""),
        run(Run::Not("no kernel".to_owned()), Some(1_000_000), ""),
    ];
    let exemptions = Exemptions::from_yaml(EXEMPT).expect("a configuration");
    let text = report::text(&rows, &exemptions);
    let verdicts = text.lines().filter(|line| !line.starts_with(' ') && line.contains(" row: "));
    assert_eq!(
        verdicts.collect::<Vec<_>>(),
        [
            "FAIL  1 row: fewer bytes were read than the formula declares, by over 5 %",
            "SKIPPED  1 row: not run, or nothing to read",
            "OK  1 row: what was read is what the formula declares",
        ],
        "{text}"
    );
    assert!(
        text.contains("note: no row fell short where `present(window) and window < N` of WindowFwdOp holds"),
        "{text}"
    );
    assert!(text.ends_with("3 rows of 1 op: 1 FAIL, 1 SKIPPED, 1 OK\nnot passed: 1 FAIL\n"), "{text}");
    let json = report::json(&rows, &exemptions);
    assert_eq!(json["verdicts"]["FAIL"], 1);
    assert_eq!((&json["rows"][1]["verdict"], &json["premise"]), (&"FAIL".into(), &PREMISE.into()));
    assert_eq!(json["rows"][0]["premise"], Verdict::Ok.premise().expect("a verdict on the reads has one"));
}

#[test]
fn a_report_says_what_to_do_next_and_puts_the_farthest_first() {
    let of = |case: &str, read: &str| Audited { case: case.to_owned(), ..run(measured(read), Some(1_000_000), "") };
    let rows = [of("little", "1,600,000"), of("most", "40,000,000"), of("more", "2,000,000")];
    let text = report::text(&rows, &Exemptions::default());
    assert!(text.starts_with("WARN  3 rows: over 1.5 times the declared bytes were read\n"), "{text}");
    let next = text.lines().find_map(|line| line.strip_prefix("  next: ")).expect("a warning says what to do");
    assert!(next.starts_with("of one kernel, look for what it reads more than once"), "{text}");
    let cases = text.lines().filter_map(|line| line.strip_prefix("    WindowFwdOp  ")?.split_whitespace().next());
    assert_eq!(cases.collect::<Vec<_>>(), ["most", "more", "little"], "{text}");
    let exempt = run(measured("300,000"), Some(1_000_000), EXEMPT);
    let text = report::text(&[exempt], &Exemptions::from_yaml(EXEMPT).expect("a configuration"));
    let reason = "\n      when present(window) and window < N: Positions outside of the window are not loaded.\n";
    assert!(text.contains(reason), "{text}");
    let text = report::text(&[run(Run::Failed("the kernel hung".to_owned()), Some(9), "")], &Exemptions::default());
    assert!(
        text.contains("\n    op           case\n    WindowFwdOp  large-float16\n      the kernel hung\n"),
        "{text}"
    );
}
