//! The references of elementwise ops, on numbers that are known by hand.

use crate::support::{arguments, elements, first, near, outputs, row, tensor};
use tileops_ops::{DType, Params};

const INFINITY: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn unary(op: &str, params: Params, x: &[f64]) -> Vec<f64> {
    first(op, params, &[("x", row(x))])
}

#[test]
fn functions_of_one_number() {
    let plain = |op: &str, x: &[f64], y: &[f64]| near(&unary(op, Params::new(), x), y);
    plain("ExpFwdOp", &[0.0, 1.0, -INFINITY], &[1.0, std::f64::consts::E, 0.0]);
    plain("LogFwdOp", &[1.0, 0.0, -1.0], &[0.0, -INFINITY, NAN]);
    plain("Log1pFwdOp", &[0.0, 1.0], &[0.0, std::f64::consts::LN_2]);
    plain("SinFwdOp", &[0.0, std::f64::consts::FRAC_PI_2], &[0.0, 1.0]);
    plain("TanhFwdOp", &[0.0, 0.549_306_144_334_054_8], &[0.0, 0.5]);
    plain("ErfFwdOp", &[0.0, 1.0, -INFINITY], &[0.0, 0.842_700_79, -1.0]);
    plain("RsqrtFwdOp", &[4.0, 0.0], &[0.5, INFINITY]);
    plain("SqrtFwdOp", &[9.0, -1.0], &[3.0, NAN]);
    plain("ReciprocalFwdOp", &[4.0, 0.0], &[0.25, INFINITY]);
    plain("ReluFwdOp", &[-1.0, 2.0, NAN], &[0.0, 2.0, NAN]);
    plain("GeluFwdOp", &[0.0, 1.0, -1.0], &[0.0, 0.841_344_75, -0.158_655_25]);
    near(&unary("GeluFwdOp", Params::new().with("approximate", "tanh"), &[1.0, -1.0]), &[0.841_191_99, -0.158_808_01]);
    plain("NegFwdOp", &[1.5, -2.0], &[-1.5, 2.0]);
    plain("SignFwdOp", &[-3.0, 0.0, 2.0, NAN], &[-1.0, 0.0, 1.0, 0.0]);
    plain("AbsFwdOp", &[-3.0, 2.0], &[3.0, 2.0]);
    plain("FloorFwdOp", &[-0.5, 2.9], &[-1.0, 2.0]);
    plain("RoundFwdOp", &[0.5, 1.5, -2.5], &[0.0, 2.0, -2.0]);
    near(&unary("RoundFwdOp", Params::new().with("decimals", 2), &[1.234, -0.126]), &[1.23, -0.13]);
    // As PyTorch has it: times 100, 2.675 is 267.5 in single precision, and 1.005 is 100.49999.
    near(&unary("RoundFwdOp", Params::new().with("decimals", 2), &[2.675, 1.005, 1e38]), &[2.68, 1.0, INFINITY]);
    near(&unary("RoundFwdOp", Params::new().with("decimals", -1), &[14.0, 25.0]), &[10.0, 20.0]);
    plain("LogicalNotFwdOp", &[0.0, 2.0, -0.0], &[1.0, 0.0, 1.0]);
    plain("IsFiniteFwdOp", &[1.0, INFINITY, NAN], &[1.0, 0.0, 0.0]);
    near(&unary("ClampFwdOp", Params::new().with("min", -1.0), &[-2.0, 5.0, NAN]), &[-1.0, 5.0, NAN]);
    near(&unary("ClampFwdOp", Params::new().with("min", -1.0).with("max", 1.0), &[-2.0, 5.0]), &[-1.0, 1.0]);
}

#[test]
fn activations() {
    let plain = |op: &str, x: &[f64], y: &[f64]| near(&unary(op, Params::new(), x), y);
    plain("SigmoidFwdOp", &[0.0, 1.0], &[0.5, 0.731_058_58]);
    plain("SiluFwdOp", &[0.0, 1.0, -1.0], &[0.0, 0.731_058_58, -0.268_941_42]);
    plain("QuickGeluFwdOp", &[1.0], &[0.845_795_78]);
    plain("ReluSquaredFwdOp", &[-2.0, 3.0], &[0.0, 9.0]);
    near(&unary("LeakyReluFwdOp", Params::new().with("negative_slope", 0.25), &[-2.0, 3.0]), &[-0.5, 3.0]);
    near(&unary("EluFwdOp", Params::new().with("alpha", 2.0), &[-1.0, 3.0]), &[-1.264_241_1, 3.0]);
    plain("SeluFwdOp", &[1.0, -1.0], &[1.050_701, -1.111_330_7]);
    plain("SoftplusFwdOp", &[0.0, 25.0, -1.0], &[std::f64::consts::LN_2, 25.0, 0.313_261_7]);
    near(&unary("SoftplusFwdOp", Params::new().with("beta", 2.0), &[0.0]), &[0.346_573_6]);
    plain("MishFwdOp", &[0.0, 1.0], &[0.0, 0.865_098_4]);
    plain("HardswishFwdOp", &[-4.0, 0.0, 1.0, 4.0], &[0.0, 0.0, 2.0 / 3.0, 4.0]);
    plain("HardsigmoidFwdOp", &[-4.0, 0.0, 4.0], &[0.0, 0.5, 1.0]);
    plain("HardtanhFwdOp", &[-4.0, 0.5, 4.0], &[-1.0, 0.5, 1.0]);
    plain("LogSigmoidFwdOp", &[0.0, -100.0, 100.0], &[-std::f64::consts::LN_2, -100.0, 0.0]);
    let x = tensor(DType::Float32, &[1, 2, 2], &[-1.0, 2.0, -4.0, 8.0]);
    near(&first("PreluFwdOp", Params::new(), &[("x", x), ("weight", row(&[0.5, 0.25]))]), &[-0.5, 2.0, -1.0, 8.0]);
}

#[test]
fn what_is_dropped_follows_from_the_seed() {
    let seed = |value: f64| tensor(DType::Int64, &[], &[value]);
    let drop = |p: f64, training: bool, of: f64| {
        let params = Params::new().with("p", p).with("training", training);
        first("DropoutFwdOp", params, &[("x", row(&[1.0; 1000])), ("seed", seed(of))])
    };
    // The first words for the seed 0 are 0.399, 0.880, 0.736 and 0.606 of 2^32.
    near(&drop(0.7, true, 0.0)[..4], &[0.0, 1.0 / 0.3, 1.0 / 0.3, 0.0]);
    let kept = drop(0.25, true, 7.0).iter().filter(|value| **value != 0.0).count();
    assert!((700..800).contains(&kept), "{kept}");
    assert_ne!(drop(0.25, true, 7.0), drop(0.25, true, 8.0));
    near(&drop(0.25, false, 7.0), &[1.0; 1000]);
    near(&drop(1.0, true, 7.0), &[0.0; 1000]);
}

#[test]
fn whole_numbers_are_exact_and_wrap_around() {
    let ints = |values: &[f64]| tensor(DType::Int32, &[values.len() as i128], values);
    let least = f64::from(i32::MIN);
    near(&first("NegFwdOp", Params::new(), &[("x", ints(&[5.0, least]))]), &[-5.0, least]);
    near(&first("AbsFwdOp", Params::new(), &[("x", ints(&[-5.0, least]))]), &[5.0, least]);
    let (a, b) = (ints(&[f64::from(i32::MAX), 7.0]), ints(&[1.0, 5.0]));
    near(&first("AddFwdOp", Params::new().with("alpha", 3), &[("a", a), ("b", b)]), &[least + 2.0, 22.0]);
    let (a, b) = (ints(&[-7.0, 7.0, -7.0, 7.0]), ints(&[2.0, -2.0, -2.0, 0.0]));
    let inputs = [("a", a), ("b", b)];
    near(&first("DivFwdOp", Params::new().with("rounding_mode", "floor"), &inputs), &[-4.0, -4.0, 3.0, 0.0]);
    near(&first("DivFwdOp", Params::new().with("rounding_mode", "trunc"), &inputs), &[-3.0, -3.0, 3.0, 0.0]);
    near(&first("DivFwdOp", Params::new(), &inputs), &[-3.5, -3.5, 3.5, INFINITY]);
    near(&first("RemainderFwdOp", Params::new(), &inputs), &[1.0, -1.0, -1.0, 0.0]);
    let odd = tensor(DType::Int64, &[1], &[f64::from(1_u32 << 30) * f64::from(1_u32 << 30)]);
    near(&first("EqFwdOp", Params::new(), &[("a", odd.clone()), ("b", odd)]), &[1.0]);
}

#[test]
fn operands_are_broadcast() {
    let matrix = || tensor(DType::Float32, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let two = |op: &str, a, b| first(op, Params::new(), &[("a", a), ("b", b)]);
    near(&two("AddFwdOp", matrix(), row(&[10.0, 20.0, 30.0])), &[11.0, 22.0, 33.0, 14.0, 25.0, 36.0]);
    let column = tensor(DType::Float32, &[2, 1], &[1.0, 2.0]);
    near(&two("MulFwdOp", matrix(), column.clone()), &[1.0, 2.0, 3.0, 8.0, 10.0, 12.0]);
    near(&two("GtFwdOp", row(&[0.0, 1.0, 2.0]), column.clone()), &[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    near(&two("MulFwdOp", matrix(), tensor(DType::Float32, &[], &[2.0])), &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    near(&two("MaximumFwdOp", row(&[1.0, NAN, 3.0]), row(&[2.0, 1.0, NAN])), &[2.0, NAN, NAN]);
    near(&two("MinimumFwdOp", row(&[1.0, NAN]), row(&[2.0, 1.0])), &[1.0, NAN]);
    near(&two("RemainderFwdOp", row(&[-1.0, 5.5, 5.5]), row(&[3.0, -2.0, 2.0])), &[2.0, -0.5, 1.5]);
    near(
        &first("PowFwdOp", Params::new(), &[("base", row(&[2.0, 9.0])), ("exponent", row(&[10.0, 0.5]))]),
        &[1024.0, 3.0],
    );
    near(&two("SubFwdOp", row(&[5.0]), row(&[2.0])), &[3.0]);
    let truth = |values: &[f64]| tensor(DType::Bool, &[4], values);
    let (a, b) = (truth(&[0.0, 0.0, 1.0, 1.0]), truth(&[0.0, 1.0, 0.0, 1.0]));
    near(&two("LogicalXorFwdOp", a.clone(), b.clone()), &[0.0, 1.0, 1.0, 0.0]);
    near(&two("BitwiseAndFwdOp", a, b), &[0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn three_operands() {
    let three = |op: &str, params, names: [&str; 3], [a, b, c]: [&[f64]; 3]| {
        first(op, params, &[(names[0], row(a)), (names[1], row(b)), (names[2], row(c))])
    };
    let [x, a, b] = [&[1.0, 2.0][..], &[3.0, 4.0], &[2.0, 8.0]];
    near(&three("AddcmulFwdOp", Params::new().with("value", 0.5), ["x", "a", "b"], [x, a, b]), &[4.0, 18.0]);
    near(&three("AddcdivFwdOp", Params::new().with("value", 2), ["x", "a", "b"], [x, a, b]), &[4.0, 3.0]);
    near(&three("LerpFwdOp", Params::new(), ["start", "end", "weight"], [x, a, &[0.25, 1.0]]), &[1.5, 4.0]);
    near(&three("ClampTensorFwdOp", Params::new(), ["x", "min", "max"], [&[1.0, 9.0], a, b]), &[2.0, 8.0]);
    let mask = tensor(DType::Bool, &[2], &[1.0, 0.0]);
    let inputs = [("condition", mask.clone()), ("a", row(x)), ("b", row(a))];
    near(&first("WhereFwdOp", Params::new(), &inputs), &[1.0, 4.0]);
    near(&first("MaskedFillFwdOp", Params::new().with("value", -5), &[("x", row(x)), ("mask", mask)]), &[-5.0, 2.0]);
}

#[test]
fn gates() {
    let silu = |x: f64| x / (1.0 + (-x).exp());
    let x = || tensor(DType::Float32, &[2, 4], &[1.0, 2.0, 3.0, 4.0, -1.0, -2.0, 5.0, 6.0]);
    let two = |op: &str, params| first(op, params, &[("x", x())]);
    near(
        &two("SiluAndMulFwdOp", Params::new()),
        &[silu(1.0) * 3.0, silu(2.0) * 4.0, silu(-1.0) * 5.0, silu(-2.0) * 6.0],
    );
    near(&two("RegluFwdOp", Params::new()), &[3.0, 8.0, 0.0, 0.0]);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    near(&two("GluFwdOp", Params::new()), &[sigmoid(3.0), 2.0 * sigmoid(4.0), -sigmoid(5.0), -2.0 * sigmoid(6.0)]);
    let x = tensor(DType::BFloat16, &[1, 4], &[9.0, -9.0, 1.0, 0.5]);
    let clamped = first("ClampedSwigluFwdOp", Params::new().with("alpha", 1.0).with("limit", 2.0), &[("x", x)]);
    // Gates 2 and 1, values -2 and 0.5.
    let expected = [-2.0 * sigmoid(2.0), sigmoid(1.0) * 1.5];
    assert!(clamped.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.01), "{clamped:?}");
    let x = tensor(DType::BFloat16, &[1, 8], &[1.0, 2.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
    let outputs = outputs("SiluAndMulQuantizeFwdOp", Params::new().with("group", 2), arguments(&[("x", x)]));
    let [q, scale] = [0, 1].map(|at| elements(outputs[at].1.as_ref().unwrap()));
    near(&scale, &[silu(2.0) / 448.0, 0.0]);
    // 186 lies between 176 and 192.
    near(&q, &[192.0, 448.0, 0.0, 0.0]);
}

#[test]
fn steps_of_an_optimizer() {
    let inputs = [("weight", row(&[1.0])), ("grad", row(&[2.0])), ("moment", row(&[0.0])), ("variance", row(&[0.0]))];
    let params = Params::new().with("lr", 0.1).with("weight_decay", 0.5).with("step", 1);
    outputs("AdamWStepFwdOp", params, arguments(&inputs));
    // The first step goes by the learning rate, whatever the gradient; the weight has decayed by a twentieth.
    near(&elements(&inputs[0].1), &[0.95 - 0.1]);
    near(&elements(&inputs[2].1), &[0.2]);
    near(&elements(&inputs[3].1), &[0.004]);
    let inputs = [("grad", row(&[2.0, 4.0])), ("norm", tensor(DType::Float32, &[], &[8.0]))];
    outputs("GradClipFwdOp", Params::new().with("max_norm", 2.0), arguments(&inputs));
    near(&elements(&inputs[0].1), &[0.5, 1.0]);
}

#[test]
fn logits() {
    let logits = || tensor(DType::Float32, &[1, 3], &[2.0, -2.0, 4.0]);
    let inputs = [("logits", logits()), ("seen", tensor(DType::Bool, &[1, 3], &[1.0, 1.0, 0.0]))];
    outputs("RepetitionPenaltyFwdOp", Params::new().with("penalty", 2.0), arguments(&inputs));
    near(&elements(&inputs[0].1), &[1.0, -4.0, 4.0]);
    let inputs = [("logits", logits())];
    outputs("LogitSoftcapFwdOp", Params::new().with("cap", 4.0), arguments(&inputs));
    near(&elements(&inputs[0].1), &[1.848_468_6, -1.848_468_6, 3.046_376_6]);
    let pair = [("input", row(&[1.0, 2.0])), ("target", row(&[3.0, 5.0]))];
    near(&first("MseLossFwdOp", Params::new(), &pair), &[6.5]);
}

#[test]
fn streams() {
    // Two streams: coefficients for reading, for writing, and the matrix that mixes.
    let coefficients = tensor(DType::Float32, &[1, 8], &[0.0, 0.0, 1.0, 2.0, 1.0, 0.0, 3.0, 4.0]);
    let streams = tensor(DType::Float32, &[1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let read = [("coefficients", coefficients.clone()), ("streams", streams.clone())];
    near(&first("HyperConnectionReadFwdOp", Params::new(), &read), &[2.0, 3.0]);
    let y = tensor(DType::Float32, &[1, 2], &[10.0, 20.0]);
    let write = [("coefficients", coefficients), ("streams", streams.clone()), ("y", y)];
    outputs("HyperConnectionWriteFwdOp", Params::new(), arguments(&write));
    near(&elements(&streams), &[1.0 + 10.0, 2.0 + 20.0, 3.0 + 12.0 + 20.0, 6.0 + 16.0 + 40.0]);
}

#[test]
fn a_quotient_that_is_cut_has_a_rest_as_pytorch_has_it() {
    let inf = INFINITY;
    let (a, b) = (
        row(&[inf, -inf, -1.0, 1.0, 5.0, 0.0, inf, NAN, -5.0, 1e38, -7.0, inf]),
        row(&[2.0, 2.0, inf, -inf, 0.0, -inf, inf, 1.0, 0.0, 1e-30, 2.0, 0.0]),
    );
    let cut = |mode: &str| {
        first("DivFwdOp", Params::new().with("rounding_mode", mode), &[("a", a.clone()), ("b", b.clone())])
    };
    near(&cut("floor"), &[NAN, NAN, -1.0, -1.0, inf, 0.0, NAN, NAN, -inf, inf, -4.0, inf]);
    near(&cut("trunc"), &[inf, -inf, 0.0, 0.0, inf, 0.0, NAN, NAN, -inf, inf, -3.0, inf]);
    near(&first("RemainderFwdOp", Params::new(), &[("a", a), ("b", b)])[..4], &[NAN, NAN, inf, -inf]);
}

#[test]
fn a_norm_that_is_no_number_leaves_no_gradient() {
    let clipped = |norm: f64| {
        let call = arguments(&[("grad", row(&[1.0, -3.0])), ("norm", tensor(DType::Float32, &[], &[norm]))]);
        let grad = call.get("grad").expect("it is passed").clone();
        outputs("GradClipFwdOp", Params::new().with("max_norm", 1.0), call);
        elements(&grad)
    };
    near(&clipped(NAN), &[NAN, NAN]);
    near(&clipped(2.0), &[0.5, -1.5]);
    near(&clipped(INFINITY), &[0.0, 0.0]);
}

#[test]
fn the_least_factor_of_whole_numbers_wraps_around() {
    let whole = |elements: &[f64]| tensor(DType::Int32, &[elements.len() as i128], elements);
    let params = Params::new().with("alpha", -2_147_483_648_i64);
    let y = first("SubFwdOp", params, &[("a", whole(&[5.0, 0.0, 7.0])), ("b", whole(&[3.0, 1.0, 2.0]))]);
    assert_eq!(y, [-2_147_483_643.0, -2_147_483_648.0, 7.0]);
}
