//! Every name in an entry or a types file, and what each stands for.

use std::sync::Arc;

use super::site::{Due, Holds, Names, Owner, Part, Site, language, text_range};
use crate::check::{Position, Scope, SymbolRole};
use crate::defect::Findings;
use crate::expr::{
    Axis, CompareOp, Expr, ExprKind, Ident, Shape, ShapeKind, TypeExpr, TypeExprKind, parse_expression, parse_shape,
    parse_type,
};
use crate::lang::builtins::{self, Builtin};
use crate::lang::{Adt, DType, Kind};
use crate::model::schema::{Key, Section};
use crate::syntax::Node;
use crate::text::{TextRange, TextSize};
use crate::workspace::FileKind;

/// What a name stands for.
#[derive(Debug, Clone)]
pub(crate) enum Subject {
    /// An entry, by its op's name.
    Op(Arc<str>),
    /// An index, a parameter, a `let` or a tensor of the entry.
    Name(Arc<str>),
    /// `out`, the caller's buffer.
    Out,
    /// A type family of the entry.
    Family(Arc<str>),
    /// A formal of a family.
    Formal(Arc<str>, Arc<str>),
    /// The variable of a comprehension, by where it is bound.
    Local(Arc<str>, TextRange),
    /// An ADT of the types file.
    Adt(Arc<str>),
    /// A constructor of an ADT.
    Constructor(Arc<str>, Arc<str>),
    /// A field, of whichever constructors of an ADT have it.
    Field(Arc<str>, Arc<str>),
    /// A built-in.
    Builtin(&'static Builtin),
    /// A dtype.
    DType(DType),
    /// A literal of an enum: a parameter's, a formal's or a field's.
    Literal(Arc<str>),
    /// A kind of `forall`, of a formal or of a field.
    Kind(Arc<str>),
    /// A type that the language knows by itself.
    Type(Arc<str>),
    /// `.value` or `.kind`.
    Member(&'static str),
    /// A key of a fixed section.
    Key(&'static Section, &'static Key),
    /// A word that a key takes.
    Word(&'static Key, &'static str),
    /// A family of ops.
    OpFamily(Arc<str>),
    /// The function of a roofline.
    Function(Arc<str>),
    /// Something that nothing declares.
    Unknown(Arc<str>),
}

impl PartialEq for Subject {
    fn eq(&self, other: &Self) -> bool {
        use Subject::*;
        match (self, other) {
            (Op(a), Op(b)) | (Name(a), Name(b)) | (Family(a), Family(b)) | (Adt(a), Adt(b)) => a == b,
            (OpFamily(a), OpFamily(b)) | (Function(a), Function(b)) | (Unknown(a), Unknown(b)) => a == b,
            (Literal(a), Literal(b)) | (Kind(a), Kind(b)) | (Type(a), Type(b)) => a == b,
            (Formal(a, b), Formal(c, d)) | (Constructor(a, b), Constructor(c, d)) | (Field(a, b), Field(c, d)) => {
                a == c && b == d
            }
            (Local(_, a), Local(_, b)) => a == b,
            (Builtin(a), Builtin(b)) => a.name == b.name,
            (DType(a), DType(b)) => a == b,
            (Member(a), Member(b)) => a == b,
            (Key(a, b), Key(c, d)) => std::ptr::eq(*a, *c) && std::ptr::eq(*b, *d),
            (Word(a, b), Word(c, d)) => std::ptr::eq(*a, *c) && b == d,
            (Out, Out) => true,
            _ => false,
        }
    }
}

/// A name and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mention {
    /// Where, relative to the site.
    pub(crate) range: TextRange,
    /// What it stands for.
    pub(crate) subject: Subject,
    /// Whether it is declared here.
    pub(crate) declares: bool,
    /// Whether it stands in an expression.
    pub(crate) in_expression: bool,
}

/// Every name of a site, in order.
pub(crate) fn mentions(site: &Site<'_>) -> Vec<Mention> {
    let empty = Scope::default();
    let scope = site.analysis.as_ref().map_or(&empty, |analysis| &analysis.scope);
    let mut collector = Collector { site, scope, found: Vec::new(), in_expression: false };
    if let Some(key) = site.tree.key.as_scalar() {
        let range = text_range(&site.tree.key);
        match site.kind {
            FileKind::Types => {
                if let Some(known) = crate::model::schema::TYPES_FILE.key(&key.text) {
                    collector.add(range, Subject::Key(&crate::model::schema::TYPES_FILE, known));
                }
            }
            _ => collector.declare(range, Subject::Op(key.text.clone())),
        }
    }
    site.visit(&mut |part| collector.part(part));
    let mut found = collector.found;
    found.sort_by_key(|mention| (mention.range.start(), mention.range.end()));
    found
}

/// The mention that `offset` of the site touches; of two that meet there, the one behind.
pub(crate) fn mention_at(mentions: &[Mention], offset: TextSize) -> Option<&Mention> {
    let touching = || mentions.iter().filter(|mention| mention.range.contains_inclusive(offset));
    touching().find(|mention| mention.range.contains(offset)).or_else(|| touching().next())
}

/// The ADT that a kind is a value of.
pub(crate) fn adt_of(kind: &Kind) -> Option<&Arc<Adt>> {
    match kind {
        Kind::Adt(adt, _) => Some(adt),
        Kind::Maybe(inner) => adt_of(inner),
        Kind::Union(members) => members.iter().find_map(adt_of),
        _ => None,
    }
}

/// The formals of the family that a place is in.
pub(crate) fn formals<'s>(scope: &'s Scope, owner: &Owner<'_>) -> Option<&'s [(Arc<str>, Kind)]> {
    match owner.within {
        Some(Names::Types) => scope.family(owner.name?)?.formals.as_deref(),
        _ => None,
    }
}

struct Collector<'s> {
    site: &'s Site<'s>,
    scope: &'s Scope,
    found: Vec<Mention>,
    in_expression: bool,
}

/// A family's formals and their kinds.
type Formals<'s> = &'s [(Arc<str>, Kind)];

/// What an expression can name besides the entry's own names.
struct Within<'s> {
    /// The family whose case it is, and its formals.
    family: Option<(Arc<str>, Formals<'s>)>,
    /// The constructor whose invariant it is: its ADT and its fields.
    fields: Option<&'s Arc<Adt>>,
    locals: Vec<(Arc<str>, TextRange)>,
}

impl<'s> Collector<'s> {
    fn add(&mut self, range: TextRange, subject: Subject) {
        self.push(range, subject, false);
    }

    fn declare(&mut self, range: TextRange, subject: Subject) {
        self.push(range, subject, true);
    }

    fn push(&mut self, range: TextRange, subject: Subject, declares: bool) {
        let in_expression = self.in_expression;
        if !range.is_empty() {
            self.found.push(Mention { range, subject, declares, in_expression });
        }
    }

    fn part(&mut self, part: Part<'s>) {
        match part {
            Part::Key { node, due, .. } => self.key(node, due),
            Part::Value { node, due: Due::Scalar(holds, owner) } => self.value(node, holds, owner),
            Part::Value { .. } => {}
        }
    }

    /// The name of an entry as its scope knows it.
    fn named(&self, name: &Arc<str>) -> Subject {
        match self.scope.get(name) {
            Some(_) => Subject::Name(name.clone()),
            None if &**name == "out" => Subject::Out,
            None => Subject::Unknown(name.clone()),
        }
    }

    fn key(&mut self, node: &Node, due: Due<'s>) {
        let Some(scalar) = node.as_scalar() else { return };
        let (range, text) = (text_range(node), scalar.text.clone());
        match due {
            Due::Section(section, _) => match section.key(&text) {
                Some(key) => self.add(range, Subject::Key(section, key)),
                None if section.open => {
                    let subject = self.named(&text);
                    self.add(range, subject);
                }
                None => {}
            },
            Due::Named(names, owner) => match names {
                Names::Forall | Names::Params | Names::Inputs | Names::Outputs | Names::Lets => {
                    self.declare(range, Subject::Name(text));
                }
                Names::Types => self.declare(range, Subject::Family(text)),
                Names::Formals => {
                    if let Some(family) = owner.name {
                        self.declare(range, Subject::Formal(family.into(), text));
                    }
                }
                Names::Combo | Names::Case => {
                    let subject = self.named(&text);
                    self.add(range, subject);
                }
                Names::Adts => self.declare(range, Subject::Adt(text)),
                Names::Constructors => {
                    if let Some(adt) = owner.name {
                        self.declare(range, Subject::Constructor(adt.into(), text));
                    }
                }
                Names::Fields => {
                    if let Some(adt) = owner.name {
                        self.declare(range, Subject::Field(adt.into(), text));
                    }
                }
                Names::AdtValue | Names::Pattern => {
                    if let Some(adt) = self.adt_here(names, &owner)
                        && adt.constructor(&text).is_some()
                    {
                        self.add(range, Subject::Constructor(adt.name.clone(), text));
                    }
                }
                Names::AdtFields | Names::PatternFields => {
                    let names = if names == Names::AdtFields { Names::AdtValue } else { Names::Pattern };
                    if let Some(adt) = self.adt_here(names, &owner)
                        && adt.constructors.iter().any(|constructor| constructor.field(&text).is_some())
                    {
                        self.add(range, Subject::Field(adt.name.clone(), text));
                    }
                }
            },
            Due::List(..) | Due::Scalar(..) | Due::Unknown => {}
        }
    }

    /// The ADT whose value or pattern stands in a place.
    fn adt_here(&self, names: Names, owner: &Owner<'_>) -> Option<&'s Arc<Adt>> {
        match names {
            Names::Pattern => {
                // Which formal it matches is not needed where the constructor is found by its name alone.
                let formals = formals(self.scope, owner)?;
                let mut adts = formals.iter().filter_map(|(_, kind)| adt_of(kind));
                let wanted = owner.field;
                let first = adts.clone().next();
                match wanted {
                    Some(name) => adts.find(|adt| adt.constructor(name).is_some()).or(first),
                    None => first,
                }
            }
            _ => adt_of(&self.scope.get(owner.member.or(owner.name)?)?.kind),
        }
    }

    fn value(&mut self, node: &'s Node, holds: Holds, owner: Owner<'s>) {
        let Some(scalar) = node.as_scalar() else { return };
        let range = text_range(node);
        let text = &scalar.text;
        match holds {
            Holds::Choice(words) => {
                if let (Some(key), Some(word)) = (owner.key, words.iter().copied().find(|word| *word == &**text)) {
                    self.add(range, Subject::Word(key, word));
                }
            }
            Holds::Family => self.add(range, Subject::OpFamily(text.clone())),
            Holds::Alias | Holds::Some => {
                let subject = self.named(text);
                self.add(range, subject);
            }
            Holds::Op => self.add(range, Subject::Op(text.clone())),
            Holds::Function => self.add(range, Subject::Function(text.clone())),
            Holds::Match => {
                if let Some(family) = owner.name
                    && formals(self.scope, &owner).is_some_and(|f| f.iter().any(|(name, _)| name == text))
                {
                    self.add(range, Subject::Formal(family.into(), text.clone()));
                }
            }
            Holds::DType => match DType::from_name(text) {
                Some(dtype) => self.add(range, Subject::DType(dtype)),
                None => self.add(range, Subject::Unknown(text.clone())),
            },
            Holds::RowValue | Holds::Default if language(node, holds).is_none() => {
                let Some(name) = owner.member.or(owner.name) else { return };
                let Some(symbol) = self.scope.get(name) else { return };
                if matches!(symbol.kind, Kind::DType(_))
                    || matches!(&symbol.kind, Kind::Maybe(k) if matches!(**k, Kind::DType(_)))
                {
                    if let Some(dtype) = DType::from_name(text) {
                        self.add(range, Subject::DType(dtype));
                    }
                } else if let Some(adt) = adt_of(&symbol.kind)
                    && adt.constructor(text).is_some()
                {
                    self.add(range, Subject::Constructor(adt.name.clone(), text.clone()));
                } else if node.as_str().is_some() && literals(&symbol.kind).contains(&&**text) {
                    self.add(range, Subject::Literal(text.clone()));
                }
            }
            Holds::Pattern => {
                if node.as_str().is_some() && &**text != "_" {
                    self.add(range, Subject::Literal(text.clone()));
                }
            }
            _ => self.language(node, holds, owner),
        }
    }

    fn language(&mut self, node: &'s Node, holds: Holds, owner: Owner<'s>) {
        let Some(scalar) = language(node, holds) else { return };
        let mut silent = Findings::default();
        self.in_expression = true;
        match holds {
            Holds::Type | Holds::IndexKind | Holds::FormalKind | Holds::FieldKind => {
                let ty = parse_type(scalar, node.range, "", &mut silent);
                self.ty(&ty, holds);
            }
            Holds::Shape(position) => {
                let shape = parse_shape(scalar, node.range, "", &mut silent);
                let mut within = self.within(position, &owner);
                self.shape(&shape, &mut within);
            }
            Holds::TensorDType => {
                let expr = parse_expression(scalar, node.range, "", &mut silent);
                let mut within = self.within(Position::Dtype, &owner);
                match &expr.kind {
                    ExprKind::Name(name)
                        if DType::from_name(name).is_some()
                            && !self.scope.get(name).is_some_and(|s| Position::Dtype.admits(s)) =>
                    {
                        // A dtype's own name, which nothing else has here.
                        if let Some(dtype) = DType::from_name(name) {
                            self.add(expr.range, Subject::DType(dtype));
                        }
                    }
                    _ => self.expr(&expr, &mut within),
                }
            }
            _ => {
                let position = match holds {
                    Holds::Expression(position) => position,
                    _ => Position::Condition,
                };
                let expr = parse_expression(scalar, node.range, "", &mut silent);
                let mut within = self.within(position, &owner);
                self.expr(&expr, &mut within);
            }
        }
        self.in_expression = false;
    }

    fn within(&self, position: Position, owner: &Owner<'s>) -> Within<'s> {
        let family = match (position, owner.name, formals(self.scope, owner)) {
            (Position::Family, Some(name), Some(formals)) => Some((Arc::from(name), formals)),
            _ => None,
        };
        let fields = match owner.within {
            Some(Names::Adts) => owner.name.and_then(|name| self.site.adts.get(name)),
            _ => None,
        };
        Within { family, fields, locals: Vec::new() }
    }

    fn ty(&mut self, ty: &TypeExpr, holds: Holds) {
        let named = |this: &mut Self, name: &Arc<str>, range: TextRange| {
            let kinds = ["Dim", "Int", "Bool", "Shape", "DType", "Seq"];
            let subject = if let Some(dtype) = DType::from_name(name).filter(|_| &**name != "bool") {
                Subject::DType(dtype)
            } else if this.site.adts.get(name).is_some() {
                Subject::Adt(name.clone())
            } else if holds != Holds::Type && kinds.contains(&&**name) {
                Subject::Kind(name.clone())
            } else if holds != Holds::Type && &**name == "bool" {
                Subject::DType(DType::Bool)
            } else if holds == Holds::Type {
                Subject::Type(name.clone())
            } else {
                Subject::Unknown(name.clone())
            };
            this.add(range, subject);
        };
        // Types nest no deeper than the parser reads.
        match &ty.kind {
            TypeExprKind::Name(name) => named(self, name, ty.range),
            TypeExprKind::Literal(literal) => self.add(inside_quotes(ty.range), Subject::Literal(literal.clone())),
            TypeExprKind::Apply(head, arguments) => {
                named(self, &head.value, head.range);
                arguments.iter().for_each(|argument| self.ty(argument, holds));
            }
            TypeExprKind::Union(members) => members.iter().for_each(|member| self.ty(member, holds)),
            TypeExprKind::Ellipsis | TypeExprKind::Error => {}
        }
    }

    fn shape(&mut self, shape: &Shape, within: &mut Within<'s>) {
        match &shape.kind {
            ShapeKind::Axes(axes) => axes.iter().for_each(|axis| match axis {
                Axis::One(expr) | Axis::Splice(expr) => self.expr(expr, within),
            }),
            ShapeKind::Family(name, arguments) => {
                let subject = match self.scope.family(&name.value) {
                    Some(_) => Subject::Family(name.value.clone()),
                    None => Subject::Unknown(name.value.clone()),
                };
                self.add(name.range, subject);
                arguments.iter().for_each(|argument| self.expr(argument, within));
            }
            ShapeKind::Error(parts) => parts.iter().for_each(|part| self.expr(part, within)),
        }
    }

    fn resolve(&self, name: &Arc<str>, within: &Within<'_>) -> Subject {
        if let Some((_, range)) = within.locals.iter().rev().find(|(local, _)| local == name) {
            return Subject::Local(name.clone(), *range);
        }
        if let Some((family, formals)) = &within.family {
            if formals.iter().any(|(formal, _)| formal == name) {
                return Subject::Formal(family.clone(), name.clone());
            }
            return Subject::Unknown(name.clone());
        }
        if let Some(adt) = within.fields {
            return Subject::Field(adt.name.clone(), name.clone());
        }
        self.named(name)
    }

    fn kind_of<'k>(&'k self, expr: &Expr, within: &Within<'k>) -> Option<&'k Kind> {
        match &expr.kind {
            ExprKind::Name(name) => match &within.family {
                Some((_, formals)) => formals.iter().find(|(formal, _)| formal == name).map(|(_, kind)| kind),
                None => self.scope.get(name).map(|symbol| &symbol.kind),
            },
            ExprKind::Attribute(base, field) if &*field.value == "value" => self.kind_of(base, within),
            _ => None,
        }
    }

    fn expr(&mut self, expr: &Expr, within: &mut Within<'s>) {
        match &expr.kind {
            ExprKind::Name(name) => {
                let subject = self.resolve(name, within);
                self.add(expr.range, subject);
                return;
            }
            ExprKind::Attribute(base, field) => {
                self.expr(base, within);
                self.attribute(base, field, within);
                return;
            }
            ExprKind::Str(text) => {
                self.add(inside_quotes(expr.range), Subject::Literal(text.clone()));
                return;
            }
            ExprKind::Compare(first, rest) => {
                self.expr(first, within);
                let adt = match &first.kind {
                    ExprKind::Attribute(base, field) if &*field.value == "kind" => {
                        self.kind_of(base, within).and_then(adt_of).cloned()
                    }
                    _ => None,
                };
                for (operator, operand) in rest {
                    let tests =
                        matches!(operator.value, CompareOp::Eq | CompareOp::Ne | CompareOp::In | CompareOp::NotIn);
                    match &adt {
                        Some(adt) if tests => self.constructors(adt, operand, within),
                        _ => self.expr(operand, within),
                    }
                }
                return;
            }
            ExprKind::Call(call) => {
                let subject = match builtins::find(&call.callee.value) {
                    Some(builtin) => Subject::Builtin(builtin),
                    None => Subject::Unknown(call.callee.value.clone()),
                };
                self.add(call.callee.range, subject);
                if let Some(comprehension) = &call.comprehension {
                    self.expr(&comprehension.iterable, within);
                    let variable = &comprehension.variable;
                    self.declare(variable.range, Subject::Local(variable.value.clone(), variable.range));
                    within.locals.push((variable.value.clone(), variable.range));
                }
                call.args.iter().for_each(|argument| self.expr(argument, within));
                if call.comprehension.is_some() {
                    within.locals.pop();
                }
                call.keywords.iter().for_each(|(_, value)| self.expr(value, within));
                return;
            }
            _ => {}
        }
        // The borrow of `self` in the closure ends with each child; the tree is no deeper than the parser reads.
        expr.for_each_child(&mut |child| self.expr(child, within));
    }

    fn constructors(&mut self, adt: &Arc<Adt>, operand: &Expr, within: &mut Within<'s>) {
        match &operand.kind {
            ExprKind::Str(text) if adt.constructor(text).is_some() => {
                self.add(inside_quotes(operand.range), Subject::Constructor(adt.name.clone(), text.clone()));
            }
            ExprKind::Tuple(items) => items.iter().for_each(|item| match &item.kind {
                ExprKind::Str(text) if adt.constructor(text).is_some() => {
                    self.add(inside_quotes(item.range), Subject::Constructor(adt.name.clone(), text.clone()));
                }
                _ => self.expr(item, within),
            }),
            _ => self.expr(operand, within),
        }
    }

    fn attribute(&mut self, base: &Expr, field: &Ident, within: &Within<'s>) {
        let subject = match (&*field.value, self.kind_of(base, within).and_then(adt_of)) {
            ("value", _) => Subject::Member("value"),
            ("kind", Some(_)) => Subject::Member("kind"),
            (name, Some(adt)) if adt.constructors.iter().any(|c| c.field(name).is_some()) => {
                Subject::Field(adt.name.clone(), field.value.clone())
            }
            _ => Subject::Unknown(field.value.clone()),
        };
        self.add(field.range, subject);
    }
}

/// The literals that a kind admits.
pub(crate) fn literals(kind: &Kind) -> Vec<&str> {
    match kind {
        Kind::Enum(members) => members.iter().map(|member| &**member).collect(),
        Kind::Maybe(inner) => literals(inner),
        Kind::Union(members) => members.iter().flat_map(literals).collect(),
        _ => Vec::new(),
    }
}

/// A string's characters without its quotes.
fn inside_quotes(range: TextRange) -> TextRange {
    let one = TextSize::new(1);
    match range.len() >= TextSize::new(2) {
        true => TextRange::new(range.start() + one, range.end() - one),
        false => range,
    }
}

/// What declares a name of the entry, as a noun.
pub(crate) fn role_noun(role: SymbolRole) -> &'static str {
    use crate::model::TensorRole;
    match role {
        SymbolRole::Index => "index",
        SymbolRole::Param => "parameter",
        SymbolRole::Let => "`let`",
        SymbolRole::Tensor(TensorRole::Construction) => "construction-time tensor",
        SymbolRole::Tensor(TensorRole::Input) => "input",
        SymbolRole::Tensor(TensorRole::Output) => "output",
    }
}
