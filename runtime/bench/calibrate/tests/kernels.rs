//! Every kernel of the project compiles for the GPU that it is written for, and keeps its values in registers. The
//! compiler needs no GPU; where there is none of it either, this is skipped, except in CI.

#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use tileops_device::{Compiler, Library, resources};

const SOURCES: [(&str, &str); 1] = [("calibrate/src/kernels.cu", include_str!("../src/kernels.cu"))];

#[test]
fn kernels_compile_for_sm_90a_and_do_not_spill() {
    if let Err(error) = Library::Nvrtc.require() {
        assert!(std::env::var_os("CI").is_none(), "CI compiles the kernels: {error}");
        eprintln!("skipped: {error}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (file, source) in SOURCES {
        let compiler = Compiler::new("sm_90a").cache(Some(folder.path().to_owned()));
        let compiled = compiler.compile(file, source).expect("it compiles");
        let kernels = resources(&compiled.log);
        let declared = source.matches("extern \"C\" __global__").count();
        assert_eq!(kernels.len(), declared, "{file}: the log names every kernel\n{}", compiled.log);
        for kernel in &kernels {
            assert_eq!(kernel.spilled_bytes, 0, "{file}: `{}` spills", kernel.kernel);
            assert!(kernel.registers > 0 && kernel.registers <= 255, "{file}: {kernel:?}");
        }
        let again = compiler.compile(file, source).expect("it is in the cache");
        assert!(again.is_cached && again.cubin == compiled.cubin && again.log == compiled.log, "{file}");
        let other = compiler.compile(file, &format!("{source}\n// changed")).expect("it compiles");
        assert!(!other.is_cached, "{file}: another source is another result");
    }
}

#[test]
fn a_source_that_is_wrong_says_where() {
    if Library::Nvrtc.require().is_err() {
        return;
    }
    let source = "extern \"C\" __global__ void wrong(float* p) {\n  *p = nothing;\n}\n";
    let error = Compiler::new("sm_90a").cache(None).compile("wrong.cu", source).expect_err("it is refused");
    let text = error.to_string();
    assert!(text.contains("wrong.cu(2)") && text.contains("nothing"), "{text}");
}
