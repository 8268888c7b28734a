//! `check_call`: presence, the inference plan as straight-line code, output shapes.

use std::sync::Arc;

use tileops_analyzer::analysis::EntryAnalysis;
use tileops_analyzer::check::{Anchor, Assignment, Branch, Place as At, Point, Step, SymbolRole};
use tileops_analyzer::eval::free_names;
use tileops_analyzer::expr::{Axis, Expr, ExprKind, Level};
use tileops_analyzer::lang::Kind;
use tileops_analyzer::model::{Condition, Fact, Signature, Tensor, TensorRole};

use super::construct;
use super::expr::{Before, HELD, Place, Printer, Ty, dtype_path, type_of};
use super::names::Names;
use super::stmt::{Stmt, bind, call, string};
use super::tree::{Arms, Holder, branches, resolve, settle, unmarked};
use crate::layout::Doc;
use crate::shared::{MOST_POINTS, deciding, restrictions, tensors};

/// `op.check(arguments)?;`
fn check(method: &str, arguments: Vec<Doc>) -> Stmt {
    Stmt::Expr(call(format!("op.{method}("), arguments, ")?;"))
}

/// The condition of a declaration, as a check, behind what it needs.
pub(super) fn holds(path: &str, condition: &Expr, written: &Expr, printer: &Printer<'_>) -> Result<Vec<Stmt>, String> {
    printer.before.start(path);
    let condition = printer.boolean(condition)?;
    let mut statements = printer.before.take();
    let arguments = vec![Doc::text(string(path)), condition.doc, Doc::text(string(&written.to_string()))];
    statements.push(check("holds", arguments));
    Ok(statements)
}

pub(super) fn method(analysis: &EntryAnalysis, names: &Names) -> Result<Vec<Stmt>, String> {
    let Some(signature) = analysis.entry.signature.valid() else { return Err("it has no signature".to_owned()) };
    let before = Before::default();
    let printer =
        Printer { scope: &analysis.scope, names, place: Place::Check, narrowed: &[], fields: None, before: &before };
    let mut body = Vec::new();
    let taken: Vec<Doc> = signature
        .inputs
        .items()
        .iter()
        .map(|input| Doc::text(string(&input.name.value)))
        .chain(analysis.scope.takes_out().then(|| Doc::text("\"out\"")))
        .collect();
    let taken = Doc::Cat(vec![Doc::text("&"), call("[", taken, "]")]);
    body.push(check("takes", vec![Doc::text("arguments"), taken]));
    for tensor in tensors(signature).filter(|tensor| tensor.role != TensorRole::Output) {
        body.push(passed(tensor, names));
    }
    for tensor in tensors(signature).filter(|tensor| tensor.role != TensorRole::Output) {
        if let Fact::Valid(Condition::When(formula), _) = &tensor.optional {
            let path = format!("{}.optional", tensor.path);
            before.start(&path);
            let condition = printer.boolean(&formula.expr)?;
            body.extend(before.take());
            let own = Doc::text(names.get(&tensor.name.value));
            let text = Doc::text(string(&formula.expr.to_string()));
            body.push(check("passed_where", vec![Doc::text(string(&path)), own, condition.doc, text]));
        }
    }
    for rule in restrictions(analysis).into_iter().filter(|rule| !rule.params_only) {
        body.extend(holds(&rule.path, rule.expr, rule.expr, &printer)?);
    }
    let points = analysis.checked.points_over(&deciding(analysis, signature), MOST_POINTS + 1);
    if points.len() > MOST_POINTS {
        return Err(format!("its signature has more than {MOST_POINTS} branches"));
    }
    let mut arms: Arms = Vec::new();
    let mut known: Vec<Vec<Arc<str>>> = Vec::new();
    for point in points {
        let branch = analysis.checked.branch(&point);
        let narrowed = narrowed(&point);
        let printer = Printer { narrowed: &narrowed, ..printer };
        let arm = Arm { analysis, signature, branch: &branch, printer, body: Vec::new(), known: Vec::new() };
        let (statements, names) = arm.statements()?;
        known.push(names);
        arms.push((point, statements));
    }
    // What every point resolves is a list, what some do is added to it.
    for ((_, statements), own) in arms.iter_mut().zip(&known) {
        let item = |name: &Arc<str>| Doc::text(format!("({}, {}.into())", string(name), names.get(name)));
        let order = || analysis.scope.iter().map(|symbol| &symbol.name).filter(|name| own.contains(name));
        let (always, some): (Vec<_>, Vec<_>) = order().partition(|name| known.iter().all(|own| own.contains(name)));
        statements.push(Stmt::bind("indices", list(always.into_iter().map(item).collect())));
        for name in some {
            statements.push(Stmt::bind("indices", call("also(", vec![Doc::text("indices"), item(name)], ")")));
        }
        remember(analysis, signature, names, statements);
    }
    body.push(described(signature, names));
    let bound = body.iter().flat_map(Stmt::defines).cloned().collect();
    body.extend(branches(arms, &printer, true, &bound)?);
    let body = settle(unmarked(resolve(body, &holders(analysis, signature, names))));
    let mut statements = construct::locals(analysis, names, &body);
    statements.extend(body);
    Ok(statements)
}

/// The `Maybe` parameters that the point says are there.
pub(super) fn narrowed(point: &Point) -> Vec<Arc<str>> {
    let there = point.assignments.iter().filter(|(_, assignment)| *assignment == Assignment::Present(true));
    there.map(|(name, _)| name.clone()).collect()
}

/// The optional tensors and parameters, each with what refuses a call that lacks it where it is read.
fn holders(analysis: &EntryAnalysis, signature: &Signature, names: &Names) -> Vec<Holder> {
    let mut holders = Vec::new();
    for tensor in tensors(signature).filter(|tensor| is_optional(tensor)) {
        let name = names.get(&tensor.name.value);
        holders.push(Holder { held: format!("op.required({}, {name})?", string(&tensor.path)), name });
    }
    for symbol in analysis.scope.iter().filter(|symbol| symbol.role == SymbolRole::Param) {
        if matches!(type_of(&symbol.kind, Place::Check, false), Ty::Opt(_)) {
            let name = names.get(&symbol.name);
            let path = string(&format!("signature.params.{}", symbol.name));
            holders.push(Holder { held: format!("op.stated({path}, {name})?"), name });
        }
    }
    holders
}

fn is_optional(tensor: &Tensor) -> bool {
    tensor.role != TensorRole::Output
        && matches!(tensor.optional, Fact::Valid(Condition::Always(true) | Condition::When(_), _))
}

/// Reads a tensor, which is there where it has to be.
fn passed(tensor: &Tensor, names: &Names) -> Stmt {
    let own = names.get(&tensor.name.value);
    let place = match tensor.role {
        TensorRole::Construction => format!("self.{own}.as_ref()"),
        _ => format!("arguments.get({})", string(&tensor.name.value)),
    };
    let method = if is_optional(tensor) { "optional" } else { "required" };
    let arguments = vec![Doc::text(string(&tensor.path)), Doc::text(place)];
    Stmt::bind(&own, call(format!("op.{method}("), arguments, ")?"))
}

/// `vec![items]`
pub(super) fn list(items: Vec<Doc>) -> Doc {
    if items.is_empty() { Doc::text("Vec::new()") } else { call("vec![", items, "]") }
}

/// What is remembered of the tensors that are passed.
fn described(signature: &Signature, names: &Names) -> Stmt {
    let passed: Vec<Doc> = tensors(signature)
        .filter(|tensor| tensor.role != TensorRole::Output)
        .map(|tensor| {
            let own = names.get(&tensor.name.value);
            Doc::text(match is_optional(tensor) {
                true => format!("({}, {own}.map(Tensor::described))", string(&tensor.name.value)),
                false => format!("({}, Some({own}.described()))", string(&tensor.name.value)),
            })
        })
        .collect();
    Stmt::bind("tensors", list(passed))
}

/// The end of the method: the buffer that the caller passes, and the call that is given.
fn remember(analysis: &EntryAnalysis, signature: &Signature, names: &Names, body: &mut Vec<Stmt>) {
    let params: Vec<Doc> = analysis
        .scope
        .iter()
        .filter(|symbol| symbol.role == SymbolRole::Param)
        .map(|symbol| {
            let own = names.get(&symbol.name);
            let owned = match &symbol.kind {
                kind if construct::is_copy(kind) => "into()",
                kind if construct::field_type(kind) == "Value" => "clone()",
                _ => "clone().into()",
            };
            Doc::text(format!("({}, self.{own}.{owned})", string(&symbol.name)))
        })
        .collect();
    body.push(Stmt::bind("params", list(params)));
    let made = Doc::text("CheckedCall::new(op.0, params, indices, tensors, outputs)");
    let buffered = signature.outputs.items().iter().find(|output| output.buffer.valid().is_some());
    match buffered {
        Some(output) => {
            let path = string(&format!("{}.buffer", output.path));
            body.push(Stmt::bind(
                "out",
                call("op.buffer(", vec![Doc::text(path), Doc::text("arguments.out()"), Doc::text("&outputs")], ")?"),
            ));
            body.push(Stmt::bind("call", made));
            body.push(Stmt::line("Ok(call.with_out(out))"));
        }
        None => body.push(Stmt::Expr(Doc::Cat(vec![Doc::text("Ok("), made, Doc::text(")")]))),
    }
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
    fn statements(mut self) -> Result<(Vec<Stmt>, Vec<Arc<str>>), String> {
        let branch = self.branch;
        for step in &branch.plan.steps {
            self.step(step)?;
        }
        self.other_lets()?;
        if let Some(index) = branch.solved_by_generator.iter().find(|index| {
            let seq = matches!(self.analysis.scope.get(index).map(|s| &s.kind), Some(Kind::Seq(..)));
            !seq && !self.known.contains(index)
        }) {
            return Err(format!("no tensor's shape says what `{index}` is"));
        }
        self.combos()?;
        self.outputs()?;
        Ok((self.body, self.known))
    }

    fn path_of(&self, tensor: &str) -> Arc<str> {
        self.branch.tensor(tensor).map_or_else(|| Arc::from(tensor), |tensor| tensor.path.clone())
    }

    fn own(&self, name: &str) -> String {
        self.printer.names.get(name)
    }

    /// A tensor that is there at this point.
    fn tensor(&self, name: &str) -> String {
        let own = self.own(name);
        let declared = tensors(self.signature).find(|tensor| &*tensor.name.value == name);
        if declared.is_some_and(is_optional) { format!("{own}{HELD}") } else { own }
    }

    /// What stands before an expression of the declaration `path`, and the expression.
    fn printed<T>(&mut self, path: &str, print: impl FnOnce(&Printer<'_>) -> Result<T, String>) -> Result<T, String> {
        self.printer.before.start(path);
        let printed = print(&self.printer)?;
        self.body.extend(self.printer.before.take());
        Ok(printed)
    }

    /// How many axes `axes` are together, as a `usize`.
    fn length(&mut self, axes: &[Axis]) -> Result<String, String> {
        let plain = axes.iter().filter(|axis| matches!(axis, Axis::One(_))).count();
        let mut terms = Vec::new();
        for axis in axes {
            if let Axis::Splice(expr) = axis {
                terms.push(self.splice_length(expr)?);
            }
        }
        if plain > 0 || terms.is_empty() {
            terms.push(plain.to_string());
        }
        Ok(terms.join(" + "))
    }

    fn splice_length(&mut self, expr: &Expr) -> Result<String, String> {
        match &expr.kind {
            ExprKind::Name(name) => Ok(format!("{}.len()", self.own(name))),
            ExprKind::Tuple(items) => Ok(items.len().to_string()),
            _ => {
                let path = self.printer.before.path();
                let code = self.printed(&path, |printer| printer.expr(expr))?;
                match code.ty {
                    Ty::Ints(_) => Ok(format!("{}.len()", crate::layout::flat(&code.at(Level::Primary)))),
                    _ => Err(format!("`{expr}` is no sequence of integers in Rust")),
                }
            }
        }
    }

    /// The extent at a place that is one axis. The rank was checked before.
    fn extent(&mut self, at: &At, path: &str) -> Result<Doc, String> {
        self.printer.before.start(path);
        let own = self.tensor(&at.tensor);
        let before = at.axes.get(..at.item).unwrap_or_default();
        let behind = at.axes.get(at.item + 1..).unwrap_or_default();
        let is_open = |axes: &[Axis]| axes.iter().any(|axis| matches!(axis, Axis::Splice(_)));
        let (axes, method) = match at.anchor {
            Anchor::Left => (before, "extent"),
            Anchor::Right => (behind, "extent_from_end"),
        };
        let position = self.length(axes)?;
        if at.anchor == Anchor::Left && !is_open(axes) {
            return Ok(Doc::text(format!("{own}.shape[{position}]")));
        }
        Ok(call(format!("op.{method}("), vec![Doc::text(string(path)), Doc::text(own), Doc::text(position)], ")?"))
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::CheckRank { tensor, fixed, open, .. } => {
                let path = string(&format!("{}.shape", self.path_of(tensor)));
                let method = match open {
                    true if *fixed == 0 => return Ok(()),
                    true => "rank_at_least",
                    false => "rank",
                };
                let own = self.tensor(tensor);
                self.body.push(check(method, vec![Doc::text(path), Doc::text(own), Doc::text(fixed.to_string())]));
            }
            Step::CheckLength { tensor, axes, .. } => {
                let path = format!("{}.shape", self.path_of(tensor));
                self.printer.before.start(&path);
                let (own, length) = (self.tensor(tensor), self.length(axes)?);
                self.body.push(check("rank", vec![Doc::text(string(&path)), Doc::text(own), Doc::text(length)]));
            }
            Step::BindAxis { place, index, coefficient, offset } => {
                let Some(expr) = place.expr() else { return Ok(()) };
                let path = format!("{}.shape", self.path_of(&place.tensor));
                let extent = self.extent(place, &path)?;
                let value = match (coefficient, offset) {
                    (1, None) => extent,
                    _ => {
                        let offset = match offset {
                            Some(offset) => self.integer(offset, &path)?,
                            None => Doc::text("0"),
                        };
                        let text = Doc::text(string(&expr.to_string()));
                        let path = Doc::text(string(&path));
                        call("op.solve(", vec![path, extent, Doc::text(coefficient.to_string()), offset, text], ")?")
                    }
                };
                self.body.push(Stmt::bind(&self.own(index), value));
                self.known.push(index.clone());
            }
            Step::CheckAxis { place } => {
                let Some(expr) = place.expr() else { return Ok(()) };
                let path = format!("{}.shape", self.path_of(&place.tensor));
                let due = self.integer(expr, &path)?;
                let extent = self.extent(place, &path)?;
                let text = Doc::text(string(&expr.to_string()));
                self.body.push(check("axis", vec![Doc::text(string(&path)), extent, due, text]));
            }
            Step::BindSplice { place, index } => {
                let path = format!("{}.shape", self.path_of(&place.tensor));
                self.printer.before.start(&path);
                let before = self.length(place.axes.get(..place.item).unwrap_or_default())?;
                let behind = self.length(place.axes.get(place.item + 1..).unwrap_or_default())?;
                let tensor = self.tensor(&place.tensor);
                let value = match (before.as_str(), behind.as_str()) {
                    ("0", "0") => Doc::text(format!("{tensor}.shape.clone()")),
                    _ => {
                        let arguments =
                            vec![Doc::text(string(&path)), Doc::text(tensor), Doc::text(before), Doc::text(behind)];
                        call("op.splice(", arguments, ")?")
                    }
                };
                self.body.push(Stmt::bind(&self.own(index), value));
                self.known.push(index.clone());
            }
            Step::CheckSplice { place } => {
                let Some(expr) = place.expr() else { return Ok(()) };
                let path = format!("{}.shape", self.path_of(&place.tensor));
                let due = self.printed(&path, |printer| printer.slice_of(printer.expr(expr)?))?;
                let (method, others) = match place.anchor {
                    Anchor::Left => ("axes", place.axes.get(..place.item)),
                    Anchor::Right => ("axes_from_end", place.axes.get(place.item + 1..)),
                };
                let position = self.length(others.unwrap_or_default())?;
                let text = Doc::text(string(&format!("*{expr}")));
                let own = Doc::text(self.tensor(&place.tensor));
                self.body.push(check(method, vec![Doc::text(string(&path)), own, Doc::text(position), due, text]));
            }
            Step::BindDType { tensor, index, .. } => {
                let path = string(&format!("{}.dtype", self.path_of(tensor)));
                let (tensor, own) = (Doc::text(self.tensor(tensor)), self.own(index));
                let kind = self.analysis.scope.get(index).map(|symbol| &symbol.kind);
                let Some(Kind::DType(set)) = kind else { return Err(format!("`{index}` is no dtype")) };
                let admitted = call("[", set.iter().map(|dtype| Doc::text(dtype_path(dtype))).collect(), "]");
                let admitted = Doc::Cat(vec![Doc::text("&"), admitted]);
                let arguments = vec![Doc::text(path), tensor, Doc::text(string(index)), admitted];
                self.body.push(Stmt::bind(&own, call("op.dtype(", arguments, ")?")));
                self.known.push(index.clone());
            }
            Step::CheckDType { tensor, dtype } => {
                let path = format!("{}.dtype", self.path_of(tensor));
                let due = self.printed(&path, |printer| printer.dtype(dtype))?.doc;
                let text = match &dtype.kind {
                    ExprKind::Str(text) => string(text),
                    _ => string(&dtype.to_string()),
                };
                let own = Doc::text(self.tensor(tensor));
                self.body.push(check("has_dtype", vec![Doc::text(string(&path)), own, due, Doc::text(text)]));
            }
            Step::Let { name, value } => self.bind_let(name, value)?,
            Step::Rule { rule } => {
                let found =
                    self.branch.rules.iter().find(|other| Arc::ptr_eq(&other.expr, rule) || other.expr == *rule);
                let path = found.map_or_else(|| Arc::from("signature.shape_rules"), |rule| rule.path.clone());
                let written = found
                    .and_then(|found| self.signature.shape_rules.items().get(found.position))
                    .and_then(Fact::valid)
                    .map_or(&**rule, |formula| &formula.expr);
                self.body.extend(holds(&path, rule, written, &self.printer)?);
            }
        }
        Ok(())
    }

    /// An integer that a check takes: checked arithmetic carries what fails.
    fn integer(&mut self, expr: &Expr, path: &str) -> Result<Doc, String> {
        Ok(self.printed(path, |printer| printer.number(expr))?.doc)
    }

    fn bind_let(&mut self, name: &Arc<str>, value: &Expr) -> Result<(), String> {
        let path = format!("signature.let.{name}");
        let kind = self.analysis.scope.get(name).map_or(&Kind::Error, |symbol| &symbol.kind);
        let own = self.own(name);
        let ty = type_of(kind, Place::Check, true);
        let bound = self.printed(&path, |printer| match ty {
            Ty::Plain | Ty::Int => printer.number(value).map(|code| match code.ty {
                Ty::Int => call("op.value(", vec![Doc::text(string(&path)), code.doc], ")?"),
                _ => code.doc,
            }),
            Ty::Bool => printer.boolean(value).map(|code| code.doc),
            Ty::DType => printer.dtype(value).map(|code| code.doc),
            Ty::Ints(_) => printer.vec_of(printer.expr(value)?),
            _ => printer.expr(value).map(|code| code.doc),
        })?;
        let before = self.printer.before;
        bind(&mut self.body, &own, bound, |local| before.made(local));
        self.known.push(name.clone());
        Ok(())
    }

    /// The `let`s that no check reads: formulas may.
    fn other_lets(&mut self) -> Result<(), String> {
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
            let Some((name, value)) = next else { return Ok(()) };
            self.bind_let(name, value)?;
        }
    }

    fn combos(&mut self) -> Result<(), String> {
        let combos = self.signature.dtype_combos.items();
        let Some(first) = combos.iter().find_map(Fact::valid) else { return Ok(()) };
        let columns: Vec<&Arc<str>> = first.columns.iter().map(|(name, _)| &name.value).collect();
        let rows: Vec<Doc> = combos
            .iter()
            .filter_map(Fact::valid)
            .map(|combo| {
                let cell = |column: &&Arc<str>| {
                    let dtype = combo.columns.iter().find(|(name, _)| name.value == **column);
                    let dtype = dtype.and_then(|(_, dtype)| dtype.valid());
                    dtype.map(|dtype| dtype_path(*dtype)).ok_or_else(|| format!("a row lacks `{column}`"))
                };
                let cells: Vec<String> = columns.iter().map(cell).collect::<Result<_, _>>()?;
                Ok(Doc::text(format!("&[{}]", cells.join(", "))))
            })
            .collect::<Result<_, String>>()?;
        let columns = columns.iter().map(|name| Doc::text(format!("({}, {})", string(name), self.own(name)))).collect();
        let array = |items: Vec<Doc>| Doc::Cat(vec![Doc::text("&"), call("[", items, "]")]);
        self.body.push(check("combination", vec![array(columns), array(rows)]));
        Ok(())
    }

    fn outputs(&mut self) -> Result<(), String> {
        let branch = self.branch;
        let mut items = Vec::new();
        for output in branch.tensors.iter().filter(|tensor| tensor.role == TensorRole::Output) {
            let name = &output.name;
            let own = self.own(name);
            let nullable =
                self.signature.outputs.items().iter().find(|tensor| tensor.name.value == *name).is_some_and(|tensor| {
                    !matches!(tensor.optional, Fact::Absent(_) | Fact::Valid(Condition::Always(false), _))
                });
            items.push(Doc::text(match nullable {
                true => format!("({}, {own})", string(name)),
                false => format!("({}, Some({own}))", string(name)),
            }));
            match output.present {
                Some(false) => {
                    self.body.push(Stmt::bind(&own, Doc::text("None")));
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
            let shape = self.shape(axes, &format!("{}.shape", output.path))?;
            let dtype = self.printed(&format!("{}.dtype", output.path), |printer| printer.dtype(dtype))?.doc;
            let made = call("Tensor::new(", vec![shape, dtype], ")");
            self.body.push(Stmt::bind(
                &own,
                if nullable { Doc::Cat(vec![Doc::text("Some("), made, Doc::text(")")]) } else { made },
            ));
        }
        self.body.push(Stmt::bind("outputs", list(items)));
        Ok(())
    }

    /// The shape of an output.
    fn shape(&mut self, axes: &[Axis], path: &str) -> Result<Doc, String> {
        let natural = |expr: &Expr| match &expr.kind {
            ExprKind::Int(value) => *value >= 0,
            ExprKind::Name(name) => {
                let symbol = self.analysis.scope.get(name);
                let role = symbol.map(|symbol| symbol.role);
                role == Some(SymbolRole::Index) && matches!(symbol.map(|s| &s.kind), Some(Kind::Dim | Kind::Shape))
            }
            _ => false,
        };
        if axes.iter().all(|axis| matches!(axis, Axis::One(expr) if natural(expr))) {
            let extents = axes.iter().map(|(Axis::One(expr) | Axis::Splice(expr))| self.printer.number(expr));
            let extents: Vec<Doc> = extents.map(|code| code.map(|code| code.doc)).collect::<Result<_, _>>()?;
            return Ok(call("vec![", extents, "]"));
        }
        if let [Axis::Splice(expr)] = axes
            && natural(expr)
        {
            let code = self.printer.expr(expr)?;
            return self.printer.vec_of(code);
        }
        let parts = self.printed(path, |printer| {
            let part = |axis: &Axis| match axis {
                Axis::One(expr) => Ok(call("one(", vec![printer.number(expr)?.doc], ")")),
                Axis::Splice(expr) => Ok(call("all(", vec![printer.slice_of(printer.expr(expr)?)?], ")")),
            };
            axes.iter().map(part).collect::<Result<Vec<Doc>, String>>()
        })?;
        let parts = Doc::Cat(vec![Doc::text("&"), call("[", parts, "]")]);
        Ok(call("op.shape(", vec![Doc::text(string(path)), parts], ")?"))
    }
}
