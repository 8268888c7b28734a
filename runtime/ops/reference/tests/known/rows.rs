//! References of norms and softmaxes on rows that can be computed by hand.

use crate::support::{call, elements, floats, near, tensor};
use tileops_ops::{DType, Params, Value};

#[test]
fn softmax_shares_what_there_is() {
    let (two, three) = (2_f64.ln(), 3_f64.ln());
    let x = floats(&[2, 3], &[0.0, two, three, 5.0, 5.0, 5.0]);
    let third = 1.0 / 3.0;
    near(&call("SoftmaxFwdOp", Params::new(), &[("x", &x)])[0], &[1. / 6., 2. / 6., 3. / 6., third, third, third]);
    // Along the first axis.
    let x = floats(&[2, 2], &[0.0, 7.0, two, 7.0]);
    let along = Params::new().with("dim", Value::Int(0));
    near(&call("SoftmaxFwdOp", along, &[("x", &x)])[0], &[third, 0.5, 2.0 * third, 0.5]);
    let inf = f64::INFINITY;
    let x = floats(&[2, 2], &[-inf, 1.0, -inf, -inf]);
    near(&call("SoftmaxFwdOp", Params::new(), &[("x", &x)])[0], &[0.0, 1.0, f64::NAN, f64::NAN]);
    let logs = call("LogSoftmaxFwdOp", Params::new(), &[("x", &floats(&[3], &[0.0, two, three]))]);
    near(&logs[0], &[(1_f64 / 6.0).ln(), (2_f64 / 6.0).ln(), 0.5_f64.ln()]);
    // Far out, where a row's logits are all masked.
    let x = floats(&[2, 2], &[-1e30, -1e30, 1e30, -1e30]);
    near(&call("SoftmaxFwdOp", Params::new(), &[("x", &x)])[0], &[0.5, 0.5, 1.0, 0.0]);
    let logs = call("LogSoftmaxFwdOp", Params::new(), &[("x", &x)]);
    near(&logs[0][..3], &[-two, -two, 0.0]);
}

#[test]
fn softmax_backward_leaves_nothing_where_the_gradient_is_level() {
    let y = floats(&[2, 2], &[0.25, 0.75, 0.25, 0.75]);
    let dy = floats(&[2, 2], &[3.0, 3.0, 1.0, 0.0]);
    // The mean gradient of the second row is 1/4.
    let dx = call("SoftmaxBwdOp", Params::new(), &[("dy", &dy), ("y", &y)]);
    near(&dx[0], &[0.0, 0.0, 0.1875, -0.1875]);
}

#[test]
fn a_mask_of_one_row_is_added_to_all() {
    let scores = tensor(DType::Float16, &[2, 1, 2, 2], &[0.0, 0.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0]);
    let inf = f64::INFINITY;
    let mask = tensor(DType::Float16, &[2, 1, 1, 2], &[0.0, -inf, -inf, 0.0]);
    let y = call(
        "ScaledMaskedSoftmaxFwdOp",
        Params::new().with("scale", Value::Float(0.5)),
        &[("scores", &scores), ("mask", &mask)],
    );
    near(&y[0], &[1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
}

#[test]
fn norms_scale_by_what_the_row_has() {
    let x = floats(&[1, 2], &[3.0, 4.0]);
    let eps = |eps: f64| Params::new().with("eps", Value::Float(eps));
    near(&call("L2NormalizeFwdOp", Params::new(), &[("x", &x)])[0], &[0.6, 0.8]);
    let unknown = floats(&[2, 2], &[3.0, f64::NAN, 0.0, 0.0]);
    near(&call("L2NormalizeFwdOp", Params::new(), &[("x", &unknown)])[0], &[f64::NAN, f64::NAN, 0.0, 0.0]);
    // The square's mean is 12.5.
    let root = 12.5_f64.sqrt();
    let weight = floats(&[2], &[1.0, 10.0]);
    let shaped = eps(1e-30).with("normalized_shape", [Value::Int(2)].into_iter().collect::<Value>());
    near(&call("RmsNormFwdOp", shaped, &[("x", &x), ("weight", &weight)])[0], &[3.0 / root, 40.0 / root]);
    let bias = floats(&[2], &[0.5, 0.25]);
    near(
        &call("LayerNormFwdOp", eps(0.75), &[("x", &x), ("weight", &weight), ("bias", &bias)])[0],
        &[-0.5 + 0.5, 5.0 + 0.25],
    );
}

#[test]
fn a_residual_is_added_and_goes_on() {
    let half = |shape: &[i128], elements: &[f64]| tensor(DType::Float16, shape, elements);
    let (x, residual) = (half(&[1, 2], &[1.0, 1.0]), half(&[1, 2], &[2.0, -3.0]));
    let weight = half(&[2], &[2.0, 1.0]);
    let params = Params::new().with("eps", Value::Float(1.5));
    // 3 and -2: the square's mean is 6.5, and 8 with eps.
    let out = call("AddRmsNormFwdOp", params, &[("x", &x), ("residual", &residual), ("weight", &weight)]);
    assert_eq!(out[1], [3.0, -2.0]);
    assert_eq!(elements(&residual), [3.0, -2.0]);
    assert!((out[0][0] - 6.0 / 8_f64.sqrt()).abs() < 2e-3 && (out[0][1] + 2.0 / 8_f64.sqrt()).abs() < 1e-3, "{out:?}");
}

#[test]
fn a_quantized_row_has_its_greatest_at_the_end_of_the_range() {
    let x = tensor(DType::BFloat16, &[2, 2], &[3.0, -4.0, 0.0, 0.0]);
    let weight = tensor(DType::BFloat16, &[2], &[1.0, 1.0]);
    let out = call("RmsNormQuantizeFwdOp", Params::new(), &[("x", &x), ("weight", &weight)]);
    // 448 * 3/4 = 336 lies between 320 and 352, as near to either: to the even one.
    assert_eq!(out[0], [320.0, -448.0, 0.0, 0.0]);
    near(&out[1], &[4.0 / (12.5_f64 + 1e-5).sqrt() / 448.0, 0.0]);
}

#[test]
fn a_gate_joins_before_the_norm_or_behind_it() {
    let half = |elements: &[f64]| tensor(DType::Float16, &[1, 2], elements);
    let (x, gate, weight) = (half(&[1.0, 1.0]), half(&[0.0, 50.0]), tensor(DType::Float16, &[2], &[1.0, 1.0]));
    let inputs = [("x", &x), ("gate", &gate), ("weight", &weight)];
    let params = || Params::new().with("eps", Value::Float(1e-9));
    // silu(0) is 0 and silu(50) is 50.
    near(&call("GatedRmsNormFwdOp", params().with("norm_before_gate", Value::Bool(true)), &inputs)[0], &[0.0, 50.0]);
    let gated = &call("GatedRmsNormFwdOp", params(), &inputs)[0];
    assert!(gated[0] == 0.0 && (gated[1] - 2_f64.sqrt()).abs() < 1e-3, "{gated:?}");
}
