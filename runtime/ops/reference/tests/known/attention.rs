use tileops_ops::DType::{Float16, Int32};
use tileops_ops::{Arguments, Params};

use crate::support::{exact, run};

fn near(got: &[f64], due: &[f64]) {
    assert_eq!(got.len(), due.len());
    assert!(got.iter().zip(due).all(|(got, due)| (got - due).abs() < 2e-3), "{got:?}, not {due:?}");
}

/// Two queries, three keys of width one, scores of q k.
fn dense() -> Arguments {
    Arguments::new()
        .with("q", exact(Float16, &[1, 2, 1, 1], &[0., 1.]))
        .with("k", exact(Float16, &[1, 3, 1, 1], &[0., 1., -1.]))
        .with("v", exact(Float16, &[1, 3, 1, 1], &[3., 6., 12.]))
}

#[test]
fn queries_of_zeros_take_the_mean_of_the_keys_that_they_see() {
    let e = std::f64::consts::E;
    let all = (3. + 6. * e + 12. / e) / (1. + e + 1. / e);
    near(&run("AttentionFwdOp", Params::new(), dense())[0], &[7., all]);
    // The first of two queries stands at the second of three keys.
    let causal = Params::new().with("is_causal", true);
    near(&run("AttentionFwdOp", causal.clone(), dense())[0], &[4.5, all]);
    let two = (6. * e + 12. / e) / (e + 1. / e);
    near(&run("AttentionFwdOp", causal.with("window", 2_i64), dense())[0], &[4.5, two]);
}

#[test]
fn a_sink_takes_weight_and_gives_nothing_and_a_cap_holds_scores() {
    let sunk = dense().with("sinks", exact(Float16, &[1], &[0.]));
    let e = std::f64::consts::E;
    let second = (3. + 6. * e + 12. / e) / (2. + e + 1. / e);
    near(&run("AttentionFwdOp", Params::new(), sunk)[0], &[21. / 4., second]);
    let t = 0.5 * 2_f64.tanh();
    let capped = (3. + 6. * t.exp() + 12. * (-t).exp()) / (1. + t.exp() + (-t).exp());
    near(&run("AttentionFwdOp", Params::new().with("softcap", 0.5), dense())[0], &[7., capped]);
}

#[test]
fn packed_requests_do_not_see_each_other() {
    let arguments = Arguments::new()
        .with("q", exact(Float16, &[3, 2, 1], &[0.; 6]))
        .with("k", exact(Float16, &[3, 1, 1], &[0.; 3]))
        .with("v", exact(Float16, &[3, 1, 1], &[1., 3., 10.]))
        .with("offsets", exact(Int32, &[4], &[0., 2., 2., 3.]));
    let outputs = run("VarlenAttentionFwdOp", Params::new().with("max_length", 2_i64), arguments);
    near(&outputs[0], &[1., 1., 2., 2., 10., 10.]);
    near(&outputs[1], &[0., 2_f64.ln(), 0., 0., 2_f64.ln(), 0.]);
}

#[test]
fn keys_are_found_in_their_pages() {
    let pages = exact(Float16, &[2, 2, 1, 1], &[0.; 4]);
    let values = exact(Float16, &[2, 2, 1, 1], &[1., 2., 3., 4.]);
    let cache = Arguments::new().with("k_pages", pages).with("v_pages", values);
    let params = Params::new().with("page_size", 2_i64);
    let arguments = cache
        .clone()
        .with("q", exact(Float16, &[2, 1, 1], &[0.; 2]))
        .with("page_table", exact(Int32, &[2, 2], &[1., 0., 0., 0.]))
        .with("kv_lengths", exact(Int32, &[2], &[3., 1.]));
    near(&run("PagedDecodeAttentionFwdOp", params.clone(), arguments.clone())[0], &[8. / 3., 1.]);
    near(&run("PagedDecodeAttentionFwdOp", params.clone().with("window", 1_i64), arguments)[0], &[1., 1.]);
    // Two new tokens behind one that is cached.
    let arguments = cache
        .with("q", exact(Float16, &[2, 1, 1], &[0.; 2]))
        .with("page_table", exact(Int32, &[1, 2], &[1., 0.]))
        .with("offsets", exact(Int32, &[2], &[0., 2.]))
        .with("cached_lengths", exact(Int32, &[1], &[1.]));
    near(&run("PagedPrefillAttentionFwdOp", params, arguments)[0], &[3.5, 8. / 3.]);
}
