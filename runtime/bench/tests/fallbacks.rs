//! Shapes that no row has, for which the fast kernels are not made: they are planned, and what they launch compiles.

use tileops_device::{Compiler, Library, resources};
use tileops_kernels::{Gpu, Plan, Step, planner};
use tileops_ops::generated::REGISTRY;
use tileops_ops::{Arguments, DType, Params, Tensor, Value, Variant, construct};

/// A call: the op, its parameters, its tensors.
type Case = (&'static str, Vec<(&'static str, Value)>, Vec<(&'static str, DType, Vec<i128>)>);

fn cases() -> Vec<Case> {
    use DType::{BFloat16, Float8E4M3Fn, Float16, Float32, Int8, Int32, Int64, UInt8};
    let tile = Variant::new("packed", [("index", Value::from("by_row")), ("tile", Value::from(4_i64))]);
    let rows = Variant::new(
        "contiguous",
        [
            ("packing", Value::from("aligned")),
            ("metadata_kind", Value::from("per_row")),
            ("alignment", Value::from(4_i64)),
        ],
    );
    vec![
        ("MatmulFwdOp", vec![("trans_b", true.into())], vec![("a", Float16, vec![3, 7]), ("b", Float16, vec![5, 7])]),
        // Nothing to add up.
        ("MatmulFwdOp", vec![], vec![("a", Float16, vec![3, 0]), ("b", Float16, vec![0, 5])]),
        (
            "LinearFwdOp",
            vec![],
            vec![("x", BFloat16, vec![3, 0]), ("weight", BFloat16, vec![5, 0]), ("bias", BFloat16, vec![5])],
        ),
        (
            "AddmmFwdOp",
            vec![("beta", 0.5.into())],
            vec![("c", Float32, vec![5]), ("a", Float32, vec![3, 7]), ("b", Float32, vec![7, 5])],
        ),
        (
            "GateUpMatmulFwdOp",
            vec![("activation", "gelu".into())],
            vec![("x", Float16, vec![33, 7]), ("gate", Float16, vec![5, 7]), ("up", Float16, vec![5, 7])],
        ),
        (
            "BlockScaledMatmulFp8FwdOp",
            vec![("block", 3_i64.into())],
            vec![
                ("a", Float8E4M3Fn, vec![3, 7]),
                ("scale_a", Float32, vec![3, 3]),
                ("b", Float8E4M3Fn, vec![5, 7]),
                ("scale_b", Float32, vec![2, 3]),
            ],
        ),
        (
            "BatchedMatmulFp8FwdOp",
            vec![],
            vec![
                ("a", Float8E4M3Fn, vec![2, 3, 7]),
                ("b", Float8E4M3Fn, vec![2, 5, 7]),
                ("scale_a", Float32, vec![1]),
                ("scale_b", Float32, vec![2]),
            ],
        ),
        ("MatmulInt8FwdOp", vec![], vec![("a", Int8, vec![3, 7]), ("b", Int8, vec![5, 7])]),
        (
            "MatmulInt8FwdOp",
            vec![],
            vec![
                ("a", Int8, vec![3, 7]),
                ("b", Int8, vec![5, 7]),
                ("scale_a", Float32, vec![3, 1]),
                ("scale_b", Float32, vec![1, 5]),
            ],
        ),
        (
            "MatmulInt8WeightFwdOp",
            vec![],
            vec![("x", BFloat16, vec![3, 7]), ("weight", Int8, vec![5, 7]), ("scale", BFloat16, vec![5])],
        ),
        (
            "MatmulInt4WeightFwdOp",
            vec![("group", 6_i64.into())],
            vec![
                ("x", Float16, vec![3, 12]),
                ("packed", UInt8, vec![5, 6]),
                ("scale", Float16, vec![5, 2]),
                ("zero", Float16, vec![5, 2]),
            ],
        ),
        (
            "GroupedMatmulFwdOp",
            vec![],
            vec![("x", Float16, vec![9, 7]), ("weight", Float16, vec![2, 7, 5]), ("offsets", Int32, vec![3])],
        ),
        (
            "GroupedMatmulWgradOp",
            vec![],
            vec![("x", Float16, vec![9, 7]), ("dy", Float16, vec![9, 5]), ("offsets", Int32, vec![3])],
        ),
        (
            "GroupedMatmulFp8FwdOp",
            vec![],
            vec![
                ("x", Float8E4M3Fn, vec![9, 6]),
                ("x_scale", Float32, vec![9]),
                ("weight", Float8E4M3Fn, vec![2, 5, 6]),
                ("weight_scale", Float32, vec![2, 5]),
                ("offsets", Int32, vec![3]),
            ],
        ),
        (
            "LayoutGroupedMatmulFwdOp",
            vec![("layout", rows.into()), ("num_experts", 2_i64.into()), ("routed", 8_i64.into())],
            vec![("x", BFloat16, vec![16, 7]), ("weight", BFloat16, vec![2, 5, 7]), ("metadata", Int32, vec![16])],
        ),
        (
            "AttentionFwdOp",
            vec![("is_causal", true.into())],
            vec![
                ("q", Float16, vec![1, 40, 2, 20]),
                ("k", Float16, vec![1, 50, 1, 20]),
                ("v", Float16, vec![1, 50, 1, 7]),
            ],
        ),
        (
            "AttentionFwdOp",
            vec![("scale", Value::from(-1.0))],
            vec![
                ("q", Float16, vec![1, 40, 2, 64]),
                ("k", Float16, vec![1, 50, 1, 64]),
                ("v", Float16, vec![1, 50, 1, 64]),
            ],
        ),
        (
            "AttentionFwdOp",
            vec![],
            vec![
                ("q", BFloat16, vec![1, 1, 3, 20]),
                ("k", BFloat16, vec![1, 5000, 3, 20]),
                ("v", BFloat16, vec![1, 5000, 3, 9]),
            ],
        ),
        (
            "ExpertGatherFwdOp",
            vec![("layout", tile.into()), ("num_experts", 3_i64.into())],
            vec![("x", BFloat16, vec![5, 3]), ("ids", Int32, vec![5, 2])],
        ),
        (
            "ExpertPermuteFwdOp",
            vec![("num_experts", 3_i64.into())],
            vec![("x", Float8E4M3Fn, vec![5, 3]), ("ids", Int32, vec![5, 2])],
        ),
        (
            "ExpertCombineFwdOp",
            vec![],
            vec![("rows", BFloat16, vec![10, 3]), ("weights", Float32, vec![5, 2]), ("places", Int32, vec![10])],
        ),
        (
            "KvCacheAppendFwdOp",
            vec![],
            vec![
                ("k", BFloat16, vec![2, 1, 3]),
                ("v", BFloat16, vec![2, 1, 3]),
                ("k_cache", BFloat16, vec![4, 1, 3]),
                ("v_cache", BFloat16, vec![4, 1, 3]),
                ("slots", Int64, vec![2]),
            ],
        ),
        (
            "MergeAttentionStatesFwdOp",
            vec![],
            vec![
                ("o_a", Float32, vec![2, 3, 5]),
                ("lse_a", Float32, vec![2, 3]),
                ("o_b", Float32, vec![2, 3, 5]),
                ("lse_b", Float32, vec![2, 3]),
            ],
        ),
        ("OuterProductMeanFwdOp", vec![], vec![("a", BFloat16, vec![4, 3, 5]), ("b", BFloat16, vec![4, 3, 5])]),
    ]
}

fn plan((op, params, tensors): &Case) -> Plan {
    let params = params.iter().fold(Params::new(), |params, (name, value)| params.with(*name, value.clone()));
    let arguments = tensors.iter().fold(Arguments::new(), |arguments, (name, dtype, shape)| {
        arguments.with(*name, Tensor::new(shape.clone(), *dtype))
    });
    let mut constructed = construct(REGISTRY, op, &params).unwrap_or_else(|error| panic!("{op}: {error}"));
    constructed.call(&arguments).unwrap_or_else(|error| panic!("{op}: {error}"));
    let call = constructed.last_call().expect("it was called");
    planner(op).unwrap_or_else(|| panic!("{op} has no planner"))(call, &Gpu::h200())
        .unwrap_or_else(|error| panic!("{op}: {error}"))
}

#[test]
fn every_shape_is_planned() {
    for case in cases() {
        assert!(!plan(&case).steps.is_empty(), "{}: nothing writes its result", case.0);
    }
}

#[test]
fn what_is_launched_for_them_compiles_and_keeps_its_values_in_registers() {
    if let Err(error) = Library::Nvrtc.require() {
        assert!(std::env::var_os("TILEOPS_REQUIRE_NVRTC").is_none(), "{error}");
        return;
    }
    let compiler = Compiler::new(Gpu::h200().architecture);
    for case in cases() {
        for step in plan(&case).steps {
            if let Step::Launch(launch) = step {
                let compiled = compiler.compile(launch.source.file, &launch.source.text());
                let compiled = compiled.unwrap_or_else(|error| panic!("{}: {error}", case.0));
                let spilled = resources(&compiled.log).into_iter().find(|kernel| kernel.spilled_bytes > 0);
                assert!(spilled.is_none(), "{}: {spilled:?}", case.0);
            }
        }
    }
}

#[test]
fn what_a_kernel_does_not_take_is_said() {
    let wide = |name| (name, DType::Float16, vec![1, 40, 1, 512]);
    let case: Case = ("AttentionFwdOp", vec![], vec![wide("q"), wide("k"), wide("v")]);
    let arguments = case.2.iter().fold(Arguments::new(), |arguments, (name, dtype, shape)| {
        arguments.with(*name, Tensor::new(shape.clone(), *dtype))
    });
    let mut op = construct(REGISTRY, case.0, &Params::new()).expect("it is constructed");
    op.call(&arguments).expect("it is called");
    let call = op.last_call().expect("it was called");
    let error = planner(case.0).expect("it has one")(call, &Gpu::h200()).expect_err("heads are too wide");
    assert!(error.to_string().contains("heads of 512 numbers: the kernels take at most 256"), "{error}");
}
