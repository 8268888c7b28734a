//! The references of gathers, positions and rotary embeddings, on numbers that are known by hand.

use crate::support::{arguments, elements, first, near, outputs, row, tensor};
use tileops_ops::{Arguments, DType, Params, Tensor};

const INFINITY: f64 = f64::INFINITY;

fn table() -> Tensor {
    tensor(DType::Float32, &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
}

fn ids(shape: &[i128], values: &[f64]) -> Tensor {
    tensor(DType::Int64, shape, values)
}

#[test]
fn rows_of_tables() {
    let inputs = [("ids", ids(&[1, 2], &[2.0, 0.0])), ("table", table())];
    near(&first("EmbeddingFwdOp", Params::new(), &inputs), &[5.0, 6.0, 1.0, 2.0]);
    near(&first("EmbeddingFwdOp", Params::new().with("scale", 2.0), &inputs), &[10.0, 12.0, 2.0, 4.0]);
    let bag = |mode: &str| first("EmbeddingBagFwdOp", Params::new().with("mode", mode), &inputs);
    near(&bag("sum"), &[6.0, 8.0]);
    near(&bag("mean"), &[3.0, 4.0]);
    near(&bag("max"), &[5.0, 6.0]);
    // What is not a number stays where it is the first: PyTorch compares.
    let (nan, least) = (f64::NAN, f64::NEG_INFINITY);
    let nans = tensor(DType::Float32, &[3, 2], &[nan, 1.0, 2.0, nan, least, least]);
    let bags = [("ids", ids(&[3, 2], &[0.0, 1.0, 1.0, 0.0, 2.0, 2.0])), ("table", nans)];
    let most = first("EmbeddingBagFwdOp", Params::new().with("mode", "max"), &bags);
    near(&most, &[nan, 1.0, 2.0, nan, least, least]);
    let inputs = [("x", table()), ("index", ids(&[2], &[1.0, 1.0]))];
    near(&first("IndexSelectFwdOp", Params::new(), &inputs), &[3.0, 4.0, 3.0, 4.0]);
    let inputs = [
        ("ids", ids(&[1, 2], &[2.0, 0.0])),
        ("types", ids(&[1, 2], &[0.0, 1.0])),
        ("words", table()),
        ("positions", tensor(DType::Float32, &[2, 2], &[10.0, 20.0, 30.0, 40.0])),
        ("segments", tensor(DType::Float32, &[2, 2], &[100.0, 200.0, 300.0, 400.0])),
    ];
    near(&first("BertEmbeddingFwdOp", Params::new(), &inputs), &[115.0, 226.0, 331.0, 442.0]);
}

#[test]
fn masks_and_biases() {
    let mask = |params: Params| first("CausalMaskFwdOp", params.with("length", 3), &[]);
    near(&mask(Params::new()), &[1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]);
    let windowed = mask(Params::new().with("window", 2).with("dtype", DType::Float32));
    near(&windowed, &[0.0, -INFINITY, -INFINITY, 0.0, 0.0, -INFINITY, -INFINITY, 0.0, 0.0]);
    let slopes = row(&[1.0, 0.5]);
    let params = Params::new().with_tensor("slopes", slopes).with("queries", 1).with("keys", 3);
    near(&first("AlibiBiasFwdOp", params, &[]), &[-2.0, -1.0, 0.0, -1.0, -0.5, 0.0]);
    let valid = tensor(DType::Int32, &[2], &[2.0, 1.0]);
    let seen = first("CausalLengthsMaskFwdOp", Params::new().with("size", 2), &[("valid", valid)]);
    near(&seen, &[1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0]);
}

#[test]
fn tables_of_angles() {
    let sinusoidal = Params::new().with("length", 2).with("width", 4).with("max_period", 100.0);
    let (one, tenth) = (1_f64, 0.1_f64);
    near(
        &first("SinusoidalPositionsFwdOp", sinusoidal, &[]),
        &[0.0, 0.0, 1.0, 1.0, one.sin(), tenth.sin(), one.cos(), tenth.cos()],
    );
    let frequencies = row(&[1.0, 0.5]);
    let params = Params::new().with_tensor("frequencies", frequencies).with("length", 3).with("attention_factor", 2.0);
    let outputs = outputs("RopeTableFwdOp", params, Arguments::new());
    let [cos, sin] = [0, 1].map(|at| elements(outputs[at].1.as_ref().unwrap()));
    let angles = [0.0, 0.0, 1.0, 0.5, 2.0, 1.0_f64];
    near(&cos, &angles.map(|angle| 2.0 * angle.cos()));
    near(&sin, &angles.map(|angle| 2.0 * angle.sin()));
}

#[test]
fn pairs_are_turned() {
    // A quarter turn, and none.
    let cos = || tensor(DType::Float32, &[1, 2], &[0.0, 1.0]);
    let sin = || tensor(DType::Float32, &[1, 2], &[1.0, 0.0]);
    let x = || tensor(DType::Float32, &[1, 1, 1, 5], &[1.0, 2.0, 3.0, 4.0, 5.0]);
    let params = || Params::new().with("rotary_dim", 4);
    let inputs = [("x", x()), ("cos", cos()), ("sin", sin())];
    near(&first("RopeFwdOp", params(), &inputs), &[-3.0, 2.0, 1.0, 4.0, 5.0]);
    near(&first("RopeFwdOp", params().with("layout", "pairs"), &inputs), &[-2.0, 1.0, 3.0, 4.0, 5.0]);

    let heads = |count: i128, values: &[f64]| tensor(DType::BFloat16, &[1, count, 4], values);
    let inputs = [
        ("q", heads(2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])),
        ("k", heads(1, &[1.0, 2.0, 3.0, 4.0])),
        ("table", tensor(DType::Float32, &[2, 4], &[9.0, 9.0, 9.0, 9.0, 0.0, 1.0, 1.0, 0.0])),
        ("positions", ids(&[1], &[1.0])),
    ];
    outputs("RopeQkInplaceFwdOp", Params::new().with("rotary_dim", 4), arguments(&inputs));
    near(&elements(&inputs[0].1), &[-3.0, 2.0, 1.0, 4.0, -7.0, 6.0, 5.0, 8.0]);
    near(&elements(&inputs[1].1), &[-3.0, 2.0, 1.0, 4.0]);

    // Each of the three pairs reads its own row.
    let rows = |values: &[f64]| tensor(DType::Float32, &[3, 1, 3], values);
    let inputs = [
        ("x", tensor(DType::BFloat16, &[1, 1, 6], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])),
        ("cos", rows(&[1.0, 9.0, 9.0, 9.0, 0.0, 9.0, 9.0, 9.0, -1.0])),
        ("sin", rows(&[0.0, 9.0, 9.0, 9.0, 1.0, 9.0, 9.0, 9.0, 0.0])),
    ];
    let params = Params::new().with("sections", [1, 1, 1]);
    near(&first("MultimodalRopeFwdOp", params, &inputs), &[1.0, -5.0, -3.0, 4.0, 2.0, -6.0]);

    let head = |values: &[f64]| tensor(DType::BFloat16, &[1, 1, 1, 2], values);
    let inputs = [
        ("q", head(&[1.0, 2.0])),
        ("k", head(&[3.0, 4.0])),
        ("table", tensor(DType::Float32, &[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0])),
    ];
    let outputs = outputs("AxialRopeQkFwdOp", Params::new(), arguments(&inputs));
    near(&elements(outputs[0].1.as_ref().unwrap()), &[5.0, 11.0]);
    near(&elements(outputs[1].1.as_ref().unwrap()), &[11.0, 25.0]);
}
