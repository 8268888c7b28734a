//! Arithmetic, comparisons, conditions.

use tileops_analyzer::expr::{BinaryOp, BoolOp, CompareOp, Expr, ExprKind, Level};
use tileops_analyzer::lang::DType;
use tileops_analyzer::text::Spanned;

use super::super::stmt::{Stmt, call};
use super::code::{comparison, infix, integer, joined, negated, prefixed, strip_reference};
use super::{Code, Form, Printed, Printer, Ty, checked, dtype_path};
use crate::layout::{Doc, flat};

impl Printer<'_> {
    pub(super) fn binary(&self, op: BinaryOp, left: &Expr, right: &Expr) -> Printed {
        let (a, b) = (self.expr(left)?, self.expr(right)?);
        if a.ty == Ty::Float || b.ty == Ty::Float {
            let (a, b) = (self.float_of(a)?, self.float_of(b)?);
            return Ok(match op {
                BinaryOp::FloorDiv => {
                    self.defined("quotient", call("float_floor_div(", vec![a.doc, b.doc], ")"), Ty::Float)
                }
                BinaryOp::Mod => self.defined("rest", call("float_mod(", vec![a.doc, b.doc], ")"), Ty::Float),
                op => infix(op, a, b, Ty::Float),
            });
        }
        let (a, b) = (self.number_of(a)?, self.number_of(b)?);
        let literal = |expr: &Expr, value: i128| matches!(expr.kind, ExprKind::Int(v) if v == value);
        match op {
            // What changes nothing is not written.
            BinaryOp::Mul if literal(left, 1) => Ok(b),
            BinaryOp::Mul if literal(right, 1) => Ok(a),
            BinaryOp::Mul if literal(left, 0) || literal(right, 0) => Ok(integer(0)),
            BinaryOp::Add if literal(left, 0) => Ok(b),
            BinaryOp::Add | BinaryOp::Sub if literal(right, 0) => Ok(a),
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => {
                let a = if b.ty == Ty::Int { a } else { checked(a) };
                Ok(infix(op, a, b, Ty::Int))
            }
            BinaryOp::FloorDiv | BinaryOp::Mod => {
                let positive = matches!(right.kind, ExprKind::Int(1..));
                let (plain, checked_name) = match op {
                    BinaryOp::FloorDiv => ("div_euclid", "floor_div"),
                    _ => ("rem_euclid", "modulo"),
                };
                if a.ty == Ty::Plain && positive && !matches!(left.kind, ExprKind::Int(_)) {
                    return Ok(a.method(plain, vec![b.doc], Ty::Plain));
                }
                Ok(checked(a).method(checked_name, vec![b.doc], Ty::Int))
            }
        }
    }

    /// Operands are evaluated up to the first that decides, as Python does it.
    pub(super) fn bools(&self, op: BoolOp, operands: &[Expr]) -> Printed {
        let mut left: Vec<Code> = Vec::new();
        for operand in operands {
            let (before, code) = self.apart(|| self.boolean(operand))?;
            if before.is_empty() || left.is_empty() {
                self.before.statements.borrow_mut().extend(before);
                left.push(code);
                continue;
            }
            let so_far = joined(op, std::mem::take(&mut left));
            let mut body = before;
            body.push(Stmt::Expr(code.doc));
            let decided = vec![Stmt::line((op == BoolOp::Or).to_string())];
            let arms = match op {
                BoolOp::And => vec![(Some(so_far.doc), body), (None, decided)],
                BoolOp::Or => vec![(Some(so_far.doc), decided), (None, body)],
            };
            left.push(self.lazily("holds", arms, Ty::Bool));
        }
        Ok(joined(op, left))
    }

    pub(super) fn compare(&self, first: &Expr, rest: &[(Spanned<CompareOp>, Expr)]) -> Printed {
        let mut codes = Vec::new();
        let mut left = first;
        for (op, right) in rest {
            codes.push(self.comparison(op.value, left, right)?);
            left = right;
        }
        Ok(joined(BoolOp::And, codes))
    }

    pub(super) fn comparison(&self, op: CompareOp, left: &Expr, right: &Expr) -> Printed {
        if matches!(op, CompareOp::In | CompareOp::NotIn) {
            return self.membership(op == CompareOp::NotIn, left, right);
        }
        let (a, b) = (self.expr(left)?, self.expr(right)?);
        let sign = op.as_str();
        let number = |code: &Code| matches!(code.ty, Ty::Plain | Ty::Int);
        if number(&a) && number(&b) {
            return Ok(comparison(sign, self.plain(a), self.plain(b)));
        }
        let exact = |expr: &Expr| matches!(expr.kind, ExprKind::Int(v) if v.unsigned_abs() < 1 << 53);
        match (&a.ty, &b.ty) {
            (Ty::Float, Ty::Float) => return Ok(comparison(sign, a, b)),
            (Ty::Float, _) if exact(right) => return Ok(comparison(sign, a, self.float_of(b)?)),
            (_, Ty::Float) if exact(left) => return Ok(comparison(sign, self.float_of(a)?, b)),
            (Ty::Bool, Ty::Bool) if matches!(op, CompareOp::Eq | CompareOp::Ne) => {
                // A comparison with a literal is the condition, or its negation.
                let same = |literal: bool| literal == (op == CompareOp::Eq);
                match (&left.kind, &right.kind) {
                    (_, ExprKind::Bool(literal)) => return Ok(if same(*literal) { a } else { negated(a) }),
                    (ExprKind::Bool(literal), _) => return Ok(if same(*literal) { b } else { negated(b) }),
                    _ => return Ok(comparison(sign, a, b)),
                }
            }
            (Ty::Bool, Ty::Bool) | (Ty::Str, Ty::Str) => return Ok(comparison(sign, a, b)),
            (Ty::DType, Ty::DType) if matches!(op, CompareOp::Eq | CompareOp::Ne) => return Ok(comparison(sign, a, b)),
            (Ty::DType, Ty::Str) | (Ty::Str, Ty::DType) if matches!(op, CompareOp::Eq | CompareOp::Ne) => {
                let named = |expr: &Expr| match &expr.kind {
                    ExprKind::Str(text) => DType::from_name(text),
                    _ => None,
                };
                match (named(left), named(right)) {
                    (Some(dtype), _) => {
                        return Ok(comparison(sign, Code::text(dtype_path(dtype), Level::Primary, Ty::DType), b));
                    }
                    (_, Some(dtype)) => {
                        return Ok(comparison(sign, a, Code::text(dtype_path(dtype), Level::Primary, Ty::DType)));
                    }
                    _ => {}
                }
            }
            (Ty::Ints(_), Ty::Ints(_)) if matches!(op, CompareOp::Eq | CompareOp::Ne) => {
                let whole = |code: Code| {
                    if code.ty == Ty::Ints(Form::Array) {
                        return code;
                    }
                    let doc = Doc::Cat(vec![code.at(Level::Primary), Doc::text("[..]")]);
                    Code::new(doc, Level::Primary, code.ty.clone())
                };
                return Ok(comparison(sign, whole(a), whole(b)));
            }
            _ => {}
        }
        // Values whose types are known when the call is made only.
        let (a, b) = (self.value_of(a)?, self.value_of(b)?);
        let receiver = strip_reference(a);
        match op {
            CompareOp::Eq => Ok(receiver.method("equals", vec![b.doc], Ty::Bool)),
            CompareOp::Ne => Ok(prefixed("!", &receiver.method("equals", vec![b.doc], Ty::Bool), Ty::Bool)),
            _ => {
                let is = match op {
                    CompareOp::Lt => "is_lt",
                    CompareOp::Le => "is_le",
                    CompareOp::Gt => "is_gt",
                    _ => "is_ge",
                };
                let order = self.defined("order", receiver.method("compare", vec![b.doc], Ty::Bool).doc, Ty::Bool);
                Ok(order.method(is, Vec::new(), Ty::Bool))
            }
        }
    }

    pub(super) fn membership(&self, negated: bool, item: &Expr, items: &Expr) -> Printed {
        let code = self.expr(item)?;
        let found = match &items.kind {
            ExprKind::Tuple(members) => {
                let members: Vec<Code> = members.iter().map(|member| self.expr(member)).collect::<Result<_, _>>()?;
                let alike = |code: &Code| match code.ty {
                    Ty::Int => Ty::Plain,
                    ref other => other.clone(),
                };
                if matches!(code.ty, Ty::Ints(_)) && members.iter().all(|m| m.ty == Ty::Ints(Form::Array)) {
                    let sides = Doc::Cat(vec![code.at(Level::Primary), Doc::text("[..]")]);
                    let side = Code::new(sides, Level::Primary, code.ty);
                    let equal = members.into_iter().map(|member| comparison("==", side.clone(), member));
                    let found = joined(BoolOp::Or, equal.collect());
                    return Ok(if negated { prefixed("!", &found, Ty::Bool) } else { found });
                }
                let simple = matches!(code.ty, Ty::Plain | Ty::Int | Ty::Bool | Ty::Float | Ty::Str | Ty::DType);
                if simple && members.iter().all(|member| alike(member) == alike(&code)) {
                    let item = Doc::Cat(vec![Doc::text("&"), self.plain(code).at(Level::Unary)]);
                    let docs = members.into_iter().map(|member| self.plain(member).doc).collect();
                    let array = Code::new(call("[", docs, "]"), Level::Primary, Ty::Ints(Form::Array));
                    array.method("contains", vec![item], Ty::Bool)
                } else {
                    let docs: Vec<Doc> =
                        members.into_iter().map(|member| self.owned_value(member)).collect::<Result<_, _>>()?;
                    let items = Doc::Cat(vec![Doc::text("&"), call("[", docs, "]")]);
                    let arguments = vec![self.value_of(code)?.doc, items];
                    Code::new(call("one_of(", arguments, ")"), Level::Primary, Ty::Bool)
                }
            }
            _ => {
                let all = self.expr(items)?;
                match (&all.ty, &code.ty) {
                    (Ty::Ints(_), Ty::Plain | Ty::Int) => {
                        let item = Doc::Cat(vec![Doc::text("&"), self.plain(code).at(Level::Unary)]);
                        all.method("contains", vec![item], Ty::Bool)
                    }
                    _ => {
                        let all = strip_reference(self.value_of(all)?);
                        let contains = all.method("contains", vec![self.value_of(code)?.doc], Ty::Bool);
                        self.defined("contained", contains.doc, Ty::Bool)
                    }
                }
            }
        };
        Ok(if negated { prefixed("!", &found, Ty::Bool) } else { found })
    }

    pub(super) fn conditional(&self, condition: &Expr, then: &Expr, otherwise: &Expr) -> Printed {
        let condition = self.boolean(condition)?;
        let (mut before_then, mut then) = self.apart(|| self.expr(then))?;
        let (mut before_otherwise, mut otherwise) = self.apart(|| self.expr(otherwise))?;
        // A parameter of several kinds is what its arm has found it to be.
        if then.ty == Ty::Value && otherwise.ty != Ty::Value {
            let (more, code) = self.apart(|| self.alike(then, &otherwise.ty))?;
            (then, before_then) = (code, [before_then, more].concat());
        } else if otherwise.ty == Ty::Value && then.ty != Ty::Value {
            let (more, code) = self.apart(|| self.alike(otherwise, &then.ty))?;
            (otherwise, before_otherwise) = (code, [before_otherwise, more].concat());
        }
        match (&then.ty, &otherwise.ty) {
            (Ty::Plain | Ty::Int, Ty::Plain | Ty::Int) if then.ty != otherwise.ty => {
                (then, otherwise) = (checked(then), checked(otherwise));
            }
            (Ty::Ints(_), Ty::Ints(_)) => {
                let owned = |doc| Code::new(doc, Level::Primary, Ty::Ints(Form::Temporary));
                then = owned(self.vec_of(then)?);
                otherwise = owned(self.vec_of(otherwise)?);
            }
            (a, b) if a == b => {}
            (Ty::Float, _) | (_, Ty::Float) => {
                let (more, code) = self.apart(|| self.float_of(then))?;
                (then, before_then) = (code, [before_then, more].concat());
                let (more, code) = self.apart(|| self.float_of(otherwise))?;
                (otherwise, before_otherwise) = (code, [before_otherwise, more].concat());
            }
            _ => return Err("the arms of a conditional are of kinds that have no common type in Rust".to_owned()),
        }
        if before_then.is_empty() && before_otherwise.is_empty() && then.ty == Ty::Bool {
            match (flat(&then.doc).as_str(), flat(&otherwise.doc).as_str()) {
                ("true", "false") => return Ok(condition),
                ("false", "true") => return Ok(negated(condition)),
                _ => {}
            }
        }
        let ty = match then.ty.clone() {
            Ty::Ints(_) => Ty::Ints(Form::Place),
            ty => ty,
        };
        before_then.push(Stmt::Expr(then.doc));
        before_otherwise.push(Stmt::Expr(otherwise.doc));
        Ok(self.lazily("chosen", vec![(Some(condition.doc), before_then), (None, before_otherwise)], ty))
    }
}
