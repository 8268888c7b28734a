//! References of reductions, scans, losses and quantizations on numbers that can be computed by hand.

use crate::support::{call, elements, floats, near, tensor};
use tileops_ops::{DType, Params, Tensor, Value};

fn axes(axes: &[i128]) -> Value {
    axes.iter().map(|&axis| Value::Int(axis)).collect()
}

fn over(op: &str, dim: Value, x: &Tensor) -> Vec<Vec<f64>> {
    call(op, Params::new().with("dim", dim), &[("x", x)])
}

#[test]
fn axes_are_reduced_wherever_they_are() {
    let numbers: Vec<f64> = (1..=12).map(f64::from).collect();
    let x = floats(&[2, 3, 2], &numbers);
    near(&over("SumFwdOp", axes(&[0, 2]), &x)[0], &[1. + 2. + 7. + 8., 3. + 4. + 9. + 10., 5. + 6. + 11. + 12.]);
    near(&over("SumFwdOp", Value::None, &x)[0], &[78.0]);
    near(&over("MeanFwdOp", axes(&[-2]), &x)[0], &[3.0, 4.0, 9.0, 10.0]);
    near(&over("AmaxFwdOp", axes(&[]), &x)[0], &[12.0]);
    near(&over("AminFwdOp", axes(&[1, 2]), &x)[0], &[1.0, 7.0]);
    near(&over("ProdFwdOp", Value::Int(2), &x)[0], &[2.0, 12.0, 30.0, 56.0, 90.0, 132.0]);
    near(&over("LogSumExpFwdOp", axes(&[1]), &floats(&[1, 3], &[0.0, 2_f64.ln(), 5_f64.ln()]))[0], &[8_f64.ln()]);
    let inf = f64::INFINITY;
    let edges = floats(&[3, 2], &[inf, 0.0, -inf, -inf, -inf, 1.0]);
    near(&over("LogSumExpFwdOp", axes(&[1]), &edges)[0], &[inf, -inf, 1.0]);
    near(&over("SumFwdOp", Value::Int(0), &floats(&[], &[3.5]))[0], &[3.5]);
}

#[test]
fn places_are_the_first_and_what_is_no_number_comes_first_of_all() {
    let x = floats(&[2, 4], &[1.0, 3.0, 3.0, 0.0, 2.0, f64::NAN, 5.0, f64::NAN]);
    assert_eq!(over("ArgmaxFwdOp", Value::Int(1), &x)[0], [1.0, 1.0]);
    assert_eq!(over("ArgminFwdOp", Value::Int(1), &x)[0], [3.0, 1.0]);
    assert_eq!(over("ArgmaxFwdOp", Value::None, &x)[0], [5.0]);
    let both = over("MaxDimFwdOp", Value::Int(0), &x);
    near(&both[0], &[2.0, f64::NAN, 5.0, f64::NAN]);
    assert_eq!(both[1], [1.0, 1.0, 1.0, 1.0]);
    let greedy = Params::new().with("return_logprobs", Value::Bool(true));
    let out = call("GreedySampleFwdOp", greedy, &[("logits", &floats(&[1, 3], &[0.0, 1.0, 1.0]))]);
    assert_eq!(out[0], [1.0]);
    near(&out[1], &[-(2.0 + (-1_f64).exp()).ln()]);
}

#[test]
fn truths_and_counts() {
    let x = tensor(DType::Bool, &[2, 2], &[1.0, 0.0, 1.0, 1.0]);
    assert_eq!(over("AllFwdOp", Value::Int(1), &x)[0], [0.0, 1.0]);
    assert_eq!(over("AnyFwdOp", Value::Int(0), &x)[0], [1.0, 1.0]);
    // An empty tuple reduces nothing here, and all there.
    assert_eq!(over("AllFwdOp", axes(&[]), &x)[0], [1.0, 0.0, 1.0, 1.0]);
    assert_eq!(over("CountNonzeroFwdOp", axes(&[]), &x)[0], [3.0]);
}

#[test]
fn moments_and_norms() {
    let x = floats(&[1, 4], &[1.0, 2.0, 3.0, 6.0]);
    near(&over("VarFwdOp", Value::Int(1), &x)[0], &[14.0 / 3.0]);
    near(&over("StdFwdOp", Value::Int(1), &x)[0], &[(14.0 / 3_f64).sqrt()]);
    let all = call("VarMeanFwdOp", Params::new().with("correction", Value::Int(0)), &[("x", &x)]);
    near(&[all[0][0], all[1][0]], &[3.5, 3.0]);
    near(&over("VarFwdOp", Value::Int(0), &x)[0], &[f64::NAN; 4]);
    let y = floats(&[3], &[3.0, -4.0, 0.0]);
    let norm = |ord: Value| call("VectorNormFwdOp", Params::new().with("ord", ord), &[("x", &y)])[0][0];
    let inf = f64::INFINITY;
    near(&[norm(Value::Int(2)), norm(Value::Int(1)), norm(Value::Int(0))], &[5.0, 7.0, 2.0]);
    near(&[norm(Value::Float(inf)), norm(Value::Float(-inf)), norm(Value::Int(3))], &[4.0, 0.0, 91_f64.cbrt()]);
}

#[test]
fn whole_numbers_wrap_around() {
    let x = tensor(DType::Int64, &[3], &[2_f64.powi(40), 2_f64.powi(23), 3.0]);
    assert_eq!(over("ProdFwdOp", Value::None, &x)[0], [3.0 * -2_f64.powi(63) + 2_f64.powi(64)]);
    let x = tensor(DType::Int32, &[3], &[f64::from(i32::MAX), 1.0, 1.0]);
    assert_eq!(over("CumsumFwdOp", Value::Int(0), &x)[0], [2147483647.0, -2147483648.0, -2147483647.0]);
}

#[test]
fn scans_run_along_their_axis() {
    let x = floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    near(&over("CumsumFwdOp", Value::Int(0), &x)[0], &[1.0, 2.0, 4.0, 6.0]);
    near(&over("CumprodFwdOp", Value::Int(-1), &x)[0], &[1.0, 2.0, 3.0, 12.0]);
    let logs = floats(&[3], &[0.0, 0.0, 2_f64.ln()]);
    near(&over("LogCumsumExpFwdOp", Value::Int(0), &logs)[0], &[0.0, 2_f64.ln(), 4_f64.ln()]);
    // Of several that are as great, the last.
    let x = floats(&[5], &[1.0, 3.0, 2.0, 3.0, f64::NAN]);
    let out = over("CummaxFwdOp", Value::Int(0), &x);
    near(&out[0], &[1.0, 3.0, 3.0, 3.0, f64::NAN]);
    assert_eq!(out[1], [0.0, 1.0, 1.0, 3.0, 4.0]);
}

#[test]
fn losses() {
    let logits = floats(&[2, 2], &[0.0, 0.0, 3_f64.ln(), 0.0]);
    let target = tensor(DType::Int64, &[2], &[1.0, 0.0]).with_values([1_i64, 0]);
    let none = Params::new().with("reduction", Value::Str("none".into()));
    let inputs = [("logits", &logits), ("target", &target)];
    let (half, quarters) = (2_f64.ln(), (4.0 / 3.0_f64).ln());
    near(&call("CrossEntropyFwdOp", none, &inputs)[0], &[half, quarters]);
    near(&call("CrossEntropyFwdOp", Params::new(), &inputs)[0], &[(half + quarters) / 2.0]);
    let smooth = Params::new().with("label_smoothing", Value::Float(0.5)).with("reduction", Value::Str("sum".into()));
    let level = 4_f64.ln() - 3_f64.ln() / 2.0;
    near(&call("CrossEntropyFwdOp", smooth, &inputs)[0], &[half + (quarters + level) / 2.0]);
    let (grad, lse) = (floats(&[2], &[1.0, 2.0]), floats(&[2], &[2_f64.ln(), 4_f64.ln()]));
    let inputs = [("grad", &grad), ("logits", &logits), ("lse", &lse), ("target", &target)];
    call("CrossEntropyBwdOp", Params::new(), &inputs);
    near(&elements(&logits), &[0.5, -0.5, -0.5, 0.5]);
    let (x, aim) = (floats(&[1, 2], &[0.0, 1.0]), floats(&[1, 2], &[0.0, 0.5]));
    near(&call("KlDivFwdOp", Params::new(), &[("input", &x), ("target", &aim)])[0], &[0.5 * (0.5_f64.ln() - 1.0)]);
    let impossible = floats(&[1, 2], &[f64::NEG_INFINITY, 1.0]);
    assert!(call("KlDivFwdOp", Params::new(), &[("input", &impossible), ("target", &aim)])[0][0].is_nan());
}

#[test]
fn narrow_numbers() {
    let x = floats(&[2, 2], &[1.0, -2.0, 0.0, 0.0]);
    let int8 = Params::new().with("quant_dtype", Value::DType(DType::Int8));
    let out = call("RowQuantizeFwdOp", int8, &[("x", &x)]);
    // Half of 127 lies between two: to the even one.
    assert_eq!(out[0], [64.0, -127.0, 0.0, 0.0]);
    near(&out[1], &[2.0 / 127.0, 0.0]);
    let group = Params::new().with("group", Value::Int(2)).with("power_of_two", Value::Bool(true));
    let out = call("TokenGroupQuantizeFwdOp", group, &[("x", &floats(&[1, 4], &[448.0, 1.0, 449.0, 1.0]))]);
    assert_eq!(out[1], [1.0, 2.0]);
    assert_eq!(out[0], [448.0, 1.0, 224.0, 0.5]);
    let block = Params::new().with("block", axes(&[2, 1]));
    let out = call("BlockQuantizeFwdOp", block, &[("x", &floats(&[3, 2], &[1.0, 4.0, -2.0, 2.0, 448.0, 0.0]))]);
    near(&out[1], &[2.0 / 448.0, 4.0 / 448.0, 1.0, 0.0]);
    assert_eq!(out[0], [224.0, 448.0, -448.0, 224.0, 448.0, 0.0]);
}

#[test]
fn microscaled_numbers() {
    let mut numbers = [0.0; 32];
    numbers[..6].copy_from_slice(&[7.0, -1.0, 0.3, 0.25, 2.5, 5.0]);
    let x = floats(&[1, 32], &numbers);
    let fp4 = Params::new().with("format", Value::Str("fp4".into()));
    let out = call("MxQuantizeFwdOp", fp4, &[("x", &x)]);
    // 7 lies in [4, 8), as 6 does: the scale is one, and 7 becomes 6. Ties go to the even code: 0.25, 2.5, 5.
    assert_eq!(out[1], [1.0]);
    assert_eq!(out[0][..3], [f64::from(0xa7), f64::from(0x01), f64::from(0x64)]);
    let out = call("MxQuantizeFwdOp", Params::new(), &[("x", &x)]);
    assert_eq!(out[1], [2_f64.powi(2 - 8)]);
    assert_eq!(out[0][..2], [448.0, -64.0]);
}

#[test]
fn back_from_narrow_numbers() {
    let packed = tensor(DType::UInt8, &[1, 2], &[f64::from(0x21), f64::from(0xf0)]);
    let scale = tensor(DType::Float16, &[1, 2], &[0.5, 2.0]);
    let zero = tensor(DType::Float16, &[1, 2], &[1.0, 8.0]);
    let params = Params::new().with("group", Value::Int(2));
    let out = call("Int4DequantizeFwdOp", params, &[("packed", &packed), ("scale", &scale), ("zero", &zero)]);
    assert_eq!(out[0], [0.0, 0.5, -16.0, 14.0]);
    let x = floats(&[2, 2], &[0.26, 9.0, 0.74, -9.0]);
    let (scale, zero) = (floats(&[2], &[0.5, 0.25]), tensor(DType::Int32, &[2], &[0.0, 1.0]));
    let range = Params::new().with("quant_min", Value::Int(-8)).with("quant_max", Value::Int(7));
    let out = call("FakeQuantizeFwdOp", range, &[("x", &x), ("scale", &scale), ("zero_point", &zero)]);
    near(&out[0], &[0.5, 3.5, 0.75, -2.25]);
}

#[test]
fn a_batch_has_its_own_statistics_and_hands_them_on() {
    let x = floats(&[2, 2], &[1.0, 10.0, 3.0, 10.0]);
    let (mean, var) = (floats(&[2], &[0.0, 0.0]), floats(&[2], &[1.0, 1.0]));
    let params = Params::new()
        .with("training", Value::Bool(true))
        .with("momentum", Value::Float(0.5))
        .with("eps", Value::Float(1e-12));
    let out = call("BatchNormFwdOp", params, &[("x", &x), ("running_mean", &mean), ("running_var", &var)]);
    near(&out[0], &[-1.0, 0.0, 1.0, 0.0]);
    near(&elements(&mean), &[1.0, 5.0]);
    near(&elements(&var), &[1.5, 0.5]);
    let x = floats(&[1, 4, 1], &[1.0, 3.0, 5.0, 5.0]);
    let (weight, bias) = (floats(&[4], &[1.0, 2.0, 3.0, 4.0]), floats(&[4], &[0.0, 0.0, 1.0, 2.0]));
    let groups = Params::new().with("num_groups", Value::Int(2)).with("eps", Value::Float(1e-12));
    let out = call("GroupNormFwdOp", groups, &[("x", &x), ("weight", &weight), ("bias", &bias)]);
    near(&out[0], &[-1.0, 2.0, 1.0, 2.0]);
}

#[test]
fn gradients_of_a_norm_are_those_of_its_differences() {
    let half = |shape: &[i128], elements: &[f64]| tensor(DType::Float32, shape, elements);
    let (x, dy) = ([0.5, -1.0, 2.0], [0.25, 1.0, -0.5]);
    let weight = [1.0, 2.0, 0.5];
    let layer = |x: &[f64]| -> (f64, f64) {
        let mean = x.iter().sum::<f64>() / 3.0;
        (mean, 1.0 / (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 3.0).sqrt())
    };
    let loss = |x: &[f64]| -> f64 {
        let (mean, rstd) = layer(x);
        (0..3).map(|at| dy[at] * weight[at] * (x[at] - mean) * rstd).sum()
    };
    let (mean, rstd) = layer(&x);
    let inputs = [
        ("dy", &half(&[1, 3], &dy)),
        ("x", &half(&[1, 3], &x)),
        ("weight", &half(&[3], &weight)),
        ("mean", &half(&[1], &[mean])),
        ("rstd", &half(&[1], &[rstd])),
    ];
    let out = call("LayerNormBwdOp", Params::new(), &inputs);
    for at in 0..3 {
        let (mut above, mut below) = (x, x);
        above[at] += 1e-5;
        below[at] -= 1e-5;
        let slope = (loss(&above) - loss(&below)) / 2e-5;
        assert!((out[0][at] - slope).abs() < 1e-5, "{} {slope}", out[0][at]);
    }
    near(&out[1], &[0, 1, 2].map(|at| dy[at] * (x[at] - mean) * rstd));
    near(&out[2], &dy);
}

#[test]
fn the_greatest_come_in_their_order() {
    let x = floats(&[1, 5], &[1.0, 3.0, f64::NAN, 3.0, 2.0]);
    let top = |k: i128, largest: bool| {
        let params = Params::new().with("k", Value::Int(k)).with("largest", Value::Bool(largest));
        call("TopKFwdOp", params, &[("x", &x)])
    };
    let greatest = top(4, true);
    near(&greatest[0], &[f64::NAN, 3.0, 3.0, 2.0]);
    assert_eq!(greatest[1], [2.0, 1.0, 3.0, 4.0]);
    assert_eq!(top(3, false)[1], [0.0, 4.0, 1.0]);
}

/// A number that is none goes into the scale, and so into all that is counted in it; whole numbers have none but 0.
#[test]
fn no_number_stays_none_when_it_is_made_narrow() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let x = floats(&[3, 2], &[nan, 1.0, inf, 1.0, -448.0, 1.0]);
    let int8 = Params::new().with("quant_dtype", Value::DType(DType::Int8));
    let out = call("RowQuantizeFwdOp", int8, &[("x", &x)]);
    assert_eq!(out[0], [0.0, 0.0, 0.0, 0.0, -127.0, 0.0]);
    near(&out[1], &[nan, inf, 448.0 / 127.0]);
    let codes = [nan, nan, nan, 0.0, -448.0, 1.0];
    for (op, params) in [
        ("RowQuantizeFwdOp", Params::new()),
        ("TokenGroupQuantizeFwdOp", Params::new().with("group", Value::Int(2)).with("power_of_two", Value::Bool(true))),
        ("BlockQuantizeFwdOp", Params::new().with("block", axes(&[1, 2]))),
    ] {
        let out = call(op, params, &[("x", &x)]);
        near(&out[0], &codes);
        near(&out[1], &[nan, inf, 1.0]);
    }
    for (format, none) in [("fp4", 0.0), ("fp8", nan)] {
        for first in [nan, inf] {
            let mut numbers = [1.0; 32];
            numbers[0] = first;
            let out =
                call("MxQuantizeFwdOp", Params::new().with("format", format), &[("x", &floats(&[1, 32], &numbers))]);
            near(&out[1], &[nan]);
            near(&out[0][1..3], &[none; 2]);
        }
    }
    let half = |shape: &[i128], elements: &[f64]| tensor(DType::Float16, shape, elements);
    let (x, weight) = (half(&[2, 2], &[nan, 1.0, inf, 1.0]), half(&[2], &[1.0, 1.0]));
    let out = call("RmsNormQuantizeFwdOp", Params::new(), &[("x", &x), ("weight", &weight)]);
    near(&out[0], &[nan; 4]);
    near(&out[1], &[nan; 2]);
    // PyTorch's whole number of no number is the least one.
    let (scale, zero) = (floats(&[1], &[0.1]), tensor(DType::Int32, &[1], &[3.0]));
    let range = Params::new().with("quant_min", Value::Int(-128)).with("quant_max", Value::Int(127));
    let x = floats(&[1, 4], &[nan, -inf, inf, 1.0]);
    let out = call("FakeQuantizeFwdOp", range, &[("x", &x), ("scale", &scale), ("zero_point", &zero)]);
    near(&out[0], &[-13.1, -13.1, 12.4, 1.0]);
}

#[test]
fn what_is_infinite_has_no_mean_beside_a_variance() {
    let inf = f64::INFINITY;
    let x = floats(&[3, 3], &[1.0, inf, 2.0, 1.0, 2.0, inf, 1.0, 2.0, 6.0]);
    let out = call("VarMeanFwdOp", Params::new().with("dim", Value::Int(1)), &[("x", &x)]);
    near(&out[0], &[f64::NAN, f64::NAN, 7.0]);
    near(&out[1], &[f64::NAN, f64::NAN, 3.0]);
}
