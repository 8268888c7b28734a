//! `check_call`: presence, the inference plan as straight-line code, output shapes.

use std::sync::Arc;

use tileops_analyzer::analysis::EntryAnalysis;
use tileops_analyzer::check::{Anchor, Branch, Place as At, Step, SymbolRole};
use tileops_analyzer::defect::axes_word;
use tileops_analyzer::eval::free_names;
use tileops_analyzer::expr::{Axis, Expr, ExprKind, Level};
use tileops_analyzer::lang::{DType, Kind};
use tileops_analyzer::model::{Condition, Fact, Signature, Tensor, TensorRole};

use super::expr::{Place, Printer, attribute, braced, identifier, string};
use super::outline::spread;
use super::stmt::Stmt;
use super::tree::{Arms, branches};
use super::{declared, header, refuse};
use crate::layout::{Doc, flat};
use crate::shared::{MOST_POINTS, can_fail, deciding, restrictions, tensors};

/// The local that holds what is known of a tensor.
fn info(name: &str) -> String {
    format!("{}_info", identifier(name))
}

/// What a tensor passed in is in the method.
fn place_of(tensor: &Tensor) -> String {
    match tensor.role {
        TensorRole::Construction => format!("self.{}", attribute(&tensor.name.value)),
        _ => identifier(&tensor.name.value),
    }
}

pub(super) fn method(analysis: &EntryAnalysis) -> Result<Vec<Stmt>, String> {
    let Some(signature) = analysis.entry.signature.valid() else { return Err("it has no signature".to_owned()) };
    let printer = Printer { scope: &analysis.scope, place: Place::Check, fields: None };
    for tensor in tensors(signature) {
        let name = &tensor.name.value;
        let locals = [info(name), format!("{name}_shape")];
        if let Some(local) =
            locals.iter().find(|local| analysis.scope.get(local).is_some_and(|s| s.role != SymbolRole::Param))
        {
            return Err(format!(
                "`{local}` is what the emitted code calls a part of `{name}`; one of them needs another name"
            ));
        }
    }
    let mut parameters = vec![Doc::text("self")];
    let mut defaulted = false;
    for input in signature.inputs.items() {
        let name = identifier(&input.name.value);
        defaulted |= matches!(input.optional, Fact::Valid(Condition::Always(true) | Condition::When(_), _));
        parameters.push(Doc::text(match defaulted {
            true => format!("{name}: TensorLike | None = None"),
            false => format!("{name}: TensorLike"),
        }));
    }
    if analysis.scope.takes_out() {
        parameters.push(Doc::text("out: TensorLike | None = None"));
    }
    let mut body = vec![Stmt::line("\"\"\"Checks a call and remembers it; what is wrong is a `ContractError`.\"\"\"")];
    for tensor in tensors(signature).filter(|tensor| tensor.role != TensorRole::Output) {
        presence(tensor, printer, &mut body);
    }
    for rule in restrictions(analysis).into_iter().filter(|rule| !rule.params_only) {
        body.push(rule_check(printer, rule.expr, rule.expr, &rule.path));
    }
    let points = analysis.checked.points_over(&deciding(analysis, signature), MOST_POINTS + 1);
    if points.len() > MOST_POINTS {
        return Err(format!("its signature has more than {MOST_POINTS} branches"));
    }
    let mut arms: Arms = Vec::new();
    for point in points {
        let branch = analysis.checked.branch(&point);
        let arm = Arm { analysis, signature, branch: &branch, printer, body: Vec::new(), known: Vec::new() };
        arms.push((point, arm.statements()?));
    }
    body.extend(branches(arms, printer));
    remember(analysis, signature, &mut body);
    Ok(vec![Stmt::Block(header("check_call", parameters, "None"), body)])
}

/// Whether a tensor is passed where it has to be, and what is read of it.
fn presence(tensor: &Tensor, printer: Printer<'_>, body: &mut Vec<Stmt>) {
    let name = &*tensor.name.value;
    let (place, info) = (place_of(tensor), info(name));
    let read = tensor_of(&tensor.path, &place);
    match &tensor.optional {
        Fact::Valid(Condition::Always(true), _) => {
            body.push(read_optional(&info, &place, read));
        }
        Fact::Valid(Condition::When(formula), _) => {
            let condition = printer.expr(&formula.expr, Level::Operand);
            let passed = Doc::text(format!("({place} is not None) != "));
            body.push(Stmt::when(
                Doc::Cat(vec![passed, condition]),
                vec![refuse(
                    &format!("{}.optional", tensor.path),
                    &format!("`{name}` is passed exactly where `{}`", braced(&formula.expr.to_string())),
                )],
            ));
            body.push(read_optional(&info, &place, read));
        }
        _ => {
            body.push(Stmt::when(
                Doc::text(format!("{place} is None")),
                vec![refuse(&tensor.path, &format!("`{name}` is not passed"))],
            ));
            body.push(Stmt::Simple(Doc::Cat(vec![Doc::text(format!("{info} = ")), read])));
        }
    }
}

/// What is read of the tensor that `path` declares.
fn tensor_of(path: &str, place: &str) -> Doc {
    Doc::list("self._tensor(", vec![Doc::text(string(path)), Doc::text(place)], ")")
}

/// Reads a tensor where it is passed.
fn read_optional(info: &str, place: &str, read: Doc) -> Stmt {
    let value = Doc::Cat(vec![
        Doc::text("None"),
        Doc::Space,
        Doc::text(format!("if {place} is None")),
        Doc::Space,
        Doc::text("else "),
        read,
    ]);
    Stmt::Simple(spread(&format!("{info} = "), value, ""))
}

fn rule_check(printer: Printer<'_>, rule: &Expr, written: &Expr, path: &str) -> Stmt {
    let message = format!("`{}` does not hold", braced(&written.to_string()));
    let refusal = refuse(path, &message);
    let check = Stmt::when(printer.bare(&rule.negated()), vec![refusal]);
    declared(path, check, can_fail(rule))
}

/// The end of the method: the buffer that the caller passes, and the call that is remembered.
fn remember(analysis: &EntryAnalysis, signature: &Signature, body: &mut Vec<Stmt>) {
    let takes_out = analysis.scope.takes_out();
    if takes_out {
        let buffered = signature.outputs.items().iter().find(|output| output.buffer.valid().is_some());
        if let Some(output) = buffered {
            let name = &*output.name.value;
            let path = format!("{}.buffer", output.path);
            body.push(read_optional("out_info", "out", tensor_of(&path, "out")));
            body.push(Stmt::when(
                Doc::text(format!("out_info is not None and out_info != outputs[{}]", string(name))),
                vec![refuse(
                    &path,
                    &format!("`out` is {{out_info}}, and `{}` is {{outputs['{}']}}", braced(name), name),
                )],
            ));
        }
    }
    let params: Vec<Doc> = analysis
        .scope
        .iter()
        .filter(|symbol| symbol.role == SymbolRole::Param)
        .map(|symbol| Doc::text(format!("{}: self.{}", string(&symbol.name), attribute(&symbol.name))))
        .collect();
    let mut passed: Vec<Doc> = tensors(signature)
        .filter(|tensor| tensor.role != TensorRole::Output)
        .map(|tensor| Doc::text(format!("{}: {}", string(&tensor.name.value), info(&tensor.name.value))))
        .collect();
    passed.push(Doc::text("**outputs"));
    let values: Vec<Doc> = tensors(signature)
        .filter(|tensor| tensor.values.valid().is_some())
        .map(|tensor| Doc::text(format!("{}: {}", string(&tensor.name.value), place_of(tensor))))
        .collect();
    let mut arguments = vec![
        Doc::text("self.NAME"),
        Doc::Cat(vec![Doc::text("params="), Doc::display("{", params, "}")]),
        Doc::text("indices=solved"),
        Doc::Cat(vec![Doc::text("tensors="), Doc::display("{", passed, "}")]),
    ];
    if !values.is_empty() {
        arguments.push(Doc::Cat(vec![Doc::text("values="), Doc::display("{", values, "}")]));
    }
    if takes_out {
        arguments.push(Doc::text("out=out_info"));
    }
    body.push(Stmt::Simple(Doc::list("self.last_call = CheckedCall(", arguments, ")")));
}

/// The statements of one point.
struct Arm<'a> {
    analysis: &'a EntryAnalysis,
    signature: &'a Signature,
    branch: &'a Branch,
    printer: Printer<'a>,
    body: Vec<Stmt>,
    /// The indices and `let`s that have a value.
    known: Vec<Arc<str>>,
}

impl Arm<'_> {
    fn statements(mut self) -> Result<Vec<Stmt>, String> {
        let branch = self.branch;
        for step in &branch.plan.steps {
            self.step(step);
        }
        self.other_lets();
        if let Some(index) = branch.solved_by_generator.iter().find(|index| {
            let seq = matches!(self.analysis.scope.get(index).map(|s| &s.kind), Some(Kind::Seq(..)));
            !seq && !self.known.contains(index)
        }) {
            return Err(format!("no tensor's shape says what `{index}` is"));
        }
        self.combos();
        let names: Vec<Doc> = self
            .analysis
            .scope
            .iter()
            .filter(|symbol| self.known.contains(&symbol.name))
            .map(|symbol| Doc::text(format!("{}: {}", string(&symbol.name), identifier(&symbol.name))))
            .collect();
        self.body.push(Stmt::Simple(Doc::display("solved = {", names, "}")));
        self.outputs()?;
        Ok(self.body)
    }

    fn path_of(&self, tensor: &str) -> Arc<str> {
        self.branch.tensor(tensor).map_or_else(|| Arc::from(tensor), |tensor| tensor.path.clone())
    }

    /// How many axes `axes` are together: the plain ones, and the lengths of the splices.
    fn length(&self, axes: &[Axis]) -> (usize, Vec<Doc>) {
        let plain = axes.iter().filter(|axis| matches!(axis, Axis::One(_))).count();
        let splices = axes.iter().filter_map(|axis| match axis {
            Axis::Splice(expr) => {
                Some(Doc::Cat(vec![Doc::text("len("), self.printer.expr(expr, Level::Any), Doc::text(")")]))
            }
            Axis::One(_) => None,
        });
        (plain, splices.collect())
    }

    fn sum(plain: usize, splices: &[Doc]) -> Doc {
        let mut docs: Vec<Doc> = Vec::new();
        if plain > 0 || splices.is_empty() {
            docs.push(Doc::text(plain.to_string()));
        }
        for splice in splices {
            if !docs.is_empty() {
                docs.push(Doc::text(" + "));
            }
            docs.push(splice.clone());
        }
        Doc::Cat(docs)
    }

    /// The extent at a place that is one axis: as code, as a message shows the axis, and whether it may be out of range.
    fn extent(&self, at: &At) -> (Doc, String, bool) {
        let info = info(&at.tensor);
        let (before, behind) =
            (at.axes.get(..at.item).unwrap_or_default(), at.axes.get(at.item + 1..).unwrap_or_default());
        let (position, text) = match at.anchor {
            Anchor::Left => {
                let (plain, splices) = self.length(before);
                let text = if splices.is_empty() { plain.to_string() } else { String::new() };
                (Self::sum(plain, &splices), text)
            }
            Anchor::Right => {
                let (plain, splices) = self.length(behind);
                let count = Self::sum(plain + 1, &splices);
                if splices.is_empty() {
                    (Doc::Cat(vec![Doc::text("-"), count]), format!("-{}", plain + 1))
                } else {
                    (Doc::Cat(vec![Doc::text("-("), count, Doc::text(")")]), String::new())
                }
            }
        };
        let open = text.is_empty();
        let shown =
            if open { format!("an axis of `{}`", at.tensor) } else { format!("axis {text} of `{}`", at.tensor) };
        (Doc::Cat(vec![Doc::text(format!("{info}.shape[")), position, Doc::text("]")]), shown, open)
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::CheckRank { tensor, fixed, open, .. } => {
                let (info, path) = (info(tensor), format!("{}.shape", self.path_of(tensor)));
                let (test, due) = match open {
                    true if *fixed == 0 => return,
                    true => (format!("len({info}.shape) < {fixed}"), format!("at least {}", axes_word(*fixed))),
                    false => (format!("len({info}.shape) != {fixed}"), axes_word(*fixed)),
                };
                let message = format!("`{tensor}` has the shape {{show({info}.shape)}}, and must have {due}");
                self.body.push(Stmt::when(Doc::text(test), vec![refuse(&path, &message)]));
            }
            Step::CheckLength { tensor, axes, .. } => {
                let (info, path) = (info(tensor), format!("{}.shape", self.path_of(tensor)));
                let (plain, splices) = self.length(axes);
                let test = Doc::Cat(vec![Doc::text(format!("len({info}.shape) != ")), Self::sum(plain, &splices)]);
                let message =
                    format!("`{tensor}` has the shape {{show({info}.shape)}}, which has too many or too few axes");
                let can_fail = axes.iter().any(|(Axis::One(expr) | Axis::Splice(expr))| can_fail(expr));
                self.body.push(declared(&path, Stmt::when(test, vec![refuse(&path, &message)]), can_fail));
            }
            Step::BindAxis { place, index, coefficient, offset } => {
                self.bind_axis(place, index, *coefficient, offset.as_deref())
            }
            Step::CheckAxis { place } => {
                let Some(expr) = place.expr() else { return };
                let path = format!("{}.shape", self.path_of(&place.tensor));
                let (extent, shown, open) = self.extent(place);
                let (due, value) = self.expected(expr, &path, "expected = ");
                let found = if open { "another".to_owned() } else { format!("{{{}}}", flat(&extent)) };
                let due_is = match &expr.kind {
                    ExprKind::Int(_) => String::new(),
                    _ => format!(", and `{}` is {{{value}}}", braced(&expr.to_string())),
                };
                let must = if due_is.is_empty() { format!(", and must be {value}") } else { due_is };
                let test = Doc::Cat(vec![extent, Doc::text(" != "), due]);
                let check = Stmt::when(test, vec![refuse(&path, &format!("{shown} is {found}{must}"))]);
                self.body.push(declared(&path, check, open));
            }
            Step::BindSplice { place, index } => self.bind_splice(place, index),
            Step::CheckSplice { place } => {
                let Some(expr) = place.expr() else { return };
                let path = format!("{}.shape", self.path_of(&place.tensor));
                let (due, value) = self.expected(expr, &path, "expected = ");
                let info = info(&place.tensor);
                let before = place.axes.get(..place.item).unwrap_or_default();
                let behind = place.axes.get(place.item + 1..).unwrap_or_default();
                let slice = match place.anchor {
                    Anchor::Left => {
                        let (plain, splices) = self.length(before);
                        if plain == 0 && splices.is_empty() {
                            Doc::text(format!("{info}.shape[: len({value})]"))
                        } else {
                            let start = flat(&Self::sum(plain, &splices));
                            Doc::text(format!("{info}.shape[{start} : {start} + len({value})]"))
                        }
                    }
                    Anchor::Right => {
                        let (plain, splices) = self.length(behind);
                        Doc::text(format!("last({info}.shape, len({value}), {})", flat(&Self::sum(plain, &splices))))
                    }
                };
                let message = format!(
                    "`{}` has the shape {{show({info}.shape)}}, and `{}` is {{show({value})}}",
                    place.tensor,
                    braced(&expr.to_string())
                );
                let test = Doc::Cat(vec![slice, Doc::text(" != "), due]);
                self.body.push(Stmt::when(test, vec![refuse(&path, &message)]));
            }
            Step::BindDType { tensor, index, .. } => {
                let (own, path) = (identifier(index), format!("{}.dtype", self.path_of(tensor)));
                self.body.push(Stmt::line(format!("{own} = {}.dtype", info(tensor))));
                if let Some(Kind::DType(set)) = self.analysis.scope.get(index).map(|symbol| &symbol.kind) {
                    let names: Vec<&str> = set.iter().map(DType::name).collect();
                    let texts: Vec<Doc> = names.iter().map(|name| Doc::text(string(name))).collect();
                    let test = match texts.as_slice() {
                        [one] => Doc::Cat(vec![Doc::text(format!("{own} != ")), one.clone()]),
                        _ => Doc::Cat(vec![Doc::text(format!("{own} not in ")), Doc::display("(", texts, ")")]),
                    };
                    let message = format!("`{tensor}` is `{{{own}}}`, and `{index}` is {}", names.join(" or "));
                    self.body.push(Stmt::when(test, vec![refuse(&path, &message)]));
                }
                self.known.push(index.clone());
            }
            Step::CheckDType { tensor, dtype } => {
                let (info, path) = (info(tensor), format!("{}.dtype", self.path_of(tensor)));
                let (due, value) = self.expected(dtype, &path, "expected = ");
                let test = Doc::Cat(vec![Doc::text(format!("{info}.dtype != ")), due]);
                let literal = value.starts_with('"');
                let due = match literal {
                    true => format!("and must be `{}`", value.trim_matches('"')),
                    false => format!("and `{}` is `{{{value}}}`", braced(&dtype.to_string())),
                };
                let message = format!("`{tensor}` is `{{{info}.dtype}}`, {due}");
                self.body.push(Stmt::when(test, vec![refuse(&path, &message)]));
            }
            Step::Let { name, value } => self.bind_let(name, value),
            Step::Rule { rule } => {
                let found =
                    self.branch.rules.iter().find(|other| Arc::ptr_eq(&other.expr, rule) || other.expr == *rule);
                let position = found.map(|rule| rule.position);
                let path = found.map_or_else(|| Arc::from("signature.shape_rules"), |rule| rule.path.clone());
                let written = position
                    .and_then(|position| self.signature.shape_rules.items().get(position))
                    .and_then(Fact::valid)
                    .map_or(&**rule, |formula| &formula.expr);
                let check = rule_check(self.printer, rule, written, &path);
                self.body.push(check);
            }
        }
    }

    /// What is expected, as an operand: the expression itself where it is a name or a literal, else a local.
    fn expected(&mut self, expr: &Expr, path: &str, prefix: &str) -> (Doc, String) {
        if matches!(expr.kind, ExprKind::Name(_) | ExprKind::Int(_) | ExprKind::Str(_)) {
            let doc = self.printer.expr(expr, Level::Operand);
            let text = flat(&doc);
            return (doc, text);
        }
        let assign = Stmt::Simple(self.printer.statement(prefix, expr));
        self.body.push(declared(path, assign, can_fail(expr)));
        (Doc::text("expected"), "expected".to_owned())
    }

    fn bind_let(&mut self, name: &Arc<str>, value: &Expr) {
        let path = format!("signature.let.{name}");
        let assign = Stmt::Simple(self.printer.statement(&format!("{} = ", identifier(name)), value));
        self.body.push(declared(&path, assign, can_fail(value)));
        self.known.push(name.clone());
    }

    fn bind_axis(&mut self, at: &At, index: &Arc<str>, coefficient: i128, offset: Option<&Expr>) {
        let Some(expr) = at.expr() else { return };
        let path = format!("{}.shape", self.path_of(&at.tensor));
        let own = identifier(index);
        let (extent, shown, open) = self.extent(at);
        let text = flat(&extent);
        let difference = match offset {
            Some(offset) => format!("{text} - {}", flat(&self.printer.expr(offset, Level::Product))),
            None => text.clone(),
        };
        let can_fail = open || offset.is_some_and(can_fail);
        let found = if open { "another extent".to_owned() } else { format!("{{{text}}}") };
        let refusal = refuse(&path, &format!("{shown} is {found}, which `{}` cannot be", braced(&expr.to_string())));
        if coefficient == 1 {
            self.body.push(declared(&path, Stmt::line(format!("{own} = {difference}")), can_fail));
            if offset.is_some() {
                self.body.push(Stmt::when(Doc::text(format!("{own} < 0")), vec![refusal]));
            }
        } else {
            let assign = Stmt::line(format!("{own}, rest = divmod({difference}, {coefficient})"));
            self.body.push(declared(&path, assign, can_fail));
            self.body.push(Stmt::when(Doc::text(format!("rest != 0 or {own} < 0")), vec![refusal]));
        }
        self.known.push(index.clone());
    }

    fn bind_splice(&mut self, at: &At, index: &Arc<str>) {
        let (before, more_before) = self.length(at.axes.get(..at.item).unwrap_or_default());
        let (behind, more_behind) = self.length(at.axes.get(at.item + 1..).unwrap_or_default());
        let (own, info) = (identifier(index), info(&at.tensor));
        let assign = if more_before.is_empty() && more_behind.is_empty() {
            match (before, behind) {
                (0, 0) => format!("{own} = {info}.shape"),
                (0, behind) => format!("{own} = {info}.shape[:-{behind}]"),
                (before, 0) => format!("{own} = {info}.shape[{before}:]"),
                (before, behind) => format!("{own} = {info}.shape[{before}:-{behind}]"),
            }
        } else {
            let path = format!("{}.shape", self.path_of(&at.tensor));
            let others: Vec<Doc> = more_before.iter().chain(&more_behind).cloned().collect();
            let least = flat(&Self::sum(before + behind, &others));
            let message = format!("`{}` has the shape {{show({info}.shape)}}, which has too few axes", at.tensor);
            self.body
                .push(Stmt::when(Doc::text(format!("len({info}.shape) < {least}")), vec![refuse(&path, &message)]));
            let start = flat(&Self::sum(before, &more_before));
            let end = match (behind, more_behind.as_slice()) {
                (0, []) => String::new(),
                (behind, []) => format!(" len({info}.shape) - {behind}"),
                (0, [one]) => format!(" len({info}.shape) - {}", flat(one)),
                (behind, more) => format!(" len({info}.shape) - ({})", flat(&Self::sum(behind, more))),
            };
            match (start.as_str(), end.is_empty()) {
                ("0", _) => format!("{own} = {info}.shape[:{end}]"),
                (start, true) => format!("{own} = {info}.shape[{start} :]"),
                (start, false) => format!("{own} = {info}.shape[{start} :{end}]"),
            }
        };
        self.body.push(Stmt::line(assign));
        self.known.push(index.clone());
    }

    /// The `let`s that no check reads: formulas may.
    fn other_lets(&mut self) {
        let branch = self.branch;
        loop {
            let next = branch.lets.iter().find(|(name, value)| {
                !self.known.contains(name)
                    && free_names(value).iter().all(|read| {
                        let role = self.analysis.scope.get(read).map(|symbol| symbol.role);
                        match role {
                            Some(SymbolRole::Index | SymbolRole::Let) => self.known.contains(read),
                            Some(SymbolRole::Param | SymbolRole::Tensor(_)) | None => true,
                        }
                    })
            });
            let Some((name, value)) = next else { return };
            self.bind_let(name, value);
        }
    }

    fn combos(&mut self) {
        let combos = self.signature.dtype_combos.items();
        let Some(first) = combos.iter().find_map(Fact::valid) else { return };
        let columns: Vec<&Arc<str>> = first.columns.iter().map(|(name, _)| &name.value).collect();
        let tuple = |items: Vec<String>| {
            let comma = if items.len() == 1 { "," } else { "" };
            format!("({}{comma})", items.join(", "))
        };
        let rows: Vec<Doc> = combos
            .iter()
            .filter_map(Fact::valid)
            .map(|combo| {
                let cell = |column: &&Arc<str>| {
                    let dtype = combo.columns.iter().find(|(name, _)| name.value == **column);
                    string(dtype.and_then(|(_, dtype)| dtype.valid()).map_or("", |dtype| dtype.name()))
                };
                Doc::text(tuple(columns.iter().map(cell).collect()))
            })
            .collect();
        let names: Vec<String> = columns.iter().map(|name| self.printer.name(name)).collect();
        let shown: Vec<String> =
            columns.iter().zip(&names).map(|(column, name)| format!("`{column}` is `{{{name}}}`")).collect();
        let all = match rows.as_slice() {
            [one] => Doc::Cat(vec![Doc::text("("), one.clone(), Doc::text(",)")]),
            _ => Doc::display("(", rows, ")"),
        };
        let test = Doc::Cat(vec![Doc::text(format!("{} not in ", tuple(names))), all]);
        let message = format!("{}, which no row admits", shown.join(" and "));
        self.body.push(Stmt::when(test, vec![refuse("signature.dtype_combos", &message)]));
    }

    fn outputs(&mut self) -> Result<(), String> {
        let branch = self.branch;
        let mut items = Vec::new();
        for output in branch.tensors.iter().filter(|tensor| tensor.role == TensorRole::Output) {
            let name = &output.name;
            let key = string(name);
            match output.present {
                Some(false) => {
                    items.push(Doc::text(format!("{key}: None")));
                    continue;
                }
                None => return Err(format!("nothing decides whether `{name}` is emitted")),
                Some(true) => {}
            }
            let (Some(axes), Some(dtype)) = (&output.axes, &output.dtype) else {
                return Err(format!("the shape or dtype of `{name}` is not known"));
            };
            for read in axes.iter().flat_map(|(Axis::One(expr) | Axis::Splice(expr))| free_names(expr)) {
                let role = self.analysis.scope.get(&read).map(|symbol| symbol.role);
                if matches!(role, Some(SymbolRole::Index | SymbolRole::Let)) && !self.known.contains(&read) {
                    return Err(format!("the shape of `{name}` reads `{read}`, which no input solves"));
                }
            }
            let path = format!("{}.shape", output.path);
            let (shape, natural) = self.shape(axes);
            let dtype = self.printer.expr(dtype, Level::Any);
            let shape = match natural {
                true => shape,
                false => {
                    let local = format!("{name}_shape");
                    let assign = Doc::list(format!("{local} = extents("), vec![shape], ")");
                    self.body.push(declared(&path, Stmt::Simple(assign), true));
                    Doc::text(local)
                }
            };
            items
                .push(Doc::Cat(vec![Doc::text(format!("{key}: ")), Doc::list("TensorInfo(", vec![shape, dtype], ")")]));
        }
        self.body.push(Stmt::Simple(Doc::display("outputs: dict[str, TensorInfo | None] = {", items, "}")));
        Ok(())
    }

    /// A shape as a tuple, and whether it is one without a check.
    fn shape(&self, axes: &[Axis]) -> (Doc, bool) {
        let natural = |expr: &Expr| match &expr.kind {
            ExprKind::Int(value) => *value >= 0,
            ExprKind::Name(name) => {
                let symbol = self.analysis.scope.get(name);
                let role = symbol.map(|symbol| symbol.role);
                role == Some(SymbolRole::Index) && matches!(symbol.map(|s| &s.kind), Some(Kind::Dim | Kind::Shape))
            }
            _ => false,
        };
        let plain = axes.iter().all(|(Axis::One(expr) | Axis::Splice(expr))| natural(expr));
        if let [Axis::Splice(expr)] = axes {
            return (self.printer.expr(expr, Level::Any), plain);
        }
        let items: Vec<Doc> = axes
            .iter()
            .map(|axis| match axis {
                Axis::One(expr) => self.printer.expr(expr, Level::Any),
                Axis::Splice(expr) => Doc::Cat(vec![Doc::text("*"), self.printer.expr(expr, Level::Operand)]),
            })
            .collect();
        let doc = match items.as_slice() {
            [one] => Doc::Cat(vec![Doc::text("("), one.clone(), Doc::text(",)")]),
            _ => Doc::display("(", items, ")"),
        };
        (doc, plain)
    }
}
