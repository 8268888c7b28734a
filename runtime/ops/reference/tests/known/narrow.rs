use tileops_ops::DType::{BFloat16, Float8E4M3Fn, Float8E5M2, Float8E8M0FnU, Float16, Float32, Int8, UInt8};
use tileops_ops::{Arguments, Params};

use crate::support::{exact, run};

/// `count` elements, the first ones these and the rest zeros.
fn filled(first: &[f64], count: usize) -> Vec<f64> {
    first.iter().copied().chain(std::iter::repeat(0.0)).take(count).collect()
}

#[test]
fn an_fp8_product_takes_one_scale_or_one_a_row() {
    // 2 x 16, 16 x 16: row 0 of b is ones on the first two places, all else is zero.
    let a = exact(Float8E5M2, &[2, 16], &[filled(&[1., 2.], 16), filled(&[3., 4.], 16)].concat());
    let b = exact(Float8E4M3Fn, &[16, 16], &filled(&[1., 1.], 256));
    let call = |sa: &[i128], scale_a: &[f64], sb: &[i128], scale_b: &[f64]| {
        let arguments = Arguments::new()
            .with("a", a.clone())
            .with("b", b.clone())
            .with("scale_a", exact(Float32, sa, scale_a))
            .with("scale_b", exact(Float32, sb, scale_b))
            .with("bias", exact(BFloat16, &[16], &filled(&[1., 5.], 16)));
        let d = run("ScaledMatmulFp8FwdOp", Params::new(), arguments).remove(0);
        [d[0], d[1], d[16], d[17]]
    };
    assert_eq!(call(&[1, 1], &[2.], &[1, 1], &[0.5]), [4., 5., 8., 5.]);
    assert_eq!(call(&[2, 1], &[2., 4.], &[1, 1], &[1.]), [7., 5., 29., 5.]);
    assert_eq!(call(&[1, 1], &[1.], &[16, 1], &filled(&[3.], 16)), [10., 5., 22., 5.]);
}

#[test]
fn blocks_of_the_depth_have_their_own_scales() {
    let arguments = Arguments::new()
        .with("a", exact(Float8E4M3Fn, &[1, 3], &[1., 2., 3.]))
        .with("scale_a", exact(Float32, &[1, 2], &[10., 100.]))
        .with("b", exact(Float8E4M3Fn, &[3, 3], &[1., 1., 1., 0., 1., 0., 1., 0., 1.]))
        .with("scale_b", exact(Float32, &[2, 2], &[1., 2., 3., 4.]));
    // Rows 0 and 1 of b have scales 1 and 2, row 2 has 3 and 4; the block is 2.
    let params = Params::new().with("block", 2_i64).with("out_dtype", Float32);
    let due = [30. + 600., 20., 30. + 1200.];
    assert_eq!(run("BlockScaledMatmulFp8FwdOp", params, arguments), [due]);
}

#[test]
fn a_batch_of_fp8_has_one_scale_or_one_a_matrix() {
    let arguments = Arguments::new()
        .with("a", exact(Float8E4M3Fn, &[2, 1, 2], &[1., 2., 3., 4.]))
        .with("b", exact(Float8E4M3Fn, &[2, 1, 2], &[1., 1., 1., 2.]))
        .with("scale_a", exact(Float32, &[1], &[2.]))
        .with("scale_b", exact(Float32, &[2], &[1., 10.]));
    assert_eq!(run("BatchedMatmulFp8FwdOp", Params::new(), arguments), [[6., 220.]]);
}

#[test]
fn an_int8_product_is_exact_without_scales() {
    let arguments = Arguments::new()
        .with("a", exact(Int8, &[1, 2], &[127., -128.]))
        .with("b", exact(Int8, &[2, 2], &[127., -128., 1., 1.]));
    assert_eq!(run("MatmulInt8FwdOp", Params::new(), arguments.clone()), [[32513., -1.]]);
    let arguments = arguments
        .with("scale_a", exact(Float32, &[1, 1], &[0.5]))
        .with("scale_b", exact(Float32, &[1, 2], &[1. / 32., 8.]));
    assert_eq!(run("MatmulInt8FwdOp", Params::new(), arguments), [[508., -4.]]);
}

#[test]
fn weights_are_restored_by_their_scales() {
    let x = exact(Float16, &[1, 2], &[1., 2.]);
    let arguments = Arguments::new()
        .with("x", x.clone())
        .with("weight", exact(Int8, &[2, 2], &[3., -4., 0., 1.]))
        .with("scale", exact(Float16, &[2], &[0.5, 2.]))
        .with("bias", exact(Float16, &[2], &[1., 0.]));
    assert_eq!(run("MatmulInt8WeightFwdOp", Params::new(), arguments), [[-1.5, 4.]]);
    // The low half of a byte is the even one: 3 and 15, 0 and 8.
    let arguments = Arguments::new()
        .with("x", x)
        .with("packed", exact(UInt8, &[2, 1], &[f64::from(0xf3_u8), f64::from(0x80_u8)]))
        .with("scale", exact(Float16, &[2, 1], &[2., 0.5]))
        .with("zero", exact(Float16, &[2, 1], &[7., 8.]));
    let params = Params::new().with("group", 2_i64);
    assert_eq!(run("MatmulInt4WeightFwdOp", params, arguments), [[2. * (-4. + 16.), 0.5 * -8.]]);
}

#[test]
fn numbers_of_four_bits_share_a_power_of_two() {
    // Codes 1, 15 and 3 are 0.5, -6 and 1.5.
    let packed = filled(&[f64::from(0xf1_u8), f64::from(0x03_u8)], 16);
    let arguments = Arguments::new()
        .with("x", exact(BFloat16, &[1, 32], &filled(&[2., 1., 4.], 32)))
        .with("packed", exact(UInt8, &[1, 16], &packed))
        .with("scale", exact(Float8E8M0FnU, &[1, 1], &[0.25]));
    assert_eq!(run("MatmulMxfp4WeightFwdOp", Params::new(), arguments), [[0.25 * (1. - 6. + 6.)]]);
}
