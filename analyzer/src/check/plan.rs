//! The inference plan: how a call's inputs determine every index, as data.

use std::sync::Arc;

use crate::defect::axes_word;
use crate::eval::{self, Environment, EvalFailure};
use crate::expr::{Axis, Expr};
use crate::lang::{DType, Value};
use crate::text::TextRange;

/// What inference does with the tensors of a call at one point, in an order that works.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The steps, each of which reads parameters and what earlier steps have solved.
    pub steps: Vec<Step>,
    /// The relevant `Dim`, `Shape` and `DType` indices that no step solves and no generator determines, in the order
    /// of `forall`. Empty where the signature is right.
    pub unsolved: Vec<Arc<str>>,
}

/// An item of a tensor's shape, and from which side it is reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The tensor.
    pub tensor: Arc<str>,
    /// The tensor's axes at the point.
    pub axes: Arc<[Axis]>,
    /// Which of them.
    pub item: usize,
    /// The side on which every other item has a known length.
    pub anchor: Anchor,
}

/// A side of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// The item starts behind the lengths of the items before it.
    Left,
    /// The item ends before the lengths of the items behind it.
    Right,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The tensor has at least as many axes as its shape has items that are no splice, exactly as many where there is
    /// no splice.
    CheckRank {
        /// The tensor.
        tensor: Arc<str>,
        /// The items that are no splice.
        fixed: usize,
        /// Whether there is a splice.
        open: bool,
        /// Where the shape stands.
        range: TextRange,
    },
    /// The axis is `coefficient * index + offset`: divisibility and sign are checked.
    BindAxis {
        /// The axis.
        place: Place,
        /// What is bound.
        index: Arc<str>,
        /// A positive literal.
        coefficient: i128,
        /// What is added; nothing where it is zero.
        offset: Option<Arc<Expr>>,
    },
    /// The axis equals the expression.
    CheckAxis {
        /// The axis.
        place: Place,
    },
    /// The index is the axes between the item's neighbours.
    BindSplice {
        /// The splice; every other item of the shape has a known length.
        place: Place,
        /// What is bound.
        index: Arc<str>,
    },
    /// The axes at the item equal the splice's.
    CheckSplice {
        /// The splice.
        place: Place,
    },
    /// The items' lengths together are the tensor's rank: for a shape that has splices and binds none.
    CheckLength {
        /// The tensor.
        tensor: Arc<str>,
        /// Its axes at the point.
        axes: Arc<[Axis]>,
        /// Where the shape stands.
        range: TextRange,
    },
    /// The index is the tensor's dtype.
    BindDType {
        /// The tensor.
        tensor: Arc<str>,
        /// What is bound.
        index: Arc<str>,
        /// Where the dtype stands.
        range: TextRange,
    },
    /// The tensor's dtype is the expression's value.
    CheckDType {
        /// The tensor.
        tensor: Arc<str>,
        /// The dtype.
        dtype: Arc<Expr>,
    },
    /// A `let` is computed.
    Let {
        /// Its name.
        name: Arc<str>,
        /// What it is.
        value: Arc<Expr>,
    },
    /// A refinement holds.
    Rule {
        /// The refinement.
        rule: Arc<Expr>,
    },
}

/// A tensor of a call as inference sees it.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its extents.
    pub shape: &'a [i128],
    /// Its dtype.
    pub dtype: DType,
}

/// Why inference refuses a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// The tensor at fault, if it is one.
    pub tensor: Option<Arc<str>>,
    /// The characters of the signature that the call contradicts.
    pub range: TextRange,
    /// What contradicts them: "axis 1 of `w` is 7, which `2 * N` cannot be".
    pub message: String,
}

/// Infers the indices and `let`s of a call from its tensors and parameters: every name that a step solves, in the order
/// solved. `present` answers for the point that the plan was made for. Names that the plan leaves unsolved are passed over,
/// with the checks that read them.
pub fn execute(
    plan: &Plan,
    present: &dyn Environment,
    tensors: &[Observed<'_>],
    params: &[(Arc<str>, Value)],
) -> Result<Vec<(Arc<str>, Value)>, Mismatch> {
    let mut run = Run { present, params, tensors, solved: Vec::new() };
    for step in &plan.steps {
        run.step(step)?;
    }
    Ok(run.solved)
}

/// What is known while a plan is executed.
struct Run<'a> {
    present: &'a dyn Environment,
    params: &'a [(Arc<str>, Value)],
    tensors: &'a [Observed<'a>],
    solved: Vec<(Arc<str>, Value)>,
}

impl Environment for Run<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        let own = self.solved.iter().chain(self.params).find(|(n, _)| &**n == name).map(|(_, value)| value.clone());
        own.or_else(|| self.present.value(name)).or_else(|| DType::from_name(name).map(Value::DType))
    }

    fn present(&self, name: &str) -> Option<bool> {
        self.present.present(name)
    }

    fn field(&self, name: &str, field: &str) -> Option<Value> {
        match self.value(name) {
            Some(Value::Adt(adt)) if field == "kind" => Some(Value::Str(adt.constructor.clone())),
            Some(Value::Adt(adt)) => adt.field(field).cloned(),
            _ => self.present.field(name, field),
        }
    }
}

/// `(2, 3)` as PyTorch writes a shape.
fn show_shape(shape: &[i128]) -> String {
    format!("[{}]", shape.iter().map(i128::to_string).collect::<Vec<_>>().join(", "))
}

impl Run<'_> {
    fn tensor(&self, name: &str, range: TextRange) -> Result<&Observed<'_>, Mismatch> {
        self.tensors.iter().find(|tensor| tensor.name == name).ok_or_else(|| Mismatch {
            tensor: Some(Arc::from(name)),
            range,
            message: format!("`{name}` is not passed"),
        })
    }

    /// The value of an expression that only reads what is known; a failure of it is a mismatch.
    fn evaluate(&self, expr: &Expr, tensor: Option<&Arc<str>>) -> Result<Value, Mismatch> {
        eval::evaluate(expr, self).map_err(|error| Mismatch {
            tensor: tensor.cloned(),
            range: error.range,
            message: match error.reason {
                EvalFailure::Undetermined(name) => format!("`{name}` is not known"),
                EvalFailure::Domain(why) => why,
                EvalFailure::Poisoned => format!("`{expr}` is no expression"),
            },
        })
    }

    fn integer(&self, expr: &Expr, tensor: &Arc<str>) -> Result<i128, Mismatch> {
        match self.evaluate(expr, Some(tensor))? {
            Value::Int(value) => Ok(value),
            _ => Err(Mismatch {
                tensor: Some(tensor.clone()),
                range: expr.range,
                message: format!("`{expr}` is no integer"),
            }),
        }
    }

    fn splice(&self, expr: &Expr, tensor: &Arc<str>) -> Result<Vec<i128>, Mismatch> {
        let items = match self.evaluate(expr, Some(tensor))? {
            Value::Seq(items) => {
                items.iter().map(|item| if let Value::Int(n) = item { Some(*n) } else { None }).collect()
            }
            _ => None,
        };
        items.ok_or_else(|| Mismatch {
            tensor: Some(tensor.clone()),
            range: expr.range,
            message: format!("`{expr}` is no sequence of integers"),
        })
    }

    /// How many axes the items take together.
    fn length(&self, axes: &[Axis], tensor: &Arc<str>) -> Result<usize, Mismatch> {
        axes.iter().try_fold(0_usize, |length, axis| {
            let more = match axis {
                Axis::One(_) => 1,
                Axis::Splice(expr) => self.splice(expr, tensor)?.len(),
            };
            // Lengths of sequences that fit in memory.
            Ok(length.saturating_add(more))
        })
    }

    /// The tensor's axes at the place, `length` of them: the first, and the slice.
    fn slice(&self, place: &Place, length: usize, range: TextRange) -> Result<(usize, &[i128]), Mismatch> {
        let shape = self.tensor(&place.tensor, range)?.shape;
        let start = match place.anchor {
            Anchor::Left => self.length(&place.axes[..place.item.min(place.axes.len())], &place.tensor)?,
            Anchor::Right => {
                let behind = self.length(place.axes.get(place.item + 1..).unwrap_or_default(), &place.tensor)?;
                shape.len().checked_sub(behind).and_then(|end| end.checked_sub(length)).unwrap_or(usize::MAX)
            }
        };
        let slice = start.checked_add(length).and_then(|end| shape.get(start..end));
        slice.map(|slice| (start, slice)).ok_or_else(|| Mismatch {
            tensor: Some(place.tensor.clone()),
            range,
            message: format!("`{}` has the shape {}, which is too short", place.tensor, show_shape(shape)),
        })
    }

    fn step(&mut self, step: &Step) -> Result<(), Mismatch> {
        match step {
            Step::CheckRank { tensor, fixed, open, range } => {
                let shape = self.tensor(tensor, *range)?.shape;
                let fits = if *open { shape.len() >= *fixed } else { shape.len() == *fixed };
                if fits {
                    return Ok(());
                }
                let wanted = if *open { format!("at least {}", axes_word(*fixed)) } else { axes_word(*fixed) };
                Err(Mismatch {
                    tensor: Some(tensor.clone()),
                    range: *range,
                    message: format!("`{tensor}` has the shape {}, and must have {wanted}", show_shape(shape)),
                })
            }
            Step::BindAxis { place, index, coefficient, offset } => {
                let Some(expr) = place.expr() else { return Ok(()) };
                let (axis, slice) = self.slice(place, 1, expr.range)?;
                let extent = slice.first().copied().unwrap_or_default();
                let offset = match offset {
                    Some(offset) => self.integer(offset, &place.tensor)?,
                    None => 0,
                };
                let rest = extent.checked_sub(offset);
                let solution = rest
                    .filter(|rest| rest.checked_rem_euclid(*coefficient) == Some(0))
                    .and_then(|rest| rest.checked_div(*coefficient))
                    .filter(|&value| value >= 0);
                match solution {
                    Some(value) => {
                        self.solved.push((index.clone(), Value::Int(value)));
                        Ok(())
                    }
                    None => Err(Mismatch {
                        tensor: Some(place.tensor.clone()),
                        range: expr.range,
                        message: format!("axis {axis} of `{}` is {extent}, which `{expr}` cannot be", place.tensor),
                    }),
                }
            }
            Step::CheckAxis { place } => {
                let Some(expr) = place.expr() else { return Ok(()) };
                let expected = self.integer(expr, &place.tensor)?;
                let (axis, slice) = self.slice(place, 1, expr.range)?;
                let extent = slice.first().copied().unwrap_or_default();
                if extent == expected {
                    return Ok(());
                }
                Err(Mismatch {
                    tensor: Some(place.tensor.clone()),
                    range: expr.range,
                    message: format!("axis {axis} of `{}` is {extent}, and `{expr}` is {expected}", place.tensor),
                })
            }
            Step::BindSplice { place, index } => {
                let Some(expr) = place.expr() else { return Ok(()) };
                let rank = self.tensor(&place.tensor, expr.range)?.shape.len();
                let before = self.length(&place.axes[..place.item.min(place.axes.len())], &place.tensor)?;
                let behind = self.length(place.axes.get(place.item + 1..).unwrap_or_default(), &place.tensor)?;
                let length = rank.checked_sub(before).and_then(|rest| rest.checked_sub(behind)).unwrap_or(usize::MAX);
                let (_, slice) = self.slice(place, length, expr.range)?;
                let value = Value::ints(slice.iter().copied());
                self.solved.push((index.clone(), value));
                Ok(())
            }
            Step::CheckSplice { place } => {
                let Some(expr) = place.expr() else { return Ok(()) };
                let expected = self.splice(expr, &place.tensor)?;
                let (axis, slice) = self.slice(place, expected.len(), expr.range)?;
                if slice == expected {
                    return Ok(());
                }
                Err(Mismatch {
                    tensor: Some(place.tensor.clone()),
                    range: expr.range,
                    message: format!(
                        "from axis {axis}, `{}` is {}, and `{expr}` is {}",
                        place.tensor,
                        show_shape(slice),
                        show_shape(&expected)
                    ),
                })
            }
            Step::CheckLength { tensor, axes, range } => {
                let expected = self.length(axes, tensor)?;
                let shape = self.tensor(tensor, *range)?.shape;
                if shape.len() == expected {
                    return Ok(());
                }
                let wanted = axes_word(expected);
                Err(Mismatch {
                    tensor: Some(tensor.clone()),
                    range: *range,
                    message: format!("`{tensor}` has the shape {}, and must have {wanted}", show_shape(shape)),
                })
            }
            Step::BindDType { tensor, index, range } => {
                let dtype = self.tensor(tensor, *range)?.dtype;
                self.solved.push((index.clone(), Value::DType(dtype)));
                Ok(())
            }
            Step::CheckDType { tensor, dtype } => {
                let found = self.tensor(tensor, dtype.range)?.dtype;
                let expected = match self.evaluate(dtype, Some(tensor))? {
                    Value::DType(expected) => Some(expected),
                    Value::Str(name) => DType::from_name(&name),
                    _ => None,
                };
                match expected {
                    Some(expected) if expected == found => Ok(()),
                    Some(expected) => Err(Mismatch {
                        tensor: Some(tensor.clone()),
                        range: dtype.range,
                        message: format!("`{tensor}` is `{}`, and `{dtype}` is `{}`", found.name(), expected.name()),
                    }),
                    None => Err(Mismatch {
                        tensor: Some(tensor.clone()),
                        range: dtype.range,
                        message: format!("`{dtype}` is no dtype"),
                    }),
                }
            }
            Step::Let { name, value } => {
                let value = self.evaluate(value, None)?;
                self.solved.push((name.clone(), value));
                Ok(())
            }
            Step::Rule { rule } => match self.evaluate(rule, None)? {
                Value::Bool(true) => Ok(()),
                _ => Err(Mismatch { tensor: None, range: rule.range, message: format!("`{rule}` does not hold") }),
            },
        }
    }
}

impl Place {
    /// The item's expression.
    pub fn expr(&self) -> Option<&Expr> {
        self.axes.get(self.item).map(|(Axis::One(expr) | Axis::Splice(expr))| expr)
    }
}
