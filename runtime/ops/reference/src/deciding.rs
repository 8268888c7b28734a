//! Inputs of which the ends of each row decide the result.
//!
//! What is allowed of an error grows with the length of a sum, so that among numbers of one size a long reduction may lose
//! some, unseen. Here the first and the last element of a row are so large that the result without one of them is another.

use tileops_ops::{CheckedCall, DType, Value};

use crate::distribution::Distribution;
use crate::ops::Lines;

/// The rows of a tensor: axes that are kept and axes that are reduced, in turns, as one extent each; absent ones are 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Kept, reduced, kept, reduced, kept, outermost first.
    extents: [u64; 5],
}

impl Rows {
    /// Rows of `count` neighbouring elements.
    pub fn of(count: u64) -> Self {
        // As many as the tensor holds: the outermost extent is divided by by nobody.
        Rows { extents: [u64::MAX, count.max(1), 1, 1, 1] }
    }

    /// By the axes of a shape and whether each is reduced; nothing where they take turns more often.
    pub fn by_axes(axes: impl Iterator<Item = (u64, bool)>) -> Option<Self> {
        let (mut extents, mut at) = ([1_u64; 5], 0);
        for (extent, is_reduced) in axes.filter(|(extent, _)| *extent != 1) {
            at += usize::from(is_reduced != (at % 2 == 1));
            *extents.get_mut(at)? *= extent;
        }
        Some(Rows { extents })
    }

    fn along(lines: Lines) -> Self {
        Rows { extents: [lines.outer as u64, lines.length as u64, lines.inner as u64, 1, 1] }
    }

    /// The elements of a row.
    pub fn count(&self) -> u64 {
        self.extents[1] * self.extents[3]
    }

    /// Which row the element `at` of the tensor is in, and which of the row's elements it is.
    pub fn place(&self, at: u64) -> (u64, u64) {
        let [_, e1, e2, e3, e4] = self.extents.map(|extent| extent.max(1));
        let (rest, k2) = (at / e4, at % e4);
        let (rest, r1) = (rest / e3, rest % e3);
        let (rest, k1) = (rest / e2, rest % e2);
        let (k0, r0) = (rest / e1, rest % e1);
        ((k0 * e2 + k1) * e4 + k2, r0 * e3 + r1)
    }

    /// Where element `index` of row `row` is in the tensor: the inverse of [`Rows::place`].
    pub fn at(&self, row: u64, index: u64) -> u64 {
        let [_, e1, e2, e3, e4] = self.extents.map(|extent| extent.max(1));
        let (k0, k1, k2) = (row / e4 / e2, row / e4 % e2, row % e4);
        let (r0, r1) = (index / e3, index % e3);
        (((k0 * e1 + r0) * e2 + k1) * e3 + r1) * e4 + k2
    }
}

/// Which elements of a row are its deciding ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deciding {
    /// The first and the last.
    Both,
    /// One at most, for what a second one would hide: of three rows the last of the first, none of the second, the first of
    /// the third. What reads a neighbour's end is wrong in the second.
    One,
}

/// Rows whose ends decide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ends {
    /// The rows.
    pub rows: Rows,
    /// Which elements decide.
    pub deciding: Deciding,
    /// About what they are: neighbouring rows, and the two ends, differ by up to 5/4 of it.
    pub end: f32,
    /// The others are real numbers of `[low, high)`, or `low` where that is the same.
    pub low: f32,
    /// See there.
    pub high: f32,
}

impl Ends {
    fn new(rows: Rows, deciding: Deciding, end: f32) -> Self {
        Ends { rows, deciding, end, low: -1.0, high: 1.0 }
    }

    fn among(self, low: f32, high: f32) -> Self {
        Ends { low, high, ..self }
    }

    /// What the element `at` is, where it decides.
    pub fn deciding(&self, at: u64) -> Option<f32> {
        let (row, index) = self.rows.place(at);
        let (is_first, is_last) = (index == 0, index + 1 == self.rows.count());
        let decides = match (self.deciding, row % 3) {
            (Deciding::Both, _) => is_first || is_last,
            (Deciding::One, 0) => is_last,
            (Deciding::One, 1) => false,
            (Deciding::One, _) => is_first,
        };
        let more = (row % 4) as f32 * 0.25 + if is_first { 0.5 } else { 0.0 };
        decides.then_some(self.end * (1.0 + more))
    }
}

/// What the input `name` of a call is drawn from so that the ends of its rows decide; nothing for an input, or an op, whose
/// rows have no such ends.
pub(crate) fn ends(call: &CheckedCall, name: &str) -> Option<Distribution> {
    let shape = |name: &str| Some(call.tensor(name).ok()?.shape.iter().map(|&e| e as u64).collect::<Vec<_>>());
    let size = |name: &str| call.int(name).ok()?.get().ok().map(|value| value as u64);
    let row_of = |name: &str| size(name).map(Rows::of);
    let root = |rows: Rows| (rows.count() as f32).sqrt() * 0.5;
    // So much that the sum of all other exponentials, and the error that is allowed of its logarithm, is little beside it.
    let outweighing = |rows: Rows| (rows.count().max(2) as f32).ln() + 24.0;
    let summed = |rows: Rows| Ends::new(rows, Deciding::Both, root(rows));
    let one = |rows: Rows, end: f32| Ends::new(rows, Deciding::One, end);
    let along = || {
        let input = if call.tensor("x").is_ok() { "x" } else { "y" };
        Some(Rows::along(Lines::along(&call.shape(input).ok()?, call.int("dim").ok()?.get().ok()?)))
    };
    let reduced = || {
        let (shape, rank) = (shape("x")?, shape("x")?.len() as i128);
        let named = match call.value("dim").ok()? {
            Value::None => (0..rank).collect(),
            Value::Int(axis) => vec![*axis],
            value => value.to_ints().unwrap_or_default(),
        };
        // No axes are all of them, but for truths.
        let all = named.is_empty() && !matches!(call.op(), "AllFwdOp" | "AnyFwdOp");
        let is_named = |axis: i128| all || named.iter().any(|&n| n == axis || n + rank == axis);
        Rows::by_axes(shape.iter().zip(0..).map(|(&extent, axis)| (extent, is_named(axis))))
    };
    let is_whole = || call.tensor(name).is_ok_and(|tensor| tensor.dtype.category() == tileops_ops::Category::Int);
    let ends = match (call.op(), name) {
        ("SumFwdOp" | "MeanFwdOp" | "VarFwdOp" | "StdFwdOp" | "VarMeanFwdOp", "x") => summed(reduced()?),
        ("VectorNormFwdOp", "x") if call.float("ord").ok()? == 0.0 => {
            Ends::new(reduced()?, Deciding::Both, 1.0).among(0.0, 0.0)
        }
        ("VectorNormFwdOp", "x") => summed(reduced()?),
        // Whole numbers' products and sums are exact: any will do that is not one, or not nothing.
        ("ProdFwdOp", "x") if is_whole() => Ends::new(reduced()?, Deciding::Both, 5.0).among(3.0, 3.0),
        ("ProdFwdOp", "x") => {
            let width = (0.25 / root(reduced()?)).min(0.5);
            Ends::new(reduced()?, Deciding::Both, 2.0).among(1.0 - width, 1.0 + width)
        }
        ("CumprodFwdOp", "x") if is_whole() => Ends::new(along()?, Deciding::Both, 5.0).among(3.0, 3.0),
        ("CumprodFwdOp", "x") => {
            let width = (0.25 / root(along()?)).min(0.5);
            Ends::new(along()?, Deciding::Both, 2.0).among(1.0 - width, 1.0 + width)
        }
        ("AmaxFwdOp" | "ArgmaxFwdOp" | "MaxDimFwdOp", "x") => one(reduced()?, 2.0),
        ("AminFwdOp" | "ArgminFwdOp", "x") => one(reduced()?, -2.0),
        ("AnyFwdOp", "x") => one(reduced()?, 1.0).among(0.0, 0.0),
        ("AllFwdOp", "x") => one(reduced()?, 0.0).among(1.0, 1.0),
        ("CountNonzeroFwdOp", "x") => Ends::new(reduced()?, Deciding::Both, 1.0).among(0.0, 0.0),
        ("LogSumExpFwdOp", "x") => one(reduced()?, outweighing(reduced()?)),
        ("SoftmaxFwdOp" | "LogSoftmaxFwdOp" | "LogCumsumExpFwdOp", "x") => one(along()?, outweighing(along()?)),
        ("SoftmaxBwdOp", "y") => Ends::new(along()?, Deciding::Both, 0.25).among(0.0, 1.0 / along()?.count() as f32),
        ("SoftmaxBwdOp", "dy") => Ends::new(along()?, Deciding::Both, 1.0),
        ("ScaledMaskedSoftmaxFwdOp", "scores") => {
            let (rows, scale) = (row_of("L")?, call.float("scale").ok()? as f32);
            // Scores that are told apart by far have their greatest at an end.
            one(rows, if scale.abs() > 1.0 { 2.0_f32.copysign(scale) } else { outweighing(rows) / scale })
        }
        ("CumsumFwdOp", "x") if is_whole() => Ends::new(along()?, Deciding::Both, 1000.0).among(-100.0, 100.0),
        ("CumsumFwdOp", "x") => summed(along()?),
        ("CummaxFwdOp", "x") => {
            // The first is overtaken in rows where the last decides.
            one(along()?, if is_whole() { 200.0 } else { 2.0 }).among(-1.0, 1.0)
        }
        ("RmsNormFwdOp", "x") => {
            let shape = call.shape("normalized_shape").ok()?;
            summed(Rows::of(shape.iter().product::<i128>() as u64))
        }
        ("LayerNormFwdOp" | "AddRmsNormFwdOp" | "AddLayerNormFwdOp" | "AdaLayerNormFwdOp", "x")
        | ("GemmaRmsNormFwdOp" | "L2NormalizeFwdOp" | "RmsNormQuantizeFwdOp", "x")
        | ("GatedAdaLayerNormFwdOp", "residual")
        | ("RmsNormBwdOp" | "LayerNormBwdOp", "dy") => summed(row_of("N")?),
        ("RmsNormBwdOp" | "LayerNormBwdOp", "x" | "weight") => Ends::new(row_of("N")?, Deciding::Both, 1.0),
        ("QkRmsNormFwdOp", "q" | "k") => summed(row_of("D")?),
        ("GatedRmsNormFwdOp", "x" | "gate") => {
            let rows = Rows::of(size("N")? / size("num_groups")?.max(1));
            if name == "x" { summed(rows) } else { Ends::new(rows, Deciding::Both, 1.0) }
        }
        ("BatchNormFwdOp", "x") if call.bool("training").ok()? => {
            Rows::by_axes(shape("x")?.into_iter().zip(0..).map(|(extent, axis)| (extent, axis != 1))).map(summed)?
        }
        ("GroupNormFwdOp" | "InstanceNormFwdOp", "x") => {
            let of_sample: u64 = shape("x")?[1..].iter().product();
            let groups = if call.op() == "GroupNormFwdOp" { size("num_groups")? } else { shape("x")?[1] };
            summed(Rows::of(of_sample / groups.max(1)))
        }
        ("TopKFwdOp", "x") => one(row_of("V")?, if call.bool("largest").ok()? { 2.0 } else { -2.0 }),
        ("GreedySampleFwdOp" | "CrossEntropyFwdOp", "logits") => one(row_of("V")?, outweighing(row_of("V")?)),
        ("KlDivFwdOp", "input" | "target") => {
            let rows = Rows::of(shape(name)?.iter().product());
            let all = Ends::new(rows, Deciding::Both, rows.count() as f32 * -0.5);
            if name == "input" { all } else { Ends { end: 1.0, ..all }.among(0.0, 1.0) }
        }
        ("RowQuantizeFwdOp", "x") => one(row_of("N")?, 2.0),
        ("TokenGroupQuantizeFwdOp", "x") => one(row_of("group")?, 2.0),
        ("MxQuantizeFwdOp", "x") => one(Rows::of(32), 2.0),
        _ => return None,
    };
    Some(Distribution::Ends(ends))
}

/// What the input `name` of a call is drawn from so that special numbers are among its elements: in rows where the op has
/// such, and at once anywhere else; nothing for scales and counts, and for what is no float of 16 or 32 bits.
pub(crate) fn specials(call: &CheckedCall, name: &str) -> Option<Distribution> {
    let dtype = call.tensor(name).ok()?.dtype;
    if !matches!(dtype, DType::Float16 | DType::BFloat16 | DType::Float32) || name == "scale" {
        return None;
    }
    let rows = match ends(call, name) {
        Some(Distribution::Ends(ends)) => Some(ends.rows),
        _ => None,
    };
    if call.op() == "GradClipFwdOp" && name == "norm" {
        return Some(Distribution::Constant(f32::NAN));
    }
    // Of rows with a weight or a bias the rows alone are special, and of a row with a residual one of the two.
    const BESIDE: [&str; 9] =
        ["weight", "bias", "residual", "gate", "running_mean", "running_var", "mean", "rstd", "lse"];
    if rows.is_none() && BESIDE.contains(&name) {
        return None;
    }
    // Where several are computed with, a step of it may be beyond single precision and the result is not.
    let largest = matches!(call.tensor("x"), Ok(x) if x.dtype == dtype) && call.inputs().len() == 1;
    Some(Distribution::Specials { rows, largest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_where_it_was_put() {
        let rows =
            Rows::by_axes([(3, false), (5, true), (7, false), (11, true), (2, false)].into_iter()).expect("five");
        assert_eq!(rows.count(), 55);
        for at in 0..3 * 5 * 7 * 11 * 2 {
            let (row, index) = rows.place(at);
            assert_eq!(rows.at(row, index), at);
        }
        assert_eq!(rows.place(0), (0, 0));
        assert_eq!(rows.at(1, 0), 1, "the innermost axis is kept");
        assert_eq!(Rows::of(7).place(15), (2, 1));
        assert_eq!(Rows::by_axes([(2, true), (3, false), (2, true), (3, false), (2, true)].into_iter()), None);
    }

    #[test]
    fn one_element_of_two_rows_in_three_decides() {
        let ends = Ends::new(Rows::of(4), Deciding::One, 2.0);
        let deciding: Vec<u64> = (0..24).filter(|&at| ends.deciding(at).is_some()).collect();
        assert_eq!(deciding, [3, 8, 15, 20]);
        let both = Ends { deciding: Deciding::Both, ..ends };
        assert_eq!((0..8).filter_map(|at| both.deciding(at)).collect::<Vec<_>>(), [3.0, 2.0, 3.5, 2.5]);
    }
}
