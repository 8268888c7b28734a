//! What can stand in an expression.

use std::sync::Arc;

use super::super::mentions::{adt_of, formals, literals, role_noun};
use super::super::site::{Holds, Names, Owner};
use super::probe::Probe;
use super::whole::is_held_against_more;
use super::{CompletionKind, KEYWORDS, MARK, Topic, Work};
use crate::check::{FamilySymbol, Point, Position, Scope};
use crate::defect::Findings;
use crate::eval::fold;
use crate::expr::{Expr, ExprKind, ShapeKind, parse_expression, parse_shape};
use crate::lang::builtins::{self, Builtin, Gives, METADATA_DTYPES, Passing, Role, Takes};
use crate::lang::{DType, DTypeSet, Kind, Literals};
use crate::model::Entry;
use crate::syntax::{Node, Scalar, ScalarStyle};
use crate::text::{TextRange, TextSize};

impl Work<'_> {
    /// Whether what was found has to be held against the whole entry, too.
    pub(super) fn expression(
        &mut self,
        node: &Node,
        holds: Holds,
        owner: Owner<'_>,
        (entry, scope): (&Entry, &Scope),
    ) -> bool {
        let Some(scalar) = node.as_scalar() else { return false };
        // What is open in the expression is closed, so that what stands in it can be judged.
        let whole = format!("{}{}", scalar.text, brackets(&scalar.text));
        let text = whole.as_str();
        let Some(cursor) = text.find(MARK) else { return false };
        let before = &text[..cursor];
        let is_plain = scalar.style == ScalarStyle::Plain;
        // A whole plain scalar can be put in quotes; in brackets, a comma would end any other.
        self.quotes_calls = is_plain && scalar.text.trim() == MARK;
        self.bears_commas = !is_plain || !self.in_flow;
        let probe = Probe { scope, holds, owner, text, entry };
        let is_held = is_held_against_more(holds, before, text, probe.generates());
        let behind = &text[cursor + MARK.len()..];
        let unfinished = probe.defects(MARK, Some(Kind::Error));
        let dotted =
            behind.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))).next().unwrap_or("");
        if let Some(rest) = dotted.strip_prefix('.')
            && behind[dotted.len()..].starts_with('(')
        {
            let groups = builtins::all().iter().filter_map(|builtin| builtin.name.split_once('.'));
            let groups: Vec<&str> = groups.filter(|(_, name)| *name == rest).map(|(group, _)| group).collect();
            let least = groups.iter().map(|group| probe.defects(group, None)).min();
            for group in groups.iter().filter(|group| Some(probe.defects(group, None)) == least) {
                self.add(group, CompletionKind::Function, "", "");
            }
            return is_held;
        }
        if behind.starts_with('[') && matches!(holds, Holds::Shape(Position::Shape)) && before.trim().is_empty() {
            let whole = Scalar::plain(text);
            let range = TextRange::up_to(TextSize::of(text));
            let count = match parse_shape(&whole, range, "", &mut Findings::default()).kind {
                ShapeKind::Family(_, arguments) => Some(arguments.len()),
                _ => None,
            };
            let takes_them = |family: &&FamilySymbol| {
                family.formals.as_ref().zip(count).is_none_or(|(formals, count)| formals.len() == count)
            };
            let names: Vec<&str> = scope.families().filter(takes_them).map(|family| &*family.name).collect();
            let least = names.iter().map(|name| probe.defects(name, None)).min();
            for name in names.iter().filter(|name| Some(probe.defects(name, None)) == least) {
                self.add(name, CompletionKind::Type, "type family", "");
            }
            return is_held;
        }
        if behind.trim_start().starts_with('=') && !behind.trim_start().starts_with("==") {
            let parameters = call_around(before).and_then(builtins::find).map_or(&[][..], |builtin| builtin.params);
            let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
            let least = names.iter().map(|name| probe.defects(name, None)).min();
            for name in names.iter().filter(|name| Some(probe.defects(name, None)) == least) {
                self.add(name, CompletionKind::Name, "parameter", "");
            }
            return is_held;
        }
        if let Some(arguments) = behind.strip_prefix('(') {
            self.callees(&probe, before, arguments.trim_start().starts_with(')'));
            return is_held;
        }
        // Where the place takes no more than some names, whatever stands for the cursor is a mistake of its own: what
        // makes the fewest is what fits.
        let names = scope.iter().map(|symbol| &*symbol.name).filter(|name| *name != MARK);
        let own = formals(scope, &owner).into_iter().flatten().map(|(name, _)| &**name);
        let least = names.chain(own).chain(KEYWORDS).chain(["True", "1"]).map(|name| probe.defects(name, None)).min();
        let base = unfinished.min(least.unwrap_or(unfinished));
        let fits = |candidate: &str| probe.defects(candidate, None) <= base;
        if let Some(dotted) = before.strip_suffix('.') {
            let chain = dotted.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or("");
            for builtin in builtins::all() {
                if let Some(rest) = builtin.name.strip_prefix(chain).and_then(|rest| rest.strip_prefix('.')) {
                    self.function(builtin, rest);
                }
            }
            let mut fields: Vec<(String, String)> =
                vec![("value".into(), String::new()), ("kind".into(), String::new())];
            let kinds =
                scope.iter().map(|s| &s.kind).chain(formals(scope, &owner).into_iter().flatten().map(|(_, k)| k));
            for constructor in kinds.filter_map(adt_of).flat_map(|adt| &adt.constructors) {
                fields.extend(constructor.fields.iter().map(|f| (f.name.to_string(), f.kind.to_string())));
            }
            for (field, detail) in fields {
                // The name that stands for the cursor is an unknown field itself.
                if probe.defects(&field, None) < unfinished.max(1) {
                    self.add(&field, CompletionKind::Field, &detail, "");
                }
            }
            return is_held;
        }
        let opening = before.chars().rev().find(|c| !c.is_whitespace());
        let in_string = before.matches('\'').count() % 2 == 1;
        let compares = |text: &str| {
            let text = text.trim_end();
            text.ends_with("==") || text.ends_with("!=") || text.ends_with(" in") || matches!(opening, Some('(' | ','))
        };
        if in_string || compares(before) {
            let mut known: Vec<String> = Vec::new();
            let kinds =
                scope.iter().map(|s| &s.kind).chain(formals(scope, &owner).into_iter().flatten().map(|(_, k)| k));
            for kind in kinds {
                known.extend(literals(kind).iter().map(|literal| (*literal).to_owned()));
                for constructor in adt_of(kind).iter().flat_map(|adt| &adt.constructors) {
                    known.push(constructor.name.to_string());
                    known.extend(constructor.fields.iter().flat_map(|f| literals(&f.kind)).map(str::to_owned));
                }
                if let Kind::DType(set) = kind {
                    known.extend(set.iter().map(|dtype| dtype.name().to_owned()));
                }
            }
            for builtin in builtins::all() {
                for parameter in builtin.params {
                    if let Takes::Literal(words) = parameter.takes {
                        known.extend(words.iter().map(|word| (*word).to_owned()));
                    }
                }
            }
            known.sort_unstable();
            known.dedup();
            let quote = if scalar.style == ScalarStyle::SingleQuoted { "\"" } else { "'" };
            let candidate = |literal: &str| if in_string { literal.to_owned() } else { format!("'{literal}'") };
            let least = known.iter().map(|literal| probe.defects(&candidate(literal), None)).min().unwrap_or(0);
            let base = base.min(least);
            for literal in known {
                // Where a misplaced string is no defect of its own, only what is compared with tells.
                if probe.defects(&candidate(&literal), None) <= base
                    && !probe_is_loose(&probe, base)
                    && let Some(item) = self.add(&literal, CompletionKind::Word, "literal", "")
                    && !in_string
                {
                    item.label = format!("'{literal}'");
                    item.edit.text = format!("{quote}{literal}{quote}");
                }
            }
            if in_string {
                return is_held;
            }
        }
        match holds {
            Holds::Generator | Holds::Predicate if before.trim().is_empty() => {
                let is_generator = holds == Holds::Generator;
                for builtin in builtins::all() {
                    if matches!(builtin.role, Role::Generator(_)) == is_generator
                        && matches!(builtin.role, Role::Generator(_) | Role::Predicate(_))
                    {
                        self.function(builtin, builtin.name);
                    }
                }
                return is_held;
            }
            Holds::Shape(Position::Shape) if before.trim().is_empty() => {
                for family in scope.families() {
                    let formals: Vec<&str> = family.formals.iter().flatten().map(|(name, _)| &**name).collect();
                    let text = format!("{}[{}]", family.name, formals.join(", "));
                    if let Some(item) = self.add(&family.name, CompletionKind::Type, &text, "type family") {
                        let slots: Vec<String> =
                            formals.iter().enumerate().map(|(i, name)| format!("${{{}:{name}}}", i + 1)).collect();
                        let whole = format!("{}[{}]", family.name, slots.join(", "));
                        let quote = if is_plain { "\"" } else { "" };
                        item.edit.text = format!("{quote}{text}{quote}");
                        item.snippet = Some(format!("{quote}{whole}{quote}"));
                    }
                }
                return is_held;
            }
            _ => {}
        }
        if holds == Holds::Condition && self.quotes_calls {
            // Without quotes it is YAML's own word.
            self.words(["true", "false"], "Bool");
        }
        let metadata = holds == Holds::TensorDType && probe.generates();
        if holds == Holds::TensorDType {
            let is_due = |dtype: &DType| !metadata || METADATA_DTYPES.contains(dtype);
            for dtype in DType::ALL.iter().filter(|dtype| is_due(dtype) && fits(dtype.name())) {
                self.dtype(*dtype);
            }
        }
        for (name, kind) in
            formals(scope, &owner).into_iter().flatten().filter(|_| holds == Holds::Shape(Position::Family))
        {
            if fits(name) {
                self.add(name, CompletionKind::Name, &kind.to_string(), "formal");
            }
        }
        let sizes = before.trim_end().ends_with("bytes(");
        for symbol in scope.iter() {
            let is_due = match &symbol.kind {
                Kind::DType(set) if metadata => set.iter().all(|dtype| METADATA_DTYPES.contains(&dtype)),
                _ => true,
            };
            // A `let` that reads itself has no value.
            let is_own = owner.within == Some(Names::Lets) && owner.name == Some(&*symbol.name);
            let is_decided = holds != Holds::Condition || probe.decides(symbol);
            let has_size = !sizes || symbol.kind != Kind::Tensor || self.is_passed(&symbol.name, &probe);
            let is_due = is_due && !is_own && is_decided && has_size;
            if &*symbol.name != MARK && is_due && fits(&symbol.name) {
                let kind = if symbol.kind == Kind::Tensor { CompletionKind::Tensor } else { CompletionKind::Name };
                self.add(&symbol.name, kind, &symbol.kind.to_string(), role_noun(symbol.role));
            }
        }
        if probe.speaks() {
            for word in KEYWORDS.into_iter().filter(|word| fits(word)) {
                self.add(word, CompletionKind::Word, "", "");
            }
        }
        // A comprehension's variable is a name too.
        for variable in text.split("for ").skip(1).filter_map(|rest| rest.split_whitespace().next()) {
            let is_name = variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if is_name && variable != MARK && scope.get(variable).is_none() && fits(variable) {
                self.add(variable, CompletionKind::Name, "", "variable");
            }
        }
        for word in ["True", "False", "None", "inf"] {
            let is_yaml = holds == Holds::Condition && self.quotes_calls;
            if !is_yaml && holds != Holds::TensorDType && !matches!(holds, Holds::Shape(_)) && fits(word) {
                self.add(word, CompletionKind::Word, "", "");
            }
        }
        if before.trim_end().ends_with("present(") && scope.takes_out() {
            self.add("out", CompletionKind::Tensor, "the caller's buffer", "");
        }
        for builtin in builtins::all() {
            let result = match builtin.role {
                // What it gives is no set of two names.
                Role::Primitive { .. } if metadata => continue,
                Role::Primitive { gives, .. } => result_kind(gives),
                Role::Present => Kind::Bool,
                Role::Bytes if holds == Holds::Expression(Position::Roofline) => Kind::Dim,
                _ => continue,
            };
            if probe.defects(MARK, Some(result)) <= base {
                self.function(builtin, builtin.name);
            }
        }
        is_held
    }

    /// Whether a tensor is passed on every branch where the formula, with it for the cursor, reads its size.
    pub(super) fn is_passed(&self, name: &str, probe: &Probe<'_>) -> bool {
        const MOST: usize = 256;
        let Some(analysis) = &self.site.analysis else { return true };
        let checked = &analysis.checked;
        let is_absent = |point: &Point| {
            let branch = checked.branch(point);
            branch.tensor(name).is_some_and(|tensor| tensor.present == Some(false))
        };
        let names: Vec<Arc<str>> =
            checked.discriminants().iter().map(|discriminant| discriminant.name.clone()).collect();
        let absent: Vec<Point> = checked.points_over(&names, MOST).into_iter().filter(is_absent).collect();
        if absent.is_empty() {
            return true;
        }
        let text = probe.text.replace(MARK, name);
        let range = TextRange::up_to(TextSize::of(&*text));
        let expr = parse_expression(&Scalar::plain(&text), range, "", &mut Findings::default());
        absent.iter().all(|point| !reads_size(&fold(&expr, &checked.branch(point).point), name))
    }

    /// The functions that take the arguments that are there already; where there are none yet, those whose result fits.
    pub(super) fn callees(&mut self, probe: &Probe<'_>, before: &str, is_empty: bool) {
        let chain =
            before.rsplit(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))).next().unwrap_or("");
        let unknown = probe.defects(MARK, None);
        for builtin in builtins::all() {
            let Some(rest) = builtin.name.strip_prefix(chain) else { continue };
            // An unknown function is one mistake; one that is known has none, or is no better.
            let is_due = probe.defects(rest, None) < unknown.max(1);
            let could_be = is_empty && probe.defects(rest, None) <= unknown;
            if (is_due || could_be)
                && let Some(item) = self.add(rest, CompletionKind::Function, &builtin.signature(), "")
            {
                item.topic = Some(Topic::Builtin(builtin.name));
            }
        }
    }

    /// `name` is what of the built-in's name is still to be written. One whose arguments the scalar's style cannot bear is
    /// not offered.
    pub(super) fn function(&mut self, builtin: &'static Builtin, name: &str) {
        let required = builtin.params.iter().filter(|p| matches!(p.passing, Passing::Required | Passing::Variadic));
        let names: Vec<String> = required.enumerate().map(|(i, p)| format!("${{{}:{}}}", i + 1, p.name)).collect();
        let quotes = self.quotes_calls;
        if names.len() > 1 && !quotes && !self.bears_commas {
            return;
        }
        if let Some(item) = self.add(name, CompletionKind::Function, &builtin.signature(), "") {
            item.topic = Some(Topic::Builtin(builtin.name));
            item.snippet = Some(match quotes {
                true => format!("\"{name}({})\"", names.join(", ")),
                false => format!("{name}({})", names.join(", ")),
            });
        }
    }
}

/// The function whose arguments `before` ends in.
pub(super) fn call_around(before: &str) -> Option<&str> {
    let mut depth = 0_usize;
    let open = before.char_indices().rev().find_map(|(at, c)| {
        match c {
            ')' | ']' => depth += 1,
            '(' | '[' if depth > 0 => depth -= 1,
            '(' => return Some(at),
            _ => {}
        }
        None
    })?;
    let name = before.get(..open)?.rsplit(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))).next();
    name.filter(|name| !name.is_empty())
}

/// What closes the brackets that are open behind an expression.
fn brackets(text: &str) -> String {
    let mut open: Vec<char> = Vec::new();
    for c in text.chars() {
        match c {
            '(' => open.push(')'),
            '[' => open.push(']'),
            ')' | ']' if open.last() == Some(&c) => {
                open.pop();
            }
            _ => {}
        }
    }
    open.iter().rev().collect()
}

/// Whether the place takes anything at all, so that trying out tells nothing.
fn probe_is_loose(probe: &Probe<'_>, base: usize) -> bool {
    probe.defects("'zz no member zz'", None) <= base && !probe.text.contains('\'')
}

fn result_kind(gives: Gives) -> Kind {
    match gives {
        Gives::Dim | Gives::DimOfDims => Kind::Dim,
        Gives::Int => Kind::Int,
        Gives::Bool => Kind::Bool,
        Gives::Shape => Kind::Shape,
        Gives::SeqInt => Kind::Seq(Box::new(Kind::Int), None),
        Gives::Promoted | Gives::Coalesced => Kind::DType(DTypeSet::ALL),
        Gives::Category => Kind::Enum(Literals::from(["bool".into(), "int".into(), "float".into(), "complex".into()])),
    }
}

/// Whether an expression reads `bytes(name)`.
fn reads_size(expr: &Expr, name: &str) -> bool {
    let mut open = vec![expr];
    while let Some(expr) = open.pop() {
        if let ExprKind::Call(call) = &expr.kind
            && &*call.callee.value == "bytes"
            && call.args.first().and_then(Expr::as_name) == Some(name)
        {
            return true;
        }
        expr.for_each_child(&mut |child| open.push(child));
    }
    false
}
