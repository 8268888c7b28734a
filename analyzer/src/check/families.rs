//! Type families: their definitions judged, their applications expanded.

use std::sync::Arc;

use super::Scope;
use super::discriminants::finite_values;
use super::facts;
use crate::defect::{Findings, codes, list, nearest, nearest_first};
use crate::eval::Environment;
use crate::expr::{Axis, Call, Comprehension, Expr, ExprKind, Ident, Shape, ShapeKind};
use crate::lang::{Constructor, Kind, Value};
use crate::model::{Fact, Family, Pattern, PatternFields, Signature};

/// The families of an entry whose definitions could be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Families {
    pub(crate) members: Vec<FamilyFacts>,
    /// Whether `types` could be read: where not, a family that is not here may still be declared.
    pub(crate) complete: bool,
}

/// One family.
#[derive(Debug, Clone)]
pub(crate) struct FamilyFacts {
    pub(crate) name: Ident,
    pub(crate) path: Arc<str>,
    pub(crate) formals: Vec<(Ident, Kind)>,
    /// The positions of the scrutinees among the formals.
    pub(crate) scrutinees: Vec<usize>,
    pub(crate) cases: Vec<CaseFacts>,
    /// Whether all of it could be read and fits together; where not, nothing is judged of what applies it.
    pub(crate) sound: bool,
}

/// One case: a pattern a scrutinee, and the shape.
#[derive(Debug, Clone)]
pub(crate) struct CaseFacts {
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) shape: Shape,
    /// Where `when` stands.
    pub(crate) range: crate::text::TextRange,
    /// The path of `is`.
    path: String,
}

impl Families {
    /// The family called `name`.
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &FamilyFacts)> {
        self.members.iter().enumerate().find(|(_, family)| &*family.name.value == name)
    }
}

/// Reads and judges the definitions of `types`.
pub(crate) fn read(signature: &Signature, scope: &Scope, findings: &mut Findings) -> Families {
    let mut families = Families { members: Vec::new(), complete: scope.complete };
    for family in signature.types.items() {
        if families.find(&family.name.value).is_none() {
            families.members.push(read_family(family, scope, findings));
        }
    }
    // An application inside a case is judged here, once, whatever applies its family.
    let mut unsound = Vec::new();
    for (position, family) in families.members.iter().enumerate() {
        for case in &family.cases {
            if let ShapeKind::Family(name, arguments) = &case.shape.kind
                && judge_application(&families, name, arguments, &case.path, findings).is_none()
            {
                unsound.push(position);
            }
        }
    }
    unsound.into_iter().for_each(|position| families.members[position].sound = false);
    judge_cycles(&mut families, findings);
    families
}

fn read_family(family: &Family, scope: &Scope, findings: &mut Findings) -> FamilyFacts {
    let mut sound = true;
    let name = &family.name.value;
    let mut formals: Vec<(Ident, Kind)> = Vec::new();
    sound &= family.params.valid().is_some();
    let kinds = scope.family(name).and_then(|symbol| symbol.formals.as_deref()).unwrap_or_default();
    for (formal, _) in family.params.items() {
        let kind = kinds.iter().find(|(n, _)| *n == formal.value).map_or(Kind::Error, |(_, kind)| kind.clone());
        formals.push((formal.clone(), kind));
    }

    let mut scrutinees = Vec::new();
    sound &= family.scrutinees.valid().is_some();
    let match_path = format!("{}.match", family.path);
    for scrutinee in family.scrutinees.items() {
        let text = &scrutinee.value;
        let Some(position) = formals.iter().position(|(formal, _)| formal.value == *text) else {
            sound = false;
            if family.params.valid().is_some() {
                let allowed = nearest_first(text, formals.iter().map(|(f, _)| &*f.value));
                findings
                    .report(
                        &codes::FAMILY_DEFINITION,
                        scrutinee.range,
                        match_path.clone(),
                        &**text,
                        format!("`{name}` matches on `{text}`, which is none of its formals"),
                    )
                    .help(format!("its formals are {}", list(&allowed, "and")))
                    .meant(nearest(text, allowed.iter().copied()));
            }
            continue;
        };
        if scrutinees.contains(&position) {
            sound = false;
            findings.report(
                &codes::FAMILY_DEFINITION,
                scrutinee.range,
                match_path.clone(),
                &**text,
                format!("`{name}` matches on `{text}` twice"),
            );
            continue;
        }
        let (formal, kind) = &formals[position];
        match kind {
            Kind::Bool | Kind::Enum(_) | Kind::Adt(..) => {}
            Kind::Error => sound = false,
            _ => {
                sound = false;
                findings
                    .report(
                        &codes::FAMILY_DEFINITION,
                        scrutinee.range,
                        match_path.clone(),
                        &**text,
                        format!(
                            "`{name}` matches on `{text}`, which is a `{}` and has no finite set of values",
                            show(kind)
                        ),
                    )
                    .help("match on a formal that is `Bool`, an enum or an ADT")
                    .related(formal.range, format!("`{text}` is declared here"));
            }
        }
        scrutinees.push(position);
    }

    let mut cases = Vec::new();
    sound &= family.cases.valid().is_some();
    for case in family.cases.items() {
        let Some(case) = case.valid() else {
            sound = false;
            continue;
        };
        let when_path = format!("{}.when", case.path);
        let (Some(when), Some(shape)) = (case.when.valid(), case.is.valid()) else {
            sound = false;
            continue;
        };
        if family.scrutinees.valid().is_some_and(|s| s.len() != when.len()) {
            sound = false;
            let wanted = family.scrutinees.items().len();
            findings
                .report(
                    &codes::FAMILY_DEFINITION,
                    case.when.range(),
                    when_path.clone(),
                    &**name,
                    format!("the case has {} for {}", count(when.len(), "pattern"), count(wanted, "scrutinee")),
                )
                .help("write one pattern for each name of `match`, in its order; `_` matches any value")
                .related(family.scrutinees.range(), "the scrutinees are named here");
        } else {
            for (pattern, scrutinee) in when.iter().zip(family.scrutinees.items()) {
                let kind = formals.iter().find(|(f, _)| f.value == scrutinee.value).map_or(&Kind::Error, |(_, k)| k);
                sound &= judge_pattern(pattern, &scrutinee.value, kind, &when_path, findings);
            }
        }
        sound &= !facts::shape_has_error(shape);
        cases.push(CaseFacts {
            patterns: when.clone(),
            shape: shape.clone(),
            range: case.when.range(),
            path: format!("{}.is", case.path),
        });
    }
    if family.cases.valid().is_some_and(Vec::is_empty) {
        sound = false;
        findings.report(
            &codes::FAMILY_CASES,
            family.cases.range(),
            format!("{}.cases", family.path),
            &**name,
            format!("`{name}` has no case"),
        );
    }
    FamilyFacts { name: family.name.clone(), path: family.path.clone(), formals, scrutinees, cases, sound }
}

/// How a message calls a kind.
fn show(kind: &Kind) -> String {
    match kind {
        Kind::Dim => "Dim".into(),
        Kind::Int => "Int".into(),
        Kind::Shape => "Shape".into(),
        Kind::Bool => "Bool".into(),
        Kind::Adt(adt, _) => adt.name.to_string(),
        _ => "value".into(),
    }
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Judges one pattern against the kind that it matches; whether it fits.
fn judge_pattern(pattern: &Pattern, of: &str, kind: &Kind, path: &str, findings: &mut Findings) -> bool {
    let mut misfit = |range, subject: &str, message: String, help: String, meant: Option<&str>| {
        findings.report(&codes::FAMILY_DEFINITION, range, path, subject, message).help(help).meant(meant);
        false
    };
    match (pattern, kind) {
        (Pattern::Error(_), _) | (_, Kind::Error) => false,
        (Pattern::Any(_), _) | (Pattern::Bool(..), Kind::Bool) => true,
        (Pattern::Literal(literal), Kind::Enum(literals)) => {
            literals.contains(&literal.value)
                || misfit(
                    literal.range,
                    &literal.value,
                    format!("`{}` is no value of `{of}`", literal.value),
                    format!(
                        "its values are {}",
                        list(nearest_first(&literal.value, literals.iter().map(|l| &**l)), "and")
                    ),
                    nearest(&literal.value, literals.iter().map(|l| &**l)),
                )
        }
        (Pattern::Literal(literal), Kind::Adt(adt, _)) if adt.constructor(&literal.value).is_some() => misfit(
            literal.range,
            &literal.value,
            format!(
                "`{}` is a constructor of `{}`, and a pattern of it says what its fields are",
                literal.value, adt.name
            ),
            format!("write `{{{}: _}}`", literal.value),
            None,
        ),
        (Pattern::Constructor(constructor, fields), Kind::Adt(adt, _)) => match adt.constructor(&constructor.value) {
            None => misfit(
                constructor.range,
                &constructor.value,
                format!("`{}` has no constructor `{}`", adt.name, constructor.value),
                format!(
                    "its constructors are {}",
                    list(nearest_first(&constructor.value, adt.constructors.iter().map(|c| &*c.name)), "and")
                ),
                nearest(&constructor.value, adt.constructors.iter().map(|c| &*c.name)),
            ),
            Some(declared) => judge_fields(fields, &adt.name, declared, path, findings),
        },
        (Pattern::Bool(value, range), Kind::Enum(literals)) => misfit(
            *range,
            if *value { "true" } else { "false" },
            format!("`{of}` is an enum, and no Boolean"),
            format!("its values are {}", list(literals.iter(), "and")),
            None,
        ),
        (Pattern::Bool(value, range), Kind::Adt(adt, _)) => misfit(
            *range,
            if *value { "true" } else { "false" },
            format!("`{of}` is a `{}`, and no Boolean", adt.name),
            format!(
                "match a constructor, as in `{{{}: _}}`",
                adt.constructors.first().map_or("constructor", |c| &c.name)
            ),
            None,
        ),
        (Pattern::Literal(literal), _) => misfit(
            literal.range,
            &literal.value,
            format!("`{}` does not match `{of}`, which is a `{}`", literal.value, show(kind)),
            expected(kind),
            None,
        ),
        (Pattern::Constructor(constructor, _), _) => misfit(
            constructor.range,
            &constructor.value,
            format!("`{{{}: …}}` does not match `{of}`, which is {}", constructor.value, a_kind(kind)),
            expected(kind),
            None,
        ),
        // A scrutinee that is not finite has its defect at `match`.
        (Pattern::Bool(..), _) => false,
    }
}

fn a_kind(kind: &Kind) -> String {
    match kind {
        Kind::Enum(_) => "an enum".into(),
        _ => format!("a `{}`", show(kind)),
    }
}

fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Bool => "write `true`, `false` or `_`".into(),
        Kind::Enum(literals) => format!("its values are {}", list(literals.iter(), "and")),
        Kind::Adt(adt, _) => format!("its constructors are {}", list(adt.constructors.iter().map(|c| &c.name), "and")),
        _ => "match on a formal that is `Bool`, an enum or an ADT".into(),
    }
}

fn judge_fields(
    fields: &PatternFields,
    adt: &str,
    constructor: &Constructor,
    path: &str,
    findings: &mut Findings,
) -> bool {
    let PatternFields::Named(fields) = fields else { return true };
    let mut fits = true;
    for (field, pattern) in fields {
        let finite: Vec<&str> =
            constructor.fields.iter().filter(|f| !finite_values(&f.kind).is_empty()).map(|f| &*f.name).collect();
        let help = format!("a pattern can name {}", list(nearest_first(&field.value, finite.iter().copied()), "and"));
        match constructor.field(&field.value) {
            None => {
                fits = false;
                findings
                    .report(
                        &codes::FAMILY_DEFINITION,
                        field.range,
                        path,
                        &*field.value,
                        format!("`{}` of `{adt}` has no field `{}`", constructor.name, field.value),
                    )
                    .help(help)
                    .meant(nearest(&field.value, finite));
            }
            Some(declared) if finite_values(&declared.kind).is_empty() => {
                if matches!(pattern, Pattern::Error(_)) {
                    // That it is no pattern has been said.
                    fits = false;
                } else if !matches!(pattern, Pattern::Any(_)) {
                    fits = false;
                    findings
                        .report(
                            &codes::FAMILY_DEFINITION,
                            field.range,
                            path,
                            &*field.value,
                            format!(
                                "`{}` is a `{}` and has no finite set of values to match",
                                field.value,
                                show(&declared.kind)
                            ),
                        )
                        .help(help);
                }
            }
            Some(declared) => fits &= judge_pattern(pattern, &field.value, &declared.kind, path, findings),
        }
    }
    fits
}

/// Families that are defined through each other, or through themselves, give no shape.
fn judge_cycles(families: &mut Families, findings: &mut Findings) {
    let edges: Vec<Vec<usize>> = families
        .members
        .iter()
        .map(|family| {
            let applied = family.cases.iter().filter_map(|case| match &case.shape.kind {
                ShapeKind::Family(name, _) => families.find(&name.value).map(|(position, _)| position),
                _ => None,
            });
            applied.collect()
        })
        .collect();
    // A family is left when all that it applies is left; what stays is on a cycle or applies one that is.
    let mut left = vec![false; edges.len()];
    while let Some(next) = (0..edges.len()).find(|&f| !left[f] && edges[f].iter().all(|&to| left[to])) {
        left[next] = true;
    }
    for family in (0..edges.len()).filter(|&f| !left[f]) {
        families.members[family].sound = false;
        if let Some(cycle) = cycle_from(family, &edges) {
            let names: Vec<String> = cycle.iter().map(|&f| families.members[f].name.value.to_string()).collect();
            // One defect a cycle: at its first family.
            if cycle.iter().all(|&f| f >= family) {
                let member = &families.members[family];
                let mut through = names.clone();
                through.push(names[0].clone());
                let message = match names.as_slice() {
                    [one] => format!("`{one}` is defined through itself"),
                    _ => format!("{} are defined through each other: {}", list(&names, "and"), through.join(" -> ")),
                };
                findings.report(
                    &codes::FAMILY_DEFINITION,
                    member.name.range,
                    &*member.path,
                    &*member.name.value,
                    message,
                );
            }
        }
    }
}

/// A shortest cycle through `start`, from `start`.
fn cycle_from(start: usize, edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut from: Vec<Option<usize>> = vec![None; edges.len()];
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        for &to in &edges[at] {
            if to == start {
                let mut cycle = vec![at];
                let mut back = at;
                while let Some(before) = from[back].filter(|_| back != start) {
                    cycle.push(before);
                    back = before;
                }
                cycle.reverse();
                return Some(cycle);
            }
            if from[to].is_none() {
                from[to] = Some(at);
                queue.push_back(to);
            }
        }
    }
    None
}

/// Judges that an application names a family and gives it its arguments; the family, where both hold.
pub(crate) fn judge_application<'f>(
    families: &'f Families,
    name: &Ident,
    arguments: &[Expr],
    path: &str,
    findings: &mut Findings,
) -> Option<(usize, &'f FamilyFacts)> {
    let Some((position, family)) = families.find(&name.value) else {
        if families.complete {
            let known: Vec<&str> = families.members.iter().map(|f| &*f.name.value).collect();
            let help = match nearest(&name.value, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.is_empty() => "declare it in `signature.types`, or write a shape in brackets".to_owned(),
                None => format!("the families of this entry are {}", list(&known, "and")),
            };
            findings
                .report(
                    &codes::UNKNOWN_NAME,
                    name.range,
                    path,
                    &*name.value,
                    format!("`{}` is no type family of this entry", name.value),
                )
                .help(help)
                .meant(nearest(&name.value, known.iter().copied()));
        } else {
            findings.unreached(name.range, path, format!("the shape `{}[…]`", name.value), "signature.types");
        }
        return None;
    };
    if family.sound && arguments.len() != family.formals.len() {
        findings
            .report(
                &codes::FAMILY_APPLICATION,
                name.range,
                path,
                &*name.value,
                format!(
                    "`{}` takes {}, and is given {}",
                    name.value,
                    count(family.formals.len(), "argument"),
                    arguments.len()
                ),
            )
            .help(format!(
                "write `{}[{}]`",
                name.value,
                family.formals.iter().map(|(f, _)| &*f.value).collect::<Vec<_>>().join(", ")
            ))
            .related(family.name.range, format!("`{}` is declared here", name.value));
        return None;
    }
    family.sound.then_some((position, family))
}

/// Whether `pattern` matches the scrutinee's argument at a point; nothing where the point does not decide that.
pub(crate) fn matches(pattern: &Pattern, argument: &Expr, point: &dyn Environment) -> Option<bool> {
    match pattern {
        Pattern::Any(_) => Some(true),
        Pattern::Bool(expected, _) => Some(value_at(argument, point)? == Value::Bool(*expected)),
        Pattern::Literal(expected) => Some(value_at(argument, point)? == Value::Str(expected.value.clone())),
        Pattern::Constructor(constructor, fields) => {
            let name = facts::without_value(argument).as_name()?;
            if point.field(name, "kind")? != Value::Str(constructor.value.clone()) {
                return Some(false);
            }
            let PatternFields::Named(fields) = fields else { return Some(true) };
            let mut decided = Some(true);
            for (field, pattern) in fields {
                let matched = match (pattern, point.field(name, &field.value)) {
                    (Pattern::Any(_), _) => Some(true),
                    (Pattern::Bool(expected, _), Some(value)) => Some(value == Value::Bool(*expected)),
                    (Pattern::Literal(expected), Some(value)) => Some(value == Value::Str(expected.value.clone())),
                    _ => None,
                };
                match matched {
                    Some(false) => return Some(false),
                    Some(true) => {}
                    None => decided = None,
                }
            }
            decided
        }
        Pattern::Error(_) => None,
    }
}

/// The value of a folded argument.
fn value_at(argument: &Expr, point: &dyn Environment) -> Option<Value> {
    match &argument.kind {
        ExprKind::Name(name) => point.value(name),
        _ => facts::literal(argument),
    }
}

/// How large an expanded application may grow, over all its cases. An expression as written is far smaller; only families
/// that double their arguments through many others come near it.
pub(crate) const MAX_NODES: usize = 50_000;
/// How deep an expanded expression may be: the depth of a written one, with arguments put in.
pub(crate) const MAX_DEPTH: usize = 512;

/// `shape` with `arguments` in the place of `formals`. A comprehension's variable that an argument also reads is renamed,
/// so that nothing is captured. Nothing where the result would grow beyond all use.
pub(crate) fn substitute_shape(
    shape: &Shape,
    formals: &[(Ident, Kind)],
    arguments: &[Expr],
    budget: &mut usize,
) -> Option<Shape> {
    // An empty shape costs something too: cases multiply.
    *budget = budget.checked_sub(1)?;
    let map = Substitution::new(formals, arguments);
    let kind = match &shape.kind {
        ShapeKind::Axes(axes) => {
            let mut out = Vec::with_capacity(axes.len());
            for axis in axes {
                out.push(match axis {
                    Axis::One(expr) => Axis::One(map.checked(expr, budget)?),
                    Axis::Splice(expr) => Axis::Splice(map.checked(expr, budget)?),
                });
            }
            ShapeKind::Axes(out)
        }
        ShapeKind::Family(name, operands) => {
            let mut out = Vec::with_capacity(operands.len());
            for operand in operands {
                out.push(map.checked(operand, budget)?);
            }
            ShapeKind::Family(name.clone(), out)
        }
        ShapeKind::Error(_) => return None,
    };
    Some(Shape { kind, range: shape.range })
}

struct Substitution<'a> {
    formals: Vec<(&'a str, &'a Expr)>,
    /// The names that the arguments read.
    free: Vec<&'a str>,
    largest: usize,
    deepest: usize,
}

impl<'a> Substitution<'a> {
    fn new(formals: &'a [(Ident, Kind)], arguments: &'a [Expr]) -> Self {
        let mut free: Vec<&str> = Vec::new();
        let (mut largest, mut deepest) = (0, 0);
        for argument in arguments {
            facts::reads(argument, &mut |read| free.push(read.name()));
            let (nodes, depth) = facts::extent(argument);
            largest = largest.max(nodes);
            deepest = deepest.max(depth);
        }
        let formals = formals.iter().zip(arguments).map(|((formal, _), argument)| (&*formal.value, argument)).collect();
        Substitution { formals, free, largest, deepest }
    }

    /// `expr` with the arguments put in, unless that exceeds the budget of nodes or the bound on depth.
    fn checked(&self, expr: &Expr, budget: &mut usize) -> Option<Expr> {
        let (nodes, depth) = facts::extent(expr);
        let bound = nodes.saturating_mul(self.largest.max(1));
        if depth + self.deepest > MAX_DEPTH || bound > *budget {
            return None;
        }
        *budget -= bound;
        Some(self.apply(expr, &mut Vec::new()))
    }

    /// `bound` maps the variables of the comprehensions around `expr` to their new names.
    fn apply(&self, expr: &Expr, bound: &mut Vec<(Arc<str>, Arc<str>)>) -> Expr {
        let boxed = |e: &Expr, bound: &mut Vec<_>| Box::new(self.apply(e, bound));
        let kind = match &expr.kind {
            ExprKind::Name(name) => {
                if let Some((_, renamed)) = bound.iter().rev().find(|(variable, _)| variable == name) {
                    ExprKind::Name(renamed.clone())
                } else if let Some((_, argument)) = self.formals.iter().find(|(formal, _)| *formal == &**name) {
                    return (*argument).clone();
                } else {
                    expr.kind.clone()
                }
            }
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::None | ExprKind::Str(_) => {
                expr.kind.clone()
            }
            ExprKind::Tuple(items) => ExprKind::Tuple(items.iter().map(|i| self.apply(i, bound)).collect()),
            ExprKind::Error(items) => ExprKind::Error(items.iter().map(|i| self.apply(i, bound)).collect()),
            ExprKind::Bools(op, items) => ExprKind::Bools(*op, items.iter().map(|i| self.apply(i, bound)).collect()),
            ExprKind::Unary(op, operand) => ExprKind::Unary(*op, boxed(operand, bound)),
            ExprKind::Binary(op, left, right) => ExprKind::Binary(*op, boxed(left, bound), boxed(right, bound)),
            ExprKind::Compare(first, rest) => ExprKind::Compare(
                boxed(first, bound),
                rest.iter().map(|(op, operand)| (op.clone(), self.apply(operand, bound))).collect(),
            ),
            ExprKind::If { then, condition, otherwise } => ExprKind::If {
                then: boxed(then, bound),
                condition: boxed(condition, bound),
                otherwise: boxed(otherwise, bound),
            },
            ExprKind::Index(base, index) => ExprKind::Index(boxed(base, bound), boxed(index, bound)),
            ExprKind::Slice(base, from, to) => {
                let from = from.as_ref().map(|e| boxed(e, bound));
                let to = to.as_ref().map(|e| boxed(e, bound));
                ExprKind::Slice(boxed(base, bound), from, to)
            }
            ExprKind::Attribute(base, field) => ExprKind::Attribute(boxed(base, bound), field.clone()),
            ExprKind::Call(call) => ExprKind::Call(self.apply_call(call, bound)),
        };
        Expr::new(kind, expr.range)
    }

    fn apply_call(&self, call: &Call, bound: &mut Vec<(Arc<str>, Arc<str>)>) -> Call {
        let keywords = call.keywords.iter().map(|(name, value)| (name.clone(), self.apply(value, bound))).collect();
        let Some(comprehension) = &call.comprehension else {
            let args = call.args.iter().map(|arg| self.apply(arg, bound)).collect();
            return Call { callee: call.callee.clone(), args, keywords, comprehension: None };
        };
        let iterable = self.apply(&comprehension.iterable, bound);
        let variable = &comprehension.variable.value;
        let renamed = self.fresh(variable, call);
        bound.push((variable.clone(), renamed.clone()));
        let args = call.args.iter().map(|arg| self.apply(arg, bound)).collect();
        bound.pop();
        let mut named = comprehension.variable.clone();
        named.value = renamed;
        let comprehension = Some(Box::new(Comprehension { variable: named, iterable }));
        Call { callee: call.callee.clone(), args, keywords, comprehension }
    }

    /// `variable`, or a name like it that neither an argument nor the comprehension's element reads.
    fn fresh(&self, variable: &Arc<str>, call: &Call) -> Arc<str> {
        if !self.free.contains(&&**variable) {
            return variable.clone();
        }
        let mut taken: Vec<&str> = self.free.clone();
        call.args.iter().for_each(|arg| facts::reads(arg, &mut |read| taken.push(read.name())));
        (1_u64..)
            .map(|n| format!("{variable}_{n}"))
            .find(|name| !taken.contains(&name.as_str()))
            .map_or_else(|| variable.clone(), Arc::from)
    }
}

/// The families that no shape applies, directly or through another's case, each a defect.
pub(crate) fn judge_unused(families: &Families, applied: &[bool], signature: &Signature, findings: &mut Findings) {
    // A shape that could not be read may apply any of them.
    let unread =
        facts::tensors(signature).any(|tensor| match &tensor.shape {
            Fact::Valid(shape, _) => matches!(shape.kind, ShapeKind::Error(_)),
            Fact::Malformed(_) => true,
            Fact::Absent(_) => false,
        }) || [signature.inputs.is_malformed(), signature.outputs.is_malformed(), signature.params.is_malformed()]
            .contains(&true);
    // What an unused family applies is not unused itself: that would be the same mistake again.
    let mut used = applied.to_vec();
    let mut unknown_applied = facts::tensors(signature).any(|tensor| match &tensor.shape {
        Fact::Valid(Shape { kind: ShapeKind::Family(name, _), .. }, _) => families.find(&name.value).is_none(),
        _ => false,
    });
    for (position, family) in families.members.iter().enumerate() {
        for case in &family.cases {
            if let ShapeKind::Family(name, _) = &case.shape.kind {
                match families.find(&name.value) {
                    Some((inner, _)) => used[inner] |= inner != position,
                    None => unknown_applied = true,
                }
            }
        }
    }
    for (family, _) in families.members.iter().zip(used).filter(|(_, used)| !used) {
        let name = &family.name.value;
        if unread || unknown_applied {
            findings.unreached(family.name.range, &*family.path, format!("the use of `{name}`"), "a tensor's shape");
            continue;
        }
        let formals: Vec<&str> = family.formals.iter().map(|(f, _)| &*f.value).collect();
        findings
            .report(
                &codes::UNUSED_FAMILY,
                family.name.range,
                &*family.path,
                &**name,
                format!("no shape applies `{name}`"),
            )
            .help(format!("apply it, as in `shape: \"{name}[{}]\"`, or remove it", formals.join(", ")));
    }
}
