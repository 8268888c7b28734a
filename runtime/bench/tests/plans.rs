//! Every row of every op that has a kernel is planned, and every kernel of every plan compiles without spilling.
//!
//! Kernels are compiled where NVRTC is found: CI installs it, and needs no GPU. `TILEOPS_REQUIRE_NVRTC` makes its absence an
//! error.

use std::collections::BTreeMap;
use std::path::Path;

use tileops_analyzer::model::Status;
use tileops_bench::rows::Manifest;
use tileops_device::{Compiler, Library, resources};
use tileops_kernels::{Arg, Gpu, Multiply, PLANNERS, Plan, Source, Step, planner};
use tileops_ops::CheckedCall;
use tileops_ops::generated::REGISTRY;

fn manifest() -> Manifest {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifest");
    Manifest::read(&folder).expect("the manifest has no errors")
}

/// The plan of every row of every op that has a kernel: the op, the row, the plan.
fn plans() -> Vec<(String, String, Plan)> {
    let gpu = Gpu::h200();
    let manifest = manifest();
    let mut plans = Vec::new();
    for entry in manifest.entries() {
        let Some(planner) = planner(entry.op()) else { continue };
        for call in entry.calls() {
            let row = format!("{} {}", entry.op(), call.case_id);
            let op = entry.called(REGISTRY, call).unwrap_or_else(|error| panic!("{row}: {error}"));
            let checked = op.last_call().expect("it was called");
            let plan = planner(checked, &gpu).unwrap_or_else(|error| panic!("{row}: {error}"));
            for step in &plan.steps {
                match step {
                    Step::Product(multiply) => check_product(&row, checked, &plan, multiply),
                    Step::Launch(launch) => {
                        assert!(launch.grid.shared_bytes <= gpu.shared_bytes, "{row}: {:?}", launch.grid);
                    }
                    Step::Fill(..) => {}
                }
            }
            plans.push((entry.op().to_owned(), row, plan));
        }
    }
    plans
}

/// The sources of all plans, each with a row that launches it.
fn sources() -> BTreeMap<String, (Source, String)> {
    let mut sources = BTreeMap::new();
    for (_, row, plan) in plans() {
        for step in plan.steps {
            if let Step::Launch(launch) = step {
                sources.entry(launch.source.text()).or_insert((launch.source, row.clone()));
            }
        }
    }
    sources
}

/// Operands and result have as many bytes as their matrices, and what the product takes is there.
fn check_product(row: &str, call: &CheckedCall, plan: &Plan, multiply: &Multiply) {
    let product = multiply.product;
    let bytes = |argument: &Arg| match argument {
        Arg::Tensor(name) => call.tensor(name).unwrap_or_else(|e| panic!("{row}: {e}")).nbytes().expect("it is small"),
        Arg::Scratch(number) => plan.scratch[*number] as i128,
        other => panic!("{row}: {other:?} is no memory"),
    };
    let matrix = |across: u64, down: u64, element: usize| i128::from(product.batch * across * down * element as u64);
    assert_eq!(bytes(&multiply.a), matrix(product.rows, product.depth, product.a.element.bytes()), "{row}: A");
    assert_eq!(bytes(&multiply.b), matrix(product.depth, product.columns, product.b.element.bytes()), "{row}: B");
    assert_eq!(bytes(&multiply.d), matrix(product.rows, product.columns, product.d.bytes()), "{row}: D");
    assert_eq!(multiply.bias.is_some(), product.bias, "{row}");
    assert_eq!(multiply.scale_a.is_some(), product.a.scale.is_some(), "{row}");
    assert_eq!(multiply.scale_b.is_some(), product.b.scale.is_some(), "{row}");
    assert_eq!(multiply.c.is_some(), multiply.beta != 0.0, "{row}");
}

#[test]
fn every_op_that_has_a_kernel_computes_on_its_rows() {
    let plans = plans();
    let computes = |plan: &Plan| plan.steps.iter().any(|step| !matches!(step, Step::Fill(..)));
    let idle: Vec<&str> = plans.iter().filter(|(_, _, plan)| !computes(plan)).map(|(_, row, _)| row.as_str()).collect();
    assert!(idle.is_empty(), "rows whose plan launches no kernel and no product: {idle:?}");
    for (op, _) in PLANNERS.iter().flat_map(|family| family.iter()) {
        assert!(plans.iter().any(|(of, _, plan)| of == op && computes(plan)), "{op}");
    }
}

#[test]
fn an_entry_is_implemented_exactly_where_its_op_has_a_reference_and_a_kernel() {
    for entry in manifest().entries() {
        let has = (tileops_reference::of(entry.op()).is_some(), planner(entry.op()).is_some());
        let is_implemented = entry.analysis.entry.status.valid() == Some(&Status::Implemented);
        assert_eq!(has, (is_implemented, is_implemented), "{}: its reference and its kernel", entry.op());
    }
}

#[test]
fn every_kernel_compiles_and_keeps_its_values_in_registers() {
    if let Err(error) = Library::Nvrtc.require() {
        assert!(std::env::var_os("TILEOPS_REQUIRE_NVRTC").is_none(), "{error}");
        return;
    }
    let compiler = Compiler::new(Gpu::h200().architecture);
    let mut faults = Vec::new();
    for (text, (source, row)) in sources() {
        match compiler.compile(source.file, &text) {
            Err(error) => faults.push(format!("{row}: {error}")),
            Ok(compiled) => {
                for kernel in resources(&compiled.log).into_iter().filter(|kernel| kernel.spilled_bytes > 0) {
                    faults.push(format!("{row}: {} spills {} bytes", kernel.kernel, kernel.spilled_bytes));
                }
                // As where asynchronous products are made to wait for each other.
                for line in compiled.log.lines().filter(|line| line.contains("Potential Performance Loss")) {
                    faults.push(format!("{row}: {line}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_kernels_of_the_measurement_compile_for_every_architecture_that_profiles_are_of() {
    if let Err(error) = Library::Nvrtc.require() {
        assert!(std::env::var_os("TILEOPS_REQUIRE_NVRTC").is_none(), "{error}");
        return;
    }
    for architecture in ["sm_80", "sm_89", "sm_90a"] {
        let compiled = Compiler::new(architecture).compile("bench.cu", tileops_bench::machine::KERNELS);
        let compiled = compiled.unwrap_or_else(|error| panic!("{architecture}: {error}"));
        assert!(resources(&compiled.log).iter().all(|kernel| kernel.spilled_bytes == 0), "{}", compiled.log);
    }
}
