//! Every generator against what it must give.

use super::super::{Argument, Contents, Predicate, all, find};
use super::*;
use crate::defect::Findings;
use crate::eval::{Environment, evaluate_axes};
use crate::expr::{ShapeKind, parse_shape};
use crate::lang::AdtValue;
use crate::syntax::Scalar;
use crate::text::{TextRange, TextSize};
use Value::Int;

fn generator(name: &str) -> &'static Generator {
    match find(name).unwrap().role {
        Role::Generator(generator) => generator,
        _ => panic!("{name} is no generator"),
    }
}

/// The shape and the values; checks that they agree with each other and with the bounds.
fn made(name: &str, args: &[Value]) -> std::result::Result<(Vec<i128>, Vec<i64>), String> {
    let generator = generator(name);
    let shape = (generator.result_shape)(args).map_err(|e| e.0)?;
    let values = (generator.generate)(args, Seed(1)).map_err(|e| e.0)?;
    assert_eq!(shape.iter().product::<i128>(), values.len() as i128, "{name}");
    assert_eq!(stated_shape(name, args), Some(shape.clone()), "{name}");
    match (generator.bounds)(args) {
        Some((lo, hi)) => assert!(values.iter().all(|&v| (lo..=hi).contains(&v.into())), "{name}: {lo} {hi}"),
        None => assert!(values.is_empty(), "{name} has no bounds"),
    }
    assert_eq!((generator.generate)(args, Seed(1)).unwrap(), values, "{name} is not stable");
    Ok((shape, values))
}

struct Parameters<'a>(&'static [Parameter], &'a [Value]);

impl Environment for Parameters<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        self.1.get(self.0.iter().position(|parameter| parameter.name == name)?).cloned()
    }

    fn present(&self, _: &str) -> Option<bool> {
        None
    }
}

/// The shape as the table states it, for readers that have no values.
fn stated_shape(name: &str, args: &[Value]) -> Option<Vec<i128>> {
    let environment = Parameters(find(name)?.params, args);
    let text = match generator(name).shape {
        ResultShape::LayoutMetadata => {
            let per_row = matches!(Args(args).layout(0, "layout"), Ok(Layout::Contiguous { per_row: true, .. }));
            if per_row { "[R]".to_owned() } else { "[E]".to_owned() }
        }
        stated => stated.to_string(),
    };
    let len = TextSize::of(text.as_str());
    let mut findings = Findings::default();
    let shape = parse_shape(&Scalar::plain(&text), TextRange::up_to(len), "", &mut findings);
    assert!(findings.defects.is_empty(), "{text}");
    match shape.kind {
        ShapeKind::Axes(axes) => evaluate_axes(&axes, &environment).ok(),
        _ => None,
    }
}

fn values(name: &str, args: &[Value]) -> Vec<i64> {
    made(name, args).unwrap().1
}

fn ints<const N: usize>(items: [i128; N]) -> Value {
    Value::ints(items)
}

fn str(text: &str) -> Value {
    Value::Str(text.into())
}

fn layout(packing: &str, metadata: &str, alignment: i128) -> Value {
    let fields = vec![
        ("packing".into(), str(packing)),
        ("metadata_kind".into(), str(metadata)),
        ("alignment".into(), Int(alignment)),
    ];
    Value::Adt(AdtValue { adt: Layout::ADT.into(), constructor: "contiguous".into(), fields }.into())
}

fn masked(max_m: i128) -> Value {
    let fields = vec![("max_m".into(), Int(max_m))];
    Value::Adt(AdtValue { adt: Layout::ADT.into(), constructor: "masked".into(), fields }.into())
}

fn distinct(row: &[i64]) -> bool {
    let mut sorted = row.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

#[test]
fn lengths_become_offsets() {
    let l = || ints([3, 0, 2]);
    assert_eq!(made("as_tensor", &[l()]), Ok((vec![3], vec![3, 0, 2])));
    assert_eq!(made("as_tensor", &[ints([])]), Ok((vec![0], vec![])));
    assert_eq!(made("prefix_sum", &[l()]), Ok((vec![4], vec![0, 3, 3, 5])));
    assert_eq!(made("prefix_sum", &[ints([])]), Ok((vec![1], vec![0])));
    assert_eq!(made("exclusive_prefix_sum", &[l()]), Ok((vec![3], vec![0, 3, 3])));
    assert_eq!(made("exclusive_prefix_sum", &[ints([])]), Err("`L` is empty".into()));
    assert_eq!(made("chunk_offsets", &[l(), Int(2)]), Ok((vec![4], vec![0, 2, 2, 3])));
    assert_eq!(made("chunk_offsets", &[l(), Int(0)]), Err("`c` is 0, and must be positive".into()));
    assert_eq!(made("prefix_sum", &[ints([1, -1])]), Err("`L[1]` is -1, and must be non-negative".into()));
    assert_eq!(made("prefix_sum", &[Int(3)]), Err("`L` is 3, and must be a sequence".into()));
    assert_eq!(made("as_tensor", &[ints([1 << 70])]), Err("1180591620717411303424 does not fit an int64 entry".into()));
}

#[test]
fn lengths_become_pairs() {
    let l = || ints([3, 0, 2]);
    assert_eq!(made("token_indices", &[l()]), Ok((vec![5, 2], vec![0, 0, 0, 1, 0, 2, 2, 0, 2, 1])));
    assert_eq!(made("chunk_indices", &[l(), Int(2)]), Ok((vec![3, 2], vec![0, 0, 0, 1, 2, 0])));
    assert_eq!(made("packed_positions", &[l()]), Ok((vec![5], vec![0, 1, 2, 0, 1])));
    assert_eq!(made("token_indices", &[ints([])]), Ok((vec![0, 2], vec![])));
    assert_eq!(made("packed_positions", &[ints([0])]), Ok((vec![0], vec![])));
    assert!(made("packed_positions", &[ints([1 << 40])]).unwrap_err().contains("more than the"));
    assert!(made("chunk_indices", &[l(), Int(-1)]).is_err());
}

#[test]
fn windows_start_with_the_sequence_and_end_behind_the_position() {
    let window = |first: i128, count: i128, side: &str| {
        made("key_windows", &[ints([3, 0, 2]), Int(first), Int(count), str(side)])
    };
    assert_eq!(window(0, 5, "start"), Ok((vec![5], vec![0, 0, 0, 3, 3])));
    assert_eq!(window(0, 5, "end"), Ok((vec![5], vec![1, 2, 3, 4, 5])));
    assert_eq!(window(2, 2, "start"), Ok((vec![2], vec![0, 3])));
    assert_eq!(window(2, 2, "end"), Ok((vec![2], vec![3, 4])));
    assert_eq!(window(5, 0, "end"), Ok((vec![0], vec![])));
    assert_eq!(window(4, 2, "end"), Err("`first + count` is 4 + 2, and must be at most sum(L), which is 5".into()));
    assert!(window(9, 0, "end").is_ok_and(|(_, values)| values.is_empty()));
    assert!(window(-1, 0, "end").is_err() && window(0, 1, "left").is_err());
}

#[test]
fn full_tensors() {
    assert_eq!(made("full", &[ints([2, 2]), Int(-7)]), Ok((vec![2, 2], vec![-7; 4])));
    assert_eq!(made("full", &[ints([]), Int(1)]), Ok((vec![], vec![1])));
    assert_eq!(made("full", &[ints([-1]), Int(1)]), Err("`shape[0]` is -1, and must be non-negative".into()));
}

#[test]
fn layouts_have_metadata() {
    let metadata = |layout: Value, r: i128, e: i128| made("moe.layout_metadata", &[layout, Int(r), Int(e)]);
    assert_eq!(metadata(masked(5), 15, 3), Ok((vec![3], vec![5, 2, 5])));
    assert_eq!(metadata(masked(5), 14, 3), Err("`R` is 14, and must be E * max_m of the masked layout, 3 * 5".into()));
    assert_eq!(metadata(layout("tight", "physical_psum", 1), 5, 3), Ok((vec![3], vec![2, 4, 5])));
    assert_eq!(metadata(layout("tight", "per_row", 1), 5, 3), Ok((vec![5], vec![0, 0, 1, 1, 2])));
    assert_eq!(metadata(layout("aligned", "per_row", 2), 6, 2), Ok((vec![6], vec![0, 0, 0, 0, 1, 1])));
    assert_eq!(metadata(layout("aligned", "physical_psum", 4), 12, 4), Ok((vec![4], vec![2, 6, 10, 12])));
    assert_eq!(metadata(layout("aligned", "per_row", 2), 0, 2), Ok((vec![0], vec![])));
    assert_eq!(
        metadata(layout("aligned", "per_row", 4), 6, 2),
        Err("`R` is 6, and must be a multiple of the layout's alignment, 4".into())
    );
    assert_eq!(metadata(masked(5), 0, 0), Err("`E` is 0, and must be positive".into()));
}

#[test]
fn metadata_of_a_layout_is_valid() {
    let Role::Predicate(predicate) = find("moe.layout_valid").unwrap().role else { panic!("no predicate") };
    for experts in 1..6 {
        for rows in (0..48).step_by(4) {
            for alignment in [1, 2, 4] {
                for metadata in ["per_row", "physical_psum"] {
                    let packing = if alignment == 1 { "tight" } else { "aligned" };
                    let args = [layout(packing, metadata, alignment), Int(rows), Int(experts)];
                    assert_eq!(valid(predicate, "moe.layout_metadata", &args), Ok(()), "{args:?}");
                }
            }
        }
        let args = [masked(7), Int(7 * experts), Int(experts)];
        assert_eq!(valid(predicate, "moe.layout_metadata", &args), Ok(()));
    }
}

fn valid(predicate: &Predicate, name: &str, args: &[Value]) -> std::result::Result<(), DomainError> {
    let (shape, values) = made(name, args).unwrap();
    let arguments: Vec<Argument<'_>> = args.iter().cloned().map(Argument::Value).collect();
    (predicate.holds)(&Contents { shape: &shape, values: &values }, &arguments)
}

#[test]
fn pages_are_distinct() {
    let pages = values("paged_block_table", &[Int(3), Int(4), Int(12)]);
    assert!(distinct(&pages));
    let pages = values("paged_block_table", &[Int(5), Int(4), Int(6)]);
    assert!(pages.chunks(4).all(distinct) && pages.iter().all(|&page| (0..6).contains(&page)));
    assert!(values("paged_block_table", &[Int(0), Int(4), Int(6)]).is_empty());
    assert_eq!(
        made("paged_block_table", &[Int(3), Int(7), Int(6)]),
        Err("`width` is 7, and must be at most `pool`, which is 6".into())
    );
    assert_eq!(made("paged_block_table", &[Int(3), Int(0), Int(6)]), Err("`width` is 0, and must be positive".into()));
}

#[test]
fn experts_are_distinct_in_a_row() {
    let (shape, ids) = made("topk_ids", &[Int(200), Int(8), Int(10)]).unwrap();
    assert_eq!(shape, [200, 8]);
    assert!(ids.chunks(8).all(distinct) && ids.iter().all(|&id| (0..10).contains(&id)));
    assert!((0..10).all(|expert| ids.contains(&expert)));
    assert_eq!(
        made("topk_ids", &[Int(2), Int(3), Int(2)]),
        Err("`K` is 3, and must be at most `E`, which is 2".into())
    );
    assert!(made("topk_ids", &[Int(-1), Int(1), Int(2)]).is_err());
    assert!(made("topk_ids", &[Int(1), Int(0), Int(2)]).is_err());
}

#[test]
fn samples_are_distinct() {
    for (n, hi) in [(0, 0), (0, 5), (5, 5), (3, 1 << 40), (1000, 1000)] {
        let sample = values("sample_indices", &[Int(n), Int(hi)]);
        assert!(distinct(&sample) && sample.len() as i128 == n);
    }
    assert_eq!(made("sample_indices", &[Int(3), Int(2)]), Err("`n` is 3, and must be at most `hi`, which is 2".into()));
    let ids = values("random_ids", &[Int(100), Int(3), Int(2)]);
    assert!(ids.contains(&0) && ids.contains(&1));
    assert_eq!(made("random_ids", &[Int(1), Int(1), Int(0)]), Err("`hi` is 0, and must be positive".into()));
    assert!(made("random_ids", &[Int(1), Int(1), Int(i128::MAX)]).is_err());
}

#[test]
fn queries_see_the_past_only() {
    let args = [2, 9, 2, 4, 6, 3, 2].map(Int);
    let (shape, indices) = made("causal_topk_indices", &args).unwrap();
    assert_eq!(shape, [2, 9, 2, 4]);
    for (row, chosen) in indices.chunks(4).enumerate() {
        let query = (row / 2 % 9) as i64;
        let visible = ((query + 3) / 2).clamp(1, 6);
        let (seen, padding) = chosen.split_at(visible.min(4) as usize);
        assert!(distinct(seen) && seen.iter().all(|&key| (0..visible).contains(&key)), "{query} {chosen:?}");
        assert!(padding.iter().all(|&key| key == 6));
    }
    assert_eq!(values("causal_topk_indices", &[1, 1, 1, 2, 0, 0, 1].map(Int)), [0, 0]);
    assert_eq!(
        made("causal_topk_indices", &[1, 1, 1, 2, 0, 0, 0].map(Int)),
        Err("`stride` is 0, and must be positive".into())
    );
    assert!(made("causal_topk_indices", &[1, 1, 1, 2, 0, -1, 1].map(Int)).is_err());
}

#[test]
fn requests_see_their_own_past_only() {
    let (shape, positions) = made("attn.sparse_topk_positions", &[ints([2, 7]), Int(2), Int(3)]).unwrap();
    assert_eq!(shape, [2, 2, 3]);
    for (chosen, visible) in positions.chunks(3).zip([1_i64, 2, 6, 7]) {
        let (seen, padding) = chosen.split_at(visible.min(3) as usize);
        assert!(distinct(seen) && seen.iter().all(|&key| (0..visible).contains(&key)));
        assert!(padding.iter().all(|&key| key == -1));
    }
    assert_eq!(
        made("attn.sparse_topk_positions", &[ints([2, 1]), Int(2), Int(3)]),
        Err("`L[1]` is 1, and must be at least `S_q`, which is 2".into())
    );
    assert!(values("attn.sparse_topk_positions", &[ints([]), Int(2), Int(3)]).is_empty());
}

#[test]
fn blocks_are_ascending_and_padded() {
    let (shape, blocks) = made("nsa_block_indices", &[ints([5, 3]), Int(2), Int(2), Int(2)]).unwrap();
    assert_eq!(shape, [8, 2, 2]);
    let visible = [1, 1, 1, 2, 2, 1, 1, 1];
    for (row, chosen) in blocks.chunks(2).enumerate() {
        let (seen, padding) = chosen.split_at(visible[row / 2].min(2) as usize);
        assert!(seen.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(seen.iter().all(|&block| (0..visible[row / 2]).contains(&block)));
        assert!(padding.iter().all(|&block| block == 8));
    }
    assert!(made("nsa_block_indices", &[ints([5]), Int(0), Int(2), Int(2)]).is_err());
    let counts = values("nsa_block_counts", &[Int(40), Int(2), Int(3)]);
    assert!(counts.iter().all(|n| (1..=3).contains(n)) && (1..=3).all(|n| counts.contains(&n)));
    assert!(made("nsa_block_counts", &[Int(1), Int(1), Int(0)]).is_err());
}

#[test]
fn no_argument_makes_a_generator_panic() {
    let odd = [
        Value::None,
        Int(-1),
        Int(0),
        Int(3),
        Int(i128::MAX),
        Int(i64::MAX.into()),
        ints([]),
        ints([1, 2]),
        ints([i64::MAX.into(), i64::MAX.into(), 5]),
        str("start"),
        masked(1 << 100),
        layout("aligned", "physical_psum", 1 << 100),
        layout("tight", "per_row", 1),
    ];
    for builtin in all() {
        let Role::Generator(generator) = builtin.role else { continue };
        let count = builtin.params.len() as u32;
        let combinations = (odd.len() as u64).pow(count);
        // A fixed stride visits some thousands of the combinations of the longer lists.
        for step in (0..combinations).step_by((combinations / 5000 + 1) as usize) {
            let digit = |at: u32| odd[(step / (odd.len() as u64).pow(at) % odd.len() as u64) as usize].clone();
            let args: Vec<Value> = (0..count).map(digit).collect();
            let shape = (generator.result_shape)(&args);
            let _ = (generator.bounds)(&args);
            if shape
                .is_ok_and(|shape| shape.iter().try_fold(1_i128, |n, &m| n.checked_mul(m)).is_some_and(|n| n < 1 << 16))
            {
                let _ = (generator.generate)(&args, Seed(0));
            }
        }
    }
}
