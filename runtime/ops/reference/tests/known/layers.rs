use tileops_ops::DType::{BFloat16, Float32, Int32};
use tileops_ops::{Arguments, Params};

use crate::support::{elements, exact, run, zeros};

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

#[test]
fn a_tokens_experts_are_weighted_and_summed() {
    // Of width one: expert 0 has gate 1, up 2, down 3, expert 1 has gate -1, up 1, down 4.
    let y = zeros(BFloat16, &[2, 1]);
    let arguments = Arguments::new()
        .with("y", y.clone())
        .with("x", exact(BFloat16, &[2, 1], &[1., 2.]))
        .with("gate_up", exact(BFloat16, &[2, 2, 1], &[1., 2., -1., 1.]))
        .with("down", exact(BFloat16, &[2, 1, 1], &[3., 4.]))
        .with("weights", exact(Float32, &[2, 2], &[1., 0.5, 0.25, 2.]))
        .with("ids", exact(Int32, &[2, 2], &[0., 1., 1., 0.]));
    assert!(run("ExpertMlpFwdOp", Params::new(), arguments).is_empty());
    let expert = |x: f64| [silu(x) * 2. * x * 3., silu(-x) * x * 4.];
    let due = [expert(1.)[0] + 0.5 * expert(1.)[1], 0.25 * expert(2.)[1] + 2. * expert(2.)[0]];
    let got = elements(&y);
    assert!(got.iter().zip(due).all(|(got, due)| (got - due).abs() < 0.02 * due.abs()), "{got:?}, not {due:?}");
}

#[test]
fn a_shared_expert_is_added_where_there_is_one() {
    let arguments =
        Arguments::new().with("x", exact(BFloat16, &[1, 1], &[1.])).with("routed", exact(BFloat16, &[1, 1], &[8.]));
    assert_eq!(run("SharedExpertFwdOp", Params::new(), arguments.clone()), [[8.]]);
    let arguments =
        arguments.with("gate_up", exact(BFloat16, &[2, 1], &[1., 2.])).with("down", exact(BFloat16, &[1, 1], &[4.]));
    let [y, shared] = &run("SharedExpertFwdOp", Params::new(), arguments)[..] else { panic!("two outputs") };
    let due = silu(1.) * 2. * 4.;
    assert!((shared[0] - due).abs() < 0.05 && (y[0] - due - 8.).abs() < 0.1, "{y:?} {shared:?}, not {due}");
}

#[test]
fn every_pair_of_residues_has_the_mean_of_its_outer_products() {
    // Two sequences, two residues, one and two numbers: a is [S, R, C].
    let a = exact(Float32, &[2, 2, 1], &[1., 2., 3., 4.]);
    let b = exact(Float32, &[2, 2, 1], &[1., 0., 1., 2.]);
    let arguments = Arguments::new().with("a", a).with("b", b);
    assert_eq!(run("OuterProductMeanFwdOp", Params::new(), arguments), [[2., 3., 3., 4.]]);
}
