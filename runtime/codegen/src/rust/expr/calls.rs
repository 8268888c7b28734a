//! Calls of built-ins, comprehensions, and what a call passes.

use tileops_analyzer::check::SymbolRole;
use tileops_analyzer::expr::{Call, Expr, ExprKind, Level};

use super::super::stmt::{Stmt, call, call_with_block, read_by, string};
use super::code::{some, strip_reference};
use super::{Code, Form, Place, Printed, Printer, Ty, checked, type_of};
use crate::layout::Doc;

impl Printer<'_> {
    pub(super) fn call(&self, called: &Call) -> Printed {
        let name = &*called.callee.value;
        if let ("present", [Expr { kind: ExprKind::Name(name), .. }]) = (name, called.args.as_slice()) {
            return self.presence(name, true);
        }
        if let ("bytes", [Expr { kind: ExprKind::Name(tensor), .. }]) = (name, called.args.as_slice()) {
            return Ok(Code::text(format!("call.bytes({})?", string(tensor)), Level::Primary, Ty::Int));
        }
        if called.comprehension.is_some() {
            return self.comprehension(called);
        }
        let bound = arguments(called)?;
        let argument = |position: usize| bound.get(position).copied().flatten();
        let need = |position: usize| argument(position).ok_or_else(|| format!("`{name}` lacks an argument"));
        let number = |position: usize| self.number(need(position)?).map(|code| code.doc);
        let numbers = |count: usize| (0..count).map(number).collect::<Result<Vec<Doc>, String>>();
        let value = |position: usize| self.value(need(position)?).map(|code| code.doc);
        let slice = |position: usize| self.slice_of(self.expr(need(position)?)?);
        let place = Ty::Ints(Form::Place);
        Ok(match name {
            "ceil_div" => checked(self.number(need(0)?)?).method("ceil_div", vec![number(1)?], Ty::Int),
            "len" => match self.expr(need(0)?)? {
                code if code.ty == Ty::Value => {
                    self.defined("length", strip_reference(code).method("count", Vec::new(), Ty::Plain).doc, Ty::Plain)
                }
                code => Code::new(call("len(", vec![self.slice_of(code)?], ")"), Level::Primary, Ty::Plain),
            },
            "prod" | "sum" => Code::new(call(format!("{name}("), vec![slice(0)?], ")"), Level::Primary, Ty::Int),
            "all" => {
                let all = strip_reference(self.value(need(0)?)?).method("all", Vec::new(), Ty::Bool);
                self.defined("all_hold", all.doc, Ty::Bool)
            }
            "max" | "min" => {
                let default = match argument(1) {
                    Some(Expr { kind: ExprKind::None, .. }) | None => Doc::text("None"),
                    Some(default) => some(checked(self.number(default)?).doc),
                };
                let hint = if name == "max" { "greatest" } else { "least" };
                self.defined(hint, call(format!("{name}_of("), vec![slice(0)?, default], ")"), Ty::Plain)
            }
            "broadcast" => {
                let shapes: Vec<Doc> =
                    called.args.iter().map(|s| self.slice_of(self.expr(s)?)).collect::<Result<_, _>>()?;
                let list = call("broadcast(&[", shapes, "])");
                self.defined("common", list, place)
            }
            "reduced" => {
                let docs = vec![slice(0)?, value(1)?, self.boolean(need(2)?)?.doc, self.text(need(3)?)?.doc];
                self.defined("left", call("reduced(", docs, ")"), place)
            }
            "valid_axes" => self.defined("valid", call("valid_axes(", vec![value(0)?, number(1)?], ")"), Ty::Bool),
            "unique_axes" => self.defined("unique", call("unique_axes(", vec![value(0)?, number(1)?], ")"), Ty::Bool),
            "per_axis" => {
                let fallback = match argument(3) {
                    Some(fallback) => self.value(fallback)?.doc,
                    None => Doc::text("&Value::None"),
                };
                let docs = vec![value(0)?, number(1)?, number(2)?, fallback];
                self.defined("along", call("per_axis(", docs, ")"), Ty::Plain)
            }
            "conv.out" => self.defined("length", call("conv_out(", numbers(5)?, ")"), Ty::Plain),
            "pool.out" => {
                let mut docs = numbers(5)?;
                docs.push(self.boolean(need(5)?)?.doc);
                self.defined("length", call("pool_out(", docs, ")"), Ty::Plain)
            }
            "moe.capacity" => {
                let docs = vec![self.expr(need(0)?)?.doc, number(1)?, number(2)?];
                self.defined("capacity", call("moe_capacity(", docs, ")"), Ty::Plain)
            }
            "mhc.expansion" => self.defined("expansion", call("mhc_expansion(", numbers(1)?, ")"), Ty::Plain),
            "promote_int_to_float" => {
                let docs = vec![self.dtype(need(0)?)?.doc];
                Code::new(call("promote_int_to_float(", docs, ")"), Level::Primary, Ty::DType)
            }
            "coalesce_dtype" => {
                let first = match need(0)? {
                    Expr { kind: ExprKind::None, .. } => Doc::text("None"),
                    first => match self.expr(first)? {
                        code if matches!(code.ty, Ty::Opt(_)) => code.doc,
                        code => some(self.dtype_of(code)?.doc),
                    },
                };
                let docs = vec![first, self.dtype(need(1)?)?.doc];
                Code::new(call("coalesce_dtype(", docs, ")"), Level::Primary, Ty::DType)
            }
            "balanced_sizes" | "repeat" => self.defined("sizes", call(format!("{name}("), numbers(2)?, ")"), place),
            "category" => self.defined("category_of", call("category(", vec![value(0)?], ")"), Ty::Str),
            "representable" => {
                let docs = vec![value(0)?, self.dtype(need(1)?)?.doc];
                self.defined("fits", call("representable(", docs, ")"), Ty::Bool)
            }
            other => return Err(format!("`{other}` has no form in Rust")),
        })
    }

    pub(super) fn comprehension(&self, called: &Call) -> Printed {
        let (Some(comprehension), [element]) = (&called.comprehension, called.args.as_slice()) else {
            return Err("a comprehension has one element".to_owned());
        };
        let variable = self.names.get(&comprehension.variable.value);
        let items = self.expr(&comprehension.iterable)?;
        let items = match items.ty {
            Ty::Ints(_) => items,
            Ty::Value => {
                let ints = strip_reference(items).method("as_ints", Vec::new(), Ty::Bool).doc;
                self.defined("items", ints, Ty::Ints(Form::Place))
            }
            _ => return Err("a comprehension runs over a sequence of integers".to_owned()),
        };
        let callee = &*called.callee.value;
        if callee == "all" {
            let (mut before, element) = self.apart(|| self.boolean(element))?;
            if before.is_empty() {
                // A variable that the element does not read is none.
                let read = read_by(&[Stmt::Expr(element.doc.clone())]).contains(&variable);
                let pattern = if read { format!("|&{variable}|") } else { "|_|".to_owned() };
                let iterated = items.method("iter", Vec::new(), Ty::Bool);
                let docs = vec![iterated.doc, Doc::text(format!(".all({pattern} ")), element.doc, Doc::text(")")];
                return Ok(Code::new(Doc::Cat(docs), Level::Primary, Ty::Bool));
            }
            before.push(Stmt::Expr(Doc::Cat(vec![Doc::text("Ok("), element.doc, Doc::text(")")])));
            let open =
                Doc::Cat(vec![Doc::text("all_of("), self.slice_of(items)?, Doc::text(format!(", |{variable}| "))]);
            return Ok(self.local("all_hold", call_with_block(open, before, ")?"), Ty::Bool, Level::Primary));
        }
        let (mut before, element) = self.apart(|| self.number(element).map(|code| self.plain(code)))?;
        let slice = self.slice_of(items)?;
        before.push(Stmt::Expr(Doc::Cat(vec![Doc::text("Ok("), element.doc, Doc::text(")")])));
        let open = Doc::Cat(vec![Doc::text("each("), slice, Doc::text(format!(", |{variable}| "))]);
        let each = self.local("items", call_with_block(open, before, ")?"), Ty::Ints(Form::Place), Level::Primary);
        let each = self.slice_of(each)?;
        match callee {
            "sum" => Ok(Code::new(call("sum(", vec![each], ")"), Level::Primary, Ty::Int)),
            which => {
                let default = match called.keywords.iter().find(|(name, _)| &*name.value == "default") {
                    Some((_, default)) => some(checked(self.number(default)?).doc),
                    None => Doc::text("None"),
                };
                let hint = if which == "max" { "greatest" } else { "least" };
                Ok(self.defined(hint, call(format!("{which}_of("), vec![each, default], ")"), Ty::Plain))
            }
        }
    }

    /// Whether `name` is passed.
    pub(crate) fn presence(&self, name: &str, present: bool) -> Printed {
        let not = if present { "" } else { "!" };
        if self.place == Place::Price {
            let level = if present { Level::Primary } else { Level::Unary };
            return Ok(Code::text(format!("{not}call.present({})?", string(name)), level, Ty::Bool));
        }
        let is = if present { "is_some()" } else { "is_none()" };
        Ok(match self.scope.get(name) {
            None => Code::text(format!("arguments.out().{is}"), Level::Primary, Ty::Bool),
            Some(symbol) => {
                let own = self.names.get(name);
                match type_of(&symbol.kind, self.place, false) {
                    Ty::Value if symbol.role == SymbolRole::Param => {
                        let level = if present { Level::Unary } else { Level::Primary };
                        Code::text(format!("{}{own}.is_none()", if present { "!" } else { "" }), level, Ty::Bool)
                    }
                    _ => Code::text(format!("{own}.{is}"), Level::Primary, Ty::Bool),
                }
            }
        })
    }
}

/// The arguments of a call in the order of the built-in's parameters.
fn arguments(called: &Call) -> Result<Vec<Option<&Expr>>, String> {
    let builtin = tileops_analyzer::lang::builtins::find(&called.callee.value)
        .ok_or_else(|| format!("`{}` is no built-in", called.callee.value))?;
    let mut bound: Vec<Option<&Expr>> = called.args.iter().map(Some).collect();
    for (name, value) in &called.keywords {
        let position = builtin.params.iter().position(|param| param.name == &*name.value);
        let position = position.ok_or_else(|| format!("`{}` has no `{}`", builtin.name, name.value))?;
        if bound.len() <= position {
            bound.resize(position + 1, None);
        }
        if let Some(slot) = bound.get_mut(position) {
            *slot = Some(value);
        }
    }
    Ok(bound)
}
