//! What emitted code checks constructions and calls with. Each check names the declaration that it holds a call to.

use crate::primitives::Undefined;
use crate::tensor::show;
use crate::value::FromValue;
use crate::{Arguments, DType, Int, OpError, Outputs, Params, Tensor, Value};

/// An entry of the manifest, by its name.
#[derive(Debug, Clone, Copy)]
pub struct Entry(pub &'static str);

type Result<T> = std::result::Result<T, OpError>;

/// The last name of a declaration before its field: `weight` of `signature.inputs.weight.shape`.
fn subject(declaration: &'static str) -> &'static str {
    declaration.split('.').nth(2).unwrap_or(declaration)
}

impl Entry {
    /// A refusal that names the declaration.
    pub fn refuse(self, declaration: &'static str, message: impl Into<String>) -> OpError {
        OpError::refused(self.0, declaration, message)
    }

    fn undefined(self, declaration: &'static str, why: impl Into<Undefined>) -> OpError {
        self.refuse(declaration, format!("it has no value: {}", why.into()))
    }

    /// What an expression of the declaration gives.
    pub fn within<T>(self, declaration: &'static str, value: std::result::Result<T, Undefined>) -> Result<T> {
        value.map_err(|why| self.undefined(declaration, why))
    }

    /// The condition, written as `text`, holds.
    pub fn holds(self, declaration: &'static str, condition: bool, text: &str) -> Result<()> {
        match condition {
            true => Ok(()),
            false => Err(self.refuse(declaration, format!("`{text}` does not hold"))),
        }
    }

    /// A parameter that is stated here.
    pub fn stated<T>(self, declaration: &'static str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| self.refuse(declaration, format!("`{}` is not stated", subject(declaration))))
    }

    /// The integer that the declaration's expression gives.
    pub fn value(self, declaration: &'static str, value: Int) -> Result<i128> {
        value.get().map_err(|why| self.undefined(declaration, why))
    }

    /// The parameters of a construction, none of which is unknown.
    pub fn construction<'p>(self, params: &'p Params, names: &[&str]) -> Result<Construction<'p>> {
        let values = params.values.iter().map(|(name, _)| name);
        match values.chain(params.tensors.iter().map(|(name, _)| name)).find(|name| !names.contains(&name.as_str())) {
            Some(name) => Err(self.refuse("signature.params", format!("there is no parameter `{name}`"))),
            None => Ok(Construction { entry: self, params }),
        }
    }

    /// Refuses arguments that the op does not take.
    pub fn takes(self, arguments: &Arguments, names: &[&str]) -> Result<()> {
        if let Some((name, _)) = arguments.tensors.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            return Err(self.refuse("signature.inputs", format!("there is no input `{name}`")));
        }
        if arguments.out.is_some() && !names.contains(&"out") {
            return Err(self.refuse("signature.outputs", "no output takes a buffer"));
        }
        Ok(())
    }

    /// A tensor that may be absent; one that is there is a tensor.
    pub fn optional<'t>(self, declaration: &'static str, tensor: Option<&'t Tensor>) -> Result<Option<&'t Tensor>> {
        let Some(tensor) = tensor else { return Ok(None) };
        if tensor.shape.iter().any(|&extent| extent < 0) {
            return Err(self.refuse(declaration, format!("its shape {} has a negative extent", show(&tensor.shape))));
        }
        if let Some(values) = &tensor.values
            && tensor.numel().get() != Ok(values.len() as i128)
        {
            let message = format!("it has {} values, and its shape is {}", values.len(), show(&tensor.shape));
            return Err(self.refuse(declaration, message));
        }
        Ok(Some(tensor))
    }

    /// A tensor that must be there.
    pub fn required<'t>(self, declaration: &'static str, tensor: Option<&'t Tensor>) -> Result<&'t Tensor> {
        let found = self.optional(declaration, tensor)?;
        found.ok_or_else(|| self.refuse(declaration, format!("`{}` is not passed", subject(declaration))))
    }

    /// A tensor that is there exactly where the condition, written as `text`, holds.
    pub fn passed_where(
        self,
        declaration: &'static str,
        tensor: Option<&Tensor>,
        condition: bool,
        text: &str,
    ) -> Result<()> {
        match tensor.is_some() == condition {
            true => Ok(()),
            false => {
                let name = subject(declaration);
                Err(self.refuse(declaration, format!("`{name}` is passed exactly where `{text}`")))
            }
        }
    }

    /// The tensor has that many axes.
    pub fn rank(self, declaration: &'static str, tensor: &Tensor, rank: impl Into<Int>) -> Result<()> {
        let due = self.value(declaration, rank.into())?;
        match tensor.shape.len() as i128 == due {
            true => Ok(()),
            false => Err(self.wrong_rank(declaration, tensor, &axes_word(due))),
        }
    }

    /// The tensor has at least that many axes.
    pub fn rank_at_least(self, declaration: &'static str, tensor: &Tensor, rank: usize) -> Result<()> {
        match tensor.shape.len() >= rank {
            true => Ok(()),
            false => Err(self.wrong_rank(declaration, tensor, &format!("at least {}", axes_word(rank as i128)))),
        }
    }

    fn wrong_rank(self, declaration: &'static str, tensor: &Tensor, due: &str) -> OpError {
        let (name, shape) = (subject(declaration), show(&tensor.shape));
        self.refuse(declaration, format!("`{name}` has the shape {shape}, and must have {due}"))
    }

    /// The extent of an axis, counted from the first.
    pub fn extent(self, declaration: &'static str, tensor: &Tensor, axis: usize) -> Result<i128> {
        match tensor.shape.get(axis) {
            Some(extent) => Ok(*extent),
            None => Err(self.wrong_rank(declaration, tensor, &format!("at least {}", axis.saturating_add(1)))),
        }
    }

    /// The extent of an axis, counted from the last.
    pub fn extent_from_end(self, declaration: &'static str, tensor: &Tensor, axis: usize) -> Result<i128> {
        let at = tensor.shape.len().checked_sub(axis).and_then(|length| length.checked_sub(1));
        match at.and_then(|at| tensor.shape.get(at)) {
            Some(extent) => Ok(*extent),
            None => Err(self.wrong_rank(declaration, tensor, &format!("at least {}", axis.saturating_add(1)))),
        }
    }

    /// The index that an axis binds: the extent is `coefficient * index + offset`, and the index is not negative.
    pub fn solve(
        self,
        declaration: &'static str,
        extent: i128,
        coefficient: i128,
        offset: impl Into<Int>,
        axis: &str,
    ) -> Result<i128> {
        let offset = self.value(declaration, offset.into())?;
        let solution = extent
            .checked_sub(offset)
            .filter(|rest| rest.checked_rem_euclid(coefficient) == Some(0))
            .and_then(|rest| rest.checked_div(coefficient))
            .filter(|&index| index >= 0);
        solution.ok_or_else(|| {
            let name = subject(declaration);
            self.refuse(declaration, format!("an axis of `{name}` is {extent}, which `{axis}` cannot be"))
        })
    }

    /// An axis has the extent that the expression gives.
    pub fn axis(self, declaration: &'static str, extent: i128, due: impl Into<Int>, axis: &str) -> Result<()> {
        let due = self.value(declaration, due.into())?;
        if extent == due {
            return Ok(());
        }
        let name = subject(declaration);
        Err(self.refuse(declaration, format!("an axis of `{name}` is {extent}, and `{axis}` is {due}")))
    }

    /// The axes between the `before` first and the `behind` last.
    pub fn splice(self, declaration: &'static str, tensor: &Tensor, before: usize, behind: usize) -> Result<Vec<i128>> {
        let end = tensor.shape.len().checked_sub(behind);
        match end.and_then(|end| tensor.shape.get(before..end)) {
            Some(axes) => Ok(axes.to_vec()),
            None => {
                let due = before.saturating_add(behind);
                Err(self.wrong_rank(declaration, tensor, &format!("at least {due}")))
            }
        }
    }

    /// The axes behind the `before` first are those that the expression gives.
    pub fn axes(
        self,
        declaration: &'static str,
        tensor: &Tensor,
        before: usize,
        due: &[i128],
        axes: &str,
    ) -> Result<()> {
        let found = before.checked_add(due.len()).and_then(|end| tensor.shape.get(before..end));
        self.same_axes(declaration, tensor, found, due, axes)
    }

    /// The axes before the `behind` last are those that the expression gives.
    pub fn axes_from_end(
        self,
        declaration: &'static str,
        tensor: &Tensor,
        behind: usize,
        due: &[i128],
        axes: &str,
    ) -> Result<()> {
        let end = tensor.shape.len().checked_sub(behind);
        let found = end.and_then(|end| tensor.shape.get(end.checked_sub(due.len())?..end));
        self.same_axes(declaration, tensor, found, due, axes)
    }

    fn same_axes(
        self,
        declaration: &'static str,
        tensor: &Tensor,
        found: Option<&[i128]>,
        due: &[i128],
        axes: &str,
    ) -> Result<()> {
        if found == Some(due) {
            return Ok(());
        }
        let (name, shape, due) = (subject(declaration), show(&tensor.shape), show(due));
        Err(self.refuse(declaration, format!("`{name}` has the shape {shape}, and `{axes}` is {due}")))
    }

    /// The dtype of the tensor, one of those that the index admits.
    pub fn dtype(self, declaration: &'static str, tensor: &Tensor, index: &str, admitted: &[DType]) -> Result<DType> {
        if admitted.contains(&tensor.dtype) {
            return Ok(tensor.dtype);
        }
        let names: Vec<&str> = admitted.iter().map(|dtype| dtype.name()).collect();
        let (name, dtype) = (subject(declaration), tensor.dtype);
        Err(self.refuse(declaration, format!("`{name}` is `{dtype}`, and `{index}` is {}", names.join(" or "))))
    }

    /// The dtype of the tensor is what the expression gives.
    pub fn has_dtype(self, declaration: &'static str, tensor: &Tensor, due: DType, dtype: &str) -> Result<()> {
        if tensor.dtype == due {
            return Ok(());
        }
        let (name, found) = (subject(declaration), tensor.dtype);
        let due = if dtype == due.name() { format!("must be `{due}`") } else { format!("`{dtype}` is `{due}`") };
        Err(self.refuse(declaration, format!("`{name}` is `{found}`, and {due}")))
    }

    /// The combination of dtypes is one of `dtype_combos`.
    pub fn combination(self, columns: &[(&str, DType)], rows: &[&[DType]]) -> Result<()> {
        if rows.iter().any(|row| row.iter().eq(columns.iter().map(|(_, dtype)| dtype))) {
            return Ok(());
        }
        let shown: Vec<String> = columns.iter().map(|(name, dtype)| format!("`{name}` is `{dtype}`")).collect();
        Err(self.refuse("signature.dtype_combos", format!("{}, which no row admits", shown.join(" and "))))
    }

    /// The shape of an output, none of whose extents is negative.
    pub fn shape(self, declaration: &'static str, axes: &[Axes<'_>]) -> Result<Vec<i128>> {
        let mut shape = Vec::with_capacity(axes.len());
        for axes in axes {
            match axes {
                Axes::One(extent) => shape.push(self.value(declaration, *extent)?),
                Axes::All(extents) => shape.extend_from_slice(extents),
            }
        }
        match shape.iter().any(|&extent| extent < 0) {
            true => Err(self.undefined(declaration, Undefined(format!("{} has a negative extent", show(&shape))))),
            false => Ok(shape),
        }
    }

    /// The buffer that is passed is like the output that it is for.
    pub fn buffer(self, declaration: &'static str, out: Option<&Tensor>, outputs: &Outputs) -> Result<Option<Tensor>> {
        let Some(out) = self.optional(declaration, out)? else { return Ok(None) };
        let name = subject(declaration);
        let due = outputs.iter().find(|(output, _)| *output == name).and_then(|(_, tensor)| tensor.as_ref());
        match due {
            Some(due) if due.is_alike(out) => Ok(Some(out.described())),
            Some(due) => Err(self.refuse(declaration, format!("`out` is {out}, and `{name}` is {due}"))),
            None => Err(self.refuse(declaration, format!("`out` is {out}, and this call emits no `{name}`"))),
        }
    }
}

/// A part of a shape.
#[derive(Debug, Clone, Copy)]
pub enum Axes<'a> {
    /// One axis.
    One(Int),
    /// Several.
    All(&'a [i128]),
}

/// One axis of a shape.
pub fn one(extent: impl Into<Int>) -> Axes<'static> {
    Axes::One(extent.into())
}

/// Several axes of a shape.
pub fn all(extents: &[i128]) -> Axes<'_> {
    Axes::All(extents)
}

/// The indices, and one more.
pub fn also(mut indices: Vec<(&'static str, Value)>, index: (&'static str, Value)) -> Vec<(&'static str, Value)> {
    indices.push(index);
    indices
}

/// So many axes, as a message says it.
fn axes_word(count: i128) -> String {
    match count {
        0 => "no axis".to_owned(),
        1 => "1 axis".to_owned(),
        n => format!("{n} axes"),
    }
}

/// The parameters of a construction.
#[derive(Debug, Clone, Copy)]
pub struct Construction<'a> {
    entry: Entry,
    params: &'a Params,
}

impl Construction<'_> {
    fn stated(&self, declaration: &'static str) -> Option<&Value> {
        let name = subject(declaration);
        self.params.values.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn read<T: FromValue>(
        &self,
        declaration: &'static str,
        value: &Value,
        accepts: fn(&Value) -> bool,
        due: &str,
    ) -> Result<T> {
        let read = accepts(value).then(|| T::from_value(value)).flatten();
        read.ok_or_else(|| {
            let name = subject(declaration);
            self.entry.refuse(declaration, format!("`{name}` is {value}, and must be {due}"))
        })
    }

    /// A parameter that must be stated.
    pub fn required<T: FromValue>(
        &self,
        declaration: &'static str,
        accepts: fn(&Value) -> bool,
        due: &str,
    ) -> Result<T> {
        match self.stated(declaration) {
            Some(value) => self.read(declaration, value, accepts, due),
            None => Err(self.entry.refuse(declaration, format!("`{}` is not stated", subject(declaration)))),
        }
    }

    /// A parameter that has a default.
    pub fn or<T: FromValue>(
        &self,
        declaration: &'static str,
        default: impl Into<Value>,
        accepts: fn(&Value) -> bool,
        due: &str,
    ) -> Result<T> {
        match self.stated(declaration) {
            Some(value) => self.read(declaration, value, accepts, due),
            None => self.read(declaration, &default.into(), accepts, due),
        }
    }

    /// A tensor that the op keeps.
    pub fn tensor(&self, declaration: &'static str) -> Option<Tensor> {
        let name = subject(declaration);
        self.params.tensors.iter().find(|(known, _)| known == name).map(|(_, tensor)| tensor.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_rank_is_said_in_words() {
        let op = Entry("DemoFwdOp");
        let tensor = Tensor::new([2, 3], crate::DType::Float16);
        let said = |result: Result<()>| result.expect_err("the rank is wrong").to_string();
        let path = "signature.inputs.x.shape";
        for (rank, due) in [(0, "no axis"), (1, "1 axis"), (3, "3 axes")] {
            let text = said(op.rank(path, &tensor, rank));
            assert!(text.ends_with(&format!("`x` has the shape [2, 3], and must have {due}")), "{text}");
        }
        let text = said(op.rank_at_least(path, &tensor, 3));
        assert!(text.ends_with("and must have at least 3 axes"), "{text}");
        assert_eq!(op.rank(path, &tensor, 2), Ok(()));
    }
}
