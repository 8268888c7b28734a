use tileops_ops::DType::{BFloat16, Float16, Float32};
use tileops_ops::{Arguments, Params};

use crate::support::{exact, run, tensor, zeros};

#[test]
fn a_product_reads_each_operand_as_it_is_stored() {
    let a = exact(Float16, &[2, 3], &[1., 2., 3., 4., 5., 6.]);
    let a_stored = exact(Float16, &[3, 2], &[1., 4., 2., 5., 3., 6.]);
    let b = exact(Float16, &[3, 2], &[1., 0., 0., 1., 2., -1.]);
    let b_stored = exact(Float16, &[2, 3], &[1., 0., 2., 0., 1., -1.]);
    for (trans_a, a) in [(false, a), (true, a_stored)] {
        for (trans_b, b) in [(false, &b), (true, &b_stored)] {
            let params = Params::new().with("trans_a", trans_a).with("trans_b", trans_b);
            let arguments = Arguments::new().with("a", a.clone()).with("b", b.clone());
            assert_eq!(run("MatmulFwdOp", params, arguments), [[7., -1., 16., -1.]]);
        }
    }
}

#[test]
fn a_linear_layer_adds_its_bias_to_every_row_of_every_axis() {
    let x = exact(Float32, &[2, 1, 2], &[1., 2., 3., 4.]);
    let weight = exact(Float32, &[3, 2], &[1., 0., 0., 1., 1., 1.]);
    let arguments = Arguments::new().with("x", x).with("weight", weight);
    assert_eq!(run("LinearFwdOp", Params::new(), arguments.clone()), [[1., 2., 3., 3., 4., 7.]]);
    let arguments = arguments.with("bias", exact(Float32, &[3], &[0.5, 0., -1.]));
    assert_eq!(run("LinearFwdOp", Params::new(), arguments.clone()), [[1.5, 2., 2., 3.5, 4., 6.]]);
    let out = zeros(Float32, &[2, 1, 3]);
    assert_eq!(run("LinearFwdOp", Params::new(), arguments.with_out(out)), [[1.5, 2., 2., 3.5, 4., 6.]]);
}

#[test]
fn each_matrix_of_a_batch_meets_its_own() {
    let a = exact(BFloat16, &[2, 1, 2], &[1., 2., 3., 4.]);
    let b = exact(BFloat16, &[2, 2, 2], &[1., 0., 0., 1., 0., 1., 1., 0.]);
    let arguments = Arguments::new().with("a", a).with("b", b);
    assert_eq!(run("BatchedMatmulFwdOp", Params::new(), arguments), [[1., 2., 4., 3.]]);
}

#[test]
fn an_addend_is_a_row_or_a_matrix_and_is_left_out_without_a_factor() {
    let a = exact(Float32, &[2, 1], &[1., 2.]);
    let b = exact(Float32, &[1, 2], &[3., 5.]);
    let call = |beta: f64, alpha: f64, shape: &[i128], c: &[f64]| {
        let params = Params::new().with("beta", beta).with("alpha", alpha);
        let arguments = Arguments::new().with("a", a.clone()).with("b", b.clone()).with("c", exact(Float32, shape, c));
        run("AddmmFwdOp", params, arguments).remove(0)
    };
    assert_eq!(call(1., 1., &[2], &[10., 20.]), [13., 25., 16., 30.]);
    assert_eq!(call(2., 1., &[1, 2], &[10., 20.]), [23., 45., 26., 50.]);
    assert_eq!(call(1., 0.5, &[2, 2], &[1., 2., 3., 4.]), [2.5, 4.5, 6., 9.]);
    assert_eq!(call(0., 1., &[2], &[f64::INFINITY, 1.]), [3., 5., 6., 10.]);
}

#[test]
fn a_gate_that_is_no_number_stays_none() {
    for activation in ["relu", "silu", "gelu", "gelu_tanh"] {
        let arguments = Arguments::new()
            .with("x", exact(Float16, &[1, 1], &[1.]))
            .with("gate", tensor(Float16, &[1, 1], &[f64::NAN]))
            .with("up", exact(Float16, &[1, 1], &[1.]));
        let y = run("GateUpMatmulFwdOp", Params::new().with("activation", activation), arguments).remove(0);
        assert!(y[0].is_nan(), "{activation}: {y:?}");
    }
}

#[test]
fn a_gate_goes_through_its_activation() {
    let call = |activation: &str| {
        let arguments = Arguments::new()
            .with("x", exact(Float16, &[1, 2], &[1., 2.]))
            .with("gate", exact(Float16, &[2, 2], &[1., 0., -1., 0.]))
            .with("up", exact(Float16, &[2, 2], &[0., 1., 1., 1.]));
        run("GateUpMatmulFwdOp", Params::new().with("activation", activation), arguments).remove(0)
    };
    assert_eq!(call("relu"), [2., 0.]);
    let near = |got: &[f64], due: [f64; 2]| got.iter().zip(due).all(|(got, due)| (got - due).abs() < 1e-3);
    // silu(1) = 0.731059, silu(-1) = -0.268941; gelu(1) = 0.841345, gelu(-1) = -0.158655; its tanh form 0.841192, -0.158808.
    assert!(near(&call("silu"), [1.462117, -0.806824]), "{:?}", call("silu"));
    assert!(near(&call("gelu"), [1.682690, -0.475966]), "{:?}", call("gelu"));
    assert!(near(&call("gelu_tanh"), [1.682384, -0.476424]), "{:?}", call("gelu_tanh"));
}
