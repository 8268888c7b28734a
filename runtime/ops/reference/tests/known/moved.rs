use tileops_ops::DType::{BFloat16, Float8E4M3Fn, Float16, Float32, Int32, Int64};
use tileops_ops::{Arguments, Params, Variant};

use crate::support::{elements, exact, run, zeros};

#[test]
fn a_router_takes_the_best_and_the_first_of_equals() {
    let logits = exact(Float32, &[2, 3], &[0., 2., 2., 1., 0., -1.]);
    let call = |params: Params| run("TopkRouterFwdOp", params, Arguments::new().with("logits", logits.clone()));
    let [weights, ids] = &call(Params::new().with("top_k", 2_i64))[..] else { panic!("two outputs") };
    assert_eq!(ids, &[1., 2., 0., 1.]);
    // e / (e + 1) and 1 / (e + 1).
    let due = [0.5, 0.5, 0.731_058_6, 0.268_941_4];
    assert!(weights.iter().zip(due).all(|(weight, due)| (weight - due).abs() < 1e-6), "{weights:?}");
    let params = Params::new().with("top_k", 1_i64).with("score", "sigmoid").with("normalize", false);
    let arguments = Arguments::new().with("logits", logits).with("bias", exact(Float32, &[3], &[9., 0., 0.5]));
    let chosen = run("TopkRouterFwdOp", params, arguments);
    // The bias decides, and is no part of the weight: sigmoid(0) and sigmoid(1).
    assert_eq!(chosen[1], [0., 0.]);
    assert!((chosen[0][0] - 0.5).abs() < 1e-6 && (chosen[0][1] - 0.731_058_6).abs() < 1e-6, "{:?}", chosen[0]);
}

#[test]
fn groups_are_chosen_by_their_two_best() {
    // Groups (3, 0), (2, 2), (-9, 2.5): by the sums of the sigmoids the second is the best, the first next.
    let arguments = Arguments::new()
        .with("logits", exact(Float32, &[1, 6], &[3., 0., 2., 2., -9., 2.5]))
        .with("bias", zeros(Float32, &[6]));
    let params = Params::new().with("top_k", 2_i64).with("num_groups", 3_i64).with("top_groups", 1_i64);
    let chosen = run("GroupedTopkRouterFwdOp", params.with("scaling", 2.0), arguments);
    assert_eq!((&chosen[0][..], &chosen[1][..]), (&[1., 1.][..], &[2., 3.][..]));
}

fn routed() -> Arguments {
    // Three tokens, two experts each of three: 2 and 0, 2 and 1, 0 and 2.
    Arguments::new().with("ids", exact(Int32, &[3, 2], &[2., 0., 2., 1., 0., 2.]))
}

#[test]
fn rows_stand_behind_their_experts_first_row_in_the_order_of_the_tokens() {
    let experts = Params::new().with("num_experts", 3_i64);
    assert_eq!(run("ExpertCountsFwdOp", experts.clone(), routed()), [vec![2., 1., 3.], vec![0., 2., 3., 6.]]);
    let arguments = routed().with("x", exact(BFloat16, &[3, 1], &[10., 20., 30.]));
    let due = [vec![10., 30., 20., 10., 20., 30.], vec![3., 0., 4., 2., 1., 5.], vec![0., 2., 3., 6.]];
    assert_eq!(run("ExpertPermuteFwdOp", experts, arguments), due);
}

#[test]
fn rows_that_no_token_has_are_zeros() {
    let call = |layout: Variant| {
        let arguments = routed().with("x", exact(BFloat16, &[3, 1], &[10., 20., 30.]));
        run("ExpertGatherFwdOp", Params::new().with("num_experts", 3_i64).with("layout", layout), arguments)
    };
    let packed = |index: &str| Variant::new("packed", [("index", index.into()), ("tile", 2_i64.into())]);
    // Six rows and room for one more an expert.
    let rows = vec![10., 30., 20., 0., 10., 20., 30., 0., 0.];
    assert_eq!(call(packed("by_expert")), [rows.clone(), vec![0., 2., 4., 8.]]);
    assert_eq!(call(packed("by_row")), [rows, vec![0., 0., 1., -1., 2., 2., 2., -1., -1.]]);
    // The third row of the last expert finds no place.
    let slab = Variant::new("slab", [("capacity", 2_i64.into())]);
    assert_eq!(call(slab), [vec![10., 30., 20., 0., 10., 20.], vec![2., 1., 2.]]);
}

#[test]
fn a_tokens_rows_come_back_weighted() {
    let arguments = Arguments::new()
        .with("rows", exact(Float16, &[4, 1], &[1., 2., 3., 4.]))
        .with("weights", exact(Float32, &[2, 2], &[1., 10., 0.5, 2.]))
        .with("places", exact(Int32, &[4], &[3., 0., 2., 1.]));
    assert_eq!(run("ExpertCombineFwdOp", Params::new(), arguments.clone()), [[14., 5.5]]);
    let arguments = arguments.with("shared", exact(Float16, &[2, 1], &[100., 200.]));
    assert_eq!(run("ExpertCombineFwdOp", Params::new(), arguments), [[114., 205.5]]);
}

#[test]
fn a_cache_is_written_where_the_slots_say_and_nowhere_else() {
    let call = |dtype, params: Params| {
        let caches = [exact(dtype, &[3, 1, 1], &[1., 2., 3.]), exact(dtype, &[3, 1, 1], &[4., 5., 6.])];
        let arguments = Arguments::new()
            .with("k", exact(BFloat16, &[2, 1, 1], &[7., 8.5]))
            .with("v", exact(BFloat16, &[2, 1, 1], &[-7., -8.]))
            .with("k_cache", caches[0].clone())
            .with("v_cache", caches[1].clone())
            .with("slots", exact(Int64, &[2], &[2., 0.]));
        assert!(run("KvCacheAppendFwdOp", params, arguments).is_empty());
        caches.map(|cache| elements(&cache))
    };
    assert_eq!(call(BFloat16, Params::new()), [[8.5, 2., 7.], [-8., 5., -7.]]);
    // Between 8 and 9 the even one is taken.
    let narrow = Params::new().with("cache_dtype", Float8E4M3Fn);
    assert_eq!(call(Float8E4M3Fn, narrow), [[8., 2., 7.], [-8., 5., -7.]]);
}

#[test]
fn rows_are_found_in_the_pages_of_their_request() {
    let arguments = Arguments::new()
        .with("k_pages", exact(Float16, &[3, 2, 1, 1], &[0., 1., 10., 11., 20., 21.]))
        .with("v_pages", exact(Float16, &[3, 2, 1, 1], &[5., 6., 15., 16., 25., 26.]))
        .with("page_table", exact(Int32, &[2, 2], &[2., 0., 1., 1.]))
        .with("rows", exact(Int32, &[4, 2], &[0., 0., 0., 1., 0., 2., 1., 0.]))
        .with("offsets", exact(Int32, &[3], &[0., 3., 4.]));
    let due = [[20., 21., 0., 10.], [25., 26., 5., 15.]];
    assert_eq!(run("PagedKvCacheGatherFwdOp", Params::new().with("page_size", 2_i64), arguments), due);
}

#[test]
fn parts_of_an_attention_are_weighed_by_their_sums() {
    let ln = f64::from(3_f32.ln());
    let arguments = Arguments::new()
        .with("o_a", exact(Float32, &[1, 2, 1], &[4., 1.]))
        .with("lse_a", exact(Float32, &[1, 2], &[0., f64::NEG_INFINITY]))
        .with("o_b", exact(Float32, &[1, 2, 1], &[8., 2.]))
        .with("lse_b", exact(Float32, &[1, 2], &[ln, f64::NEG_INFINITY]));
    let [o, lse] = &run("MergeAttentionStatesFwdOp", Params::new(), arguments)[..] else { panic!("two outputs") };
    // A quarter of 4 and three of 8; nothing where neither part has a key.
    assert!((o[0] - 7.0).abs() < 1e-6 && o[1] == 0.0, "{o:?}");
    assert!((lse[0] - 4_f64.ln()).abs() < 1e-6 && lse[1] == f64::NEG_INFINITY, "{lse:?}");
}
