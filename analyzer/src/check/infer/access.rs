//! Subscripts, slices and fields.

use std::sync::Arc;

use super::{Found, Inference, Want, Wanted, count, some_of, text_of};
use crate::check::guards::{Guards, Subject, item_of};
use crate::check::show::show;
use crate::check::types::union_of;
use crate::defect::{Defect, Severity, codes, list, nearest, nearest_first};
use crate::expr::{Expr, ExprKind, Ident, UnaryOp};
use crate::lang::Kind;
use crate::lang::builtins::Takes;
use crate::text::TextRange;

impl Inference<'_> {
    /// The kind of something that must be a sequence.
    pub(super) fn sequence(&mut self, expr: &Expr, taker: &str, guards: &Guards) -> Kind {
        let found = self.infer(expr, guards);
        if item_of(&found.kind).is_some() {
            return found.kind;
        }
        self.mismatch(expr, &found.kind, Want { takes: Wanted::Takes(Takes::Seq), taker });
        Kind::Error
    }

    pub(super) fn index(&mut self, base: &Expr, index: &Expr, guards: &Guards) -> Found {
        let kind = self.sequence(base, "a subscript", guards);
        if kind == Kind::Error {
            // What is no sequence may have been meant to take brackets of another sense, as in `DType[float16]`.
            self.infer(index, guards);
            return Found::error();
        }
        self.expect(index, Want { takes: Wanted::Takes(Takes::Int), taker: "a subscript" }, guards);
        let constant = match &index.kind {
            ExprKind::Int(value) => Some(*value),
            ExprKind::Unary(UnaryOp::Neg, operand) => match operand.kind {
                ExprKind::Int(value) => value.checked_neg(),
                _ => None,
            },
            _ => None,
        };
        if let (Kind::Seq(_, Some(length)), Some(at)) = (&kind, constant) {
            let length = *length as i128;
            if at >= length || at < -length {
                let message = format!("{} has {}, and no item {at}", show(base), count(length as usize, "item"));
                self.findings.report(&codes::KIND_MISMATCH, index.range, self.path, at.to_string(), message);
                return Found::error();
            }
        }
        Found::new(item_of(&kind).unwrap_or(Kind::Error))
    }

    pub(super) fn attribute(&mut self, base: &Expr, field: &Ident, guards: &Guards) -> Found {
        // An attribute of a tensor has been refused; the tensor's name stands nowhere else in an expression.
        let is_refused = |defect: &Defect| {
            *defect.code == codes::REFUSED_FORM && defect.path == self.path && defect.range.contains_range(field.range)
        };
        if self.findings.defects.iter().any(is_refused) {
            if base.as_name().is_none() {
                self.infer(base, guards);
            }
            return Found::error();
        }
        let found = self.infer(base, guards);
        if found.kind == Kind::Error && found.declared == Kind::Error {
            return Found::error();
        }
        if let Kind::Maybe(inner) = &found.declared {
            let inner = (**inner).clone();
            let guarded = !matches!(found.kind, Kind::Maybe(_) | Kind::None);
            if &*field.value == "value" {
                if !guarded {
                    self.unguarded(base, field, &found);
                    return Found { kind: inner.clone(), declared: inner, subject: found.subject, branches: None };
                }
                return Found { declared: inner, branches: None, ..found };
            }
            // `layout.kind` of an optional layout that is present here reads like `layout.value.kind`.
            if matches!(inner, Kind::Adt(..)) {
                if !guarded {
                    self.unguarded(base, field, &found);
                    return Found::error();
                }
                let found = Found { declared: inner, ..found };
                return self.field(base, field, found, guards);
            }
        }
        self.field(base, field, found, guards)
    }

    pub(super) fn unguarded(&mut self, base: &Expr, field: &Ident, found: &Found) {
        let text = text_of(base);
        let range = TextRange::new(base.range.start(), field.range.end().max(base.range.start()));
        let message = if found.kind == Kind::None {
            format!("`{text}.{}` is read where `{text}` is absent", field.value)
        } else {
            format!("`{text}.{}` is read where `{text}` may be absent", field.value)
        };
        if self.is_faulty() {
            let judgment = format!("whether `{text}` is present here");
            self.findings.unreached(range, self.path, judgment, "the conditions around it");
            return;
        }
        self.findings
            .report(&codes::UNGUARDED_VALUE, range, self.path, format!("{text}.{}", field.value), message)
            .help(format!("read it where `present({text})` holds: `… if present({text}) else …`"));
    }

    /// Whether something else is wrong with the same text: it may be the guard.
    fn is_faulty(&self) -> bool {
        self.findings.defects.iter().any(|defect| {
            let guards = [&codes::UNGUARDED_VALUE, &codes::UNGUARDED_FIELD];
            defect.path == self.path && defect.code.severity == Severity::Error && !guards.contains(&defect.code)
        })
    }

    pub(super) fn field(&mut self, base: &Expr, field: &Ident, found: Found, guards: &Guards) -> Found {
        let name = &field.value;
        let path =
            found.subject.as_ref().filter(|subject| subject.tag_of.is_none()).map(|subject| subject.path.clone());
        let (Kind::Adt(adt, narrowed), Kind::Adt(_, all)) = (&found.kind, &found.declared) else {
            let shown = show(base);
            let help = match &**name {
                "value" => Some(format!("only what can be absent has a `value`; write `{}`", text_of(base))),
                _ => None,
            };
            let message = format!("{shown} is `{}`, and has no field `{name}`", found.declared);
            let defect = self.findings.report(&codes::UNKNOWN_FIELD, field.range, self.path, &**name, message);
            if let Some(help) = help {
                let whole = TextRange::new(base.range.start(), field.range.end().max(base.range.start()));
                defect.help(help).instead_of(whole, text_of(base));
            }
            return Found::error();
        };
        if &**name == "kind" {
            let kind = Kind::Enum(narrowed.clone());
            let declared = Kind::Enum(all.clone());
            let subject = path.map(|path| Subject { path, tag_of: Some(found.kind.clone()) });
            return Found { kind, declared, subject, branches: None };
        }
        let having: Vec<(&Arc<str>, &Kind)> =
            adt.constructors.iter().filter_map(|c| c.field(name).map(|f| (&c.name, &f.kind))).collect();
        if having.is_empty() {
            let mut known: Vec<&str> = vec!["kind"];
            for constructor in &adt.constructors {
                known.extend(constructor.fields.iter().map(|f| &*f.name));
            }
            let order = nearest_first(name, known);
            let message = format!("no constructor of `{}` has a field `{name}`", adt.name);
            self.findings
                .report(&codes::UNKNOWN_FIELD, field.range, self.path, &**name, message)
                .help(format!("it has {}", some_of(&order, "and")))
                .meant(nearest(name, order.iter().copied()));
            return Found::error();
        }
        let here = || having.iter().filter(|(constructor, _)| narrowed.contains(*constructor));
        let kind = union_of(here().map(|(_, kind)| (*kind).clone()));
        let lacking: Vec<&str> = narrowed
            .iter()
            .filter(|constructor| !having.iter().any(|(with, _)| *with == *constructor))
            .map(|constructor| &**constructor)
            .collect();
        if !lacking.is_empty() {
            let text = text_of(base);
            let range = TextRange::new(base.range.start(), field.range.end().max(base.range.start()));
            let be = if here().next().is_some() { "may be" } else { "is" };
            let message = format!(
                "`{text}.{name}` is read where `{text}` {be} {}, which has no field `{name}`",
                list(&lacking, "or")
            );
            let conditions: Vec<String> =
                having.iter().map(|(constructor, _)| format!("{text}.kind == '{constructor}'")).collect();
            if self.is_faulty() {
                let judgment = format!("which constructor `{text}` has here");
                self.findings.unreached(range, self.path, judgment, "the conditions around it");
                return Found::error();
            }
            self.findings
                .report(&codes::UNGUARDED_FIELD, range, self.path, format!("{text}.{name}"), message)
                .help(format!("read it where `{}` holds", conditions.join(" or ")));
            let kind = union_of(having.iter().map(|(_, kind)| (*kind).clone()));
            return Found::new(kind);
        }
        let declared = kind.clone();
        let path: Option<Arc<str>> = path.map(|path| format!("{path}.{name}").into());
        let kind = path.as_ref().and_then(|path| guards.get(path).cloned()).unwrap_or(kind);
        Found { kind, declared, subject: path.map(|path| Subject { path, tag_of: None }), branches: None }
    }
}
