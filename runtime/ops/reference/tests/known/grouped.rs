use tileops_ops::DType::{BFloat16, Float8E4M3Fn, Float32, Int32};
use tileops_ops::{Arguments, DType, Params, Tensor, Variant};

use crate::support::{exact, run};

/// Three rows of one number: two of the first group, none of the second, one of the third.
fn rows(dtype: DType) -> (Tensor, Tensor) {
    (exact(dtype, &[3, 1], &[1., 2., 3.]), exact(Int32, &[4], &[0., 2., 2., 3.]))
}

#[test]
fn each_group_meets_its_own_matrix() {
    let (x, offsets) = rows(BFloat16);
    let weight = exact(BFloat16, &[3, 1, 2], &[1., 10., 7., 7., 2., 20.]);
    let arguments = Arguments::new().with("x", x).with("weight", weight).with("offsets", offsets);
    assert_eq!(run("GroupedMatmulFwdOp", Params::new(), arguments), [[1., 10., 2., 20., 6., 60.]]);
}

#[test]
fn a_group_without_rows_has_a_gradient_of_zero() {
    let (x, offsets) = rows(BFloat16);
    let dy = exact(BFloat16, &[3, 2], &[1., 2., 3., 4., 5., 6.]);
    let arguments = Arguments::new().with("x", x).with("dy", dy).with("offsets", offsets);
    assert_eq!(run("GroupedMatmulWgradOp", Params::new(), arguments), [[7., 10., 0., 0., 15., 18.]]);
}

#[test]
fn scales_are_those_of_the_row_and_of_its_groups_column() {
    let (x, offsets) = rows(Float8E4M3Fn);
    let arguments = Arguments::new()
        .with("x", x)
        .with("x_scale", exact(Float32, &[3], &[1., 2., 4.]))
        .with("weight", exact(Float8E4M3Fn, &[3, 1, 1], &[1., 1., 2.]))
        .with("weight_scale", exact(Float32, &[3, 1], &[0.5, 9., 3.]))
        .with("offsets", offsets);
    assert_eq!(run("GroupedMatmulFp8FwdOp", Params::new(), arguments), [[0.5, 2., 72.]]);
}

#[test]
fn a_layout_says_whose_a_row_is() {
    let call = |layout: Variant, x: &[i128], metadata: &[f64], routed: i64| {
        let count = x.iter().product::<i128>() as usize;
        let numbers: Vec<f64> = (1..=count).map(|number| number as f64).collect();
        let arguments = Arguments::new()
            .with("x", exact(BFloat16, x, &numbers))
            .with("weight", exact(BFloat16, &[2, 1, 1], &[1., 10.]))
            .with("metadata", exact(Int32, &[metadata.len() as i128], metadata));
        let params = Params::new().with("layout", layout).with("num_experts", 2_i64).with("routed", routed);
        run("LayoutGroupedMatmulFwdOp", params, arguments).remove(0)
    };
    let contiguous = |packing: &str, kind: &str, alignment: i64| {
        let fields = [("packing", packing.into()), ("metadata_kind", kind.into()), ("alignment", alignment.into())];
        Variant::new("contiguous", fields)
    };
    assert_eq!(call(contiguous("tight", "physical_psum", 1), &[3, 1], &[1., 3.], 3), [1., 20., 30.]);
    let masked = Variant::new("masked", [("max_m", 2_i64.into())]);
    assert_eq!(call(masked, &[2, 2, 1], &[1., 2.], 3), [1., 0., 30., 40.]);
}
