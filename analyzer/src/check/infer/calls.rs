//! Calls of built-ins.

use std::sync::Arc;

use super::fits::result;
use super::{CallRole, Found, Inference, Position, Want, Wanted, count, some_of, subject_text, text_of};
use crate::check::SymbolRole;
use crate::check::guards::{Guards, item_of};
use crate::check::show::show;
use crate::defect::{codes, list, nearest, nearest_first};
use crate::expr::{Call, Comprehension, Expr, ExprKind, Ident};
use crate::lang::Kind;
use crate::lang::builtins::{self, BindProblem, Bound, Builtin, Parameter, Passing, Role, Takes};
use crate::text::TextRange;

impl Inference<'_> {
    /// Judges `values` or an item of `requires`.
    pub(crate) fn generator_or_predicate(&mut self, call: &Call, role: CallRole, range: TextRange) {
        let guards = self.guards.clone();
        let due = match role {
            CallRole::Generator => "generator",
            CallRole::Predicate => "predicate",
        };
        let builtin = builtins::find(&call.callee.value);
        let right = |builtin: &&Builtin| match role {
            CallRole::Generator => matches!(builtin.role, Role::Generator(_)),
            CallRole::Predicate => matches!(builtin.role, Role::Predicate(_)),
        };
        match builtin {
            Some(builtin) if right(&builtin) => {
                self.arguments(builtin, call, range, &guards);
                return;
            }
            Some(builtin) => {
                let key = match role {
                    CallRole::Generator => "values",
                    CallRole::Predicate => "requires",
                };
                let name = builtin.name;
                let message = format!("`{name}` is {}, and `{key}` takes a {due}", sort_of(&builtin.role));
                let names = names_of(&right);
                let order = nearest_first(name, names);
                self.findings
                    .report(&codes::MISPLACED_CALL, call.callee.range, self.path, name, message)
                    .help(format!("the {due}s are {}", some_of(&order, "and")));
            }
            None => self.unknown_function(&call.callee, &right, due),
        }
        self.misplaced_arguments(call, builtin, &guards);
    }

    /// The arguments of a call that stands where it cannot be: no name is out of place in them besides.
    fn misplaced_arguments(&mut self, call: &Call, builtin: Option<&Builtin>, guards: &Guards) {
        let here = self.position;
        if matches!(builtin.map(|builtin| &builtin.role), Some(Role::Generator(_) | Role::Predicate(_))) {
            self.position = Position::Generator;
        }
        self.loose_arguments(call, guards);
        self.position = here;
    }

    pub(super) fn unknown_function(&mut self, callee: &Ident, allowed: &dyn Fn(&&Builtin) -> bool, sort: &str) {
        let name = &callee.value;
        let order = nearest_first(name, names_of(allowed));
        let help = match &**name {
            "ceil" | "math.ceil" | "cdiv" | "ceildiv" | "math.ceil_div" => "write `ceil_div(a, b)`".to_owned(),
            "numel" | "math.prod" | "np.prod" => "write `prod(s)`".to_owned(),
            "int" | "floor" | "math.floor" => {
                "integer arithmetic is exact: `a // b` is the floor of the quotient".to_owned()
            }
            "abs" => "write `x if x >= 0 else -x`".to_owned(),
            "any" => "write `not all(not x for x in s)`".to_owned(),
            _ => format!("the {sort}s are {}", some_of(&order, "and")),
        };
        self.findings
            .report(&codes::UNKNOWN_FUNCTION, callee.range, self.path, &**name, format!("`{name}` is no {sort}"))
            .help(help)
            .meant(match &**name {
                "cdiv" | "ceildiv" | "math.ceil_div" => Some("ceil_div"),
                "math.prod" | "np.prod" => Some("prod"),
                "ceil" | "math.ceil" | "numel" | "int" | "floor" | "math.floor" | "abs" | "any" => None,
                _ => nearest(name, order.iter().copied()),
            });
    }

    /// The arguments of a call that cannot be judged: their own names and kinds still are.
    pub(super) fn loose_arguments(&mut self, call: &Call, guards: &Guards) {
        let pushed = call.comprehension.as_ref().is_some_and(|comprehension| self.enter(comprehension, guards));
        for argument in call.args.iter().chain(call.keywords.iter().map(|(_, value)| value)) {
            let tensor = argument.as_name().filter(|name| self.names_tensor(name));
            // What takes a tensor and what does not is not known of such a call.
            if tensor.is_none() {
                self.infer(argument, guards);
            }
        }
        if pushed {
            self.locals.pop();
        }
    }

    pub(super) fn call(&mut self, call: &Call, range: TextRange, guards: &Guards) -> Found {
        let name = &call.callee.value;
        let position = self.position;
        let callable = move |builtin: &&Builtin| match builtin.role {
            Role::Primitive { .. } | Role::Present => true,
            Role::Bytes => position == Position::Roofline,
            Role::Generator(_) | Role::Predicate(_) => false,
        };
        let Some(builtin) = builtins::find(name) else {
            self.unknown_function(&call.callee, &callable, "function");
            self.loose_arguments(call, guards);
            return Found::error();
        };
        if !callable(&builtin) {
            let (message, help) = match builtin.role {
                Role::Generator(_) => (
                    format!("`{name}` is a generator, and {} cannot call it", self.position.describe()),
                    "a generator gives a metadata tensor's `values`".to_owned(),
                ),
                Role::Predicate(_) => (
                    format!("`{name}` is a predicate, and {} cannot call it", self.position.describe()),
                    "a predicate stands in a metadata tensor's `requires`".to_owned(),
                ),
                _ => (
                    format!("`{name}` cannot be called in {}", self.position.describe()),
                    format!("`{name}` is for the roofline's formulas"),
                ),
            };
            self.findings.report(&codes::MISPLACED_CALL, call.callee.range, self.path, &**name, message).help(help);
            self.misplaced_arguments(call, Some(builtin), guards);
            return Found::error();
        }
        match &builtin.role {
            Role::Present => self.present(builtin, call, range, guards),
            Role::Bytes => {
                self.arguments(builtin, call, range, guards);
                Found::new(Kind::Dim)
            }
            Role::Primitive { gives, eval } => {
                let kinds = self.arguments(builtin, call, range, guards);
                Found::new(result(*gives, &kinds, *eval))
            }
            Role::Generator(_) | Role::Predicate(_) => Found::error(),
        }
    }

    pub(super) fn present(
        &mut self,
        builtin: &'static Builtin,
        call: &Call,
        range: TextRange,
        guards: &Guards,
    ) -> Found {
        let [operand] = call.args.as_slice() else {
            self.arguments(builtin, call, range, guards);
            return Found::new(Kind::Bool);
        };
        if !call.keywords.is_empty() || call.comprehension.is_some() {
            self.arguments(builtin, call, range, guards);
            return Found::new(Kind::Bool);
        }
        let Some(name) = self.presence_operand(operand, guards) else {
            return Found::new(Kind::Bool);
        };
        let kind = guards.get(&name).cloned().or_else(|| self.scope.get(&name).map(|symbol| symbol.kind.clone()));
        match kind {
            Some(Kind::Maybe(inner)) => {
                Found::bool(guards.with(&name, Some(*inner)), guards.with(&name, Some(Kind::None)))
            }
            // Decided by a guard around it.
            Some(Kind::None) => Found::bool(guards.with(&name, None), guards.clone()),
            _ => Found::new(Kind::Bool),
        }
    }

    /// The name that `present` asks about; a defect where it is none that can be absent.
    pub(super) fn presence_operand(&mut self, operand: &Expr, guards: &Guards) -> Option<Arc<str>> {
        let help = "`present` takes a tensor, a parameter whose type admits `None`, or `out`";
        let Some(name) = operand.as_name() else {
            if !matches!(operand.kind, ExprKind::Error(_)) {
                let message = format!("`present` asks about a name, not about {}", show(operand));
                self.findings
                    .report(&codes::CALL_ARGUMENTS, operand.range, self.path, subject_text(operand), message)
                    .help(help);
            }
            if !matches!(operand.kind, ExprKind::Attribute(..)) {
                self.infer(operand, guards);
            }
            return None;
        };
        let name: Arc<str> = name.into();
        if self.formals.is_none() && self.local(&name).is_none() {
            match self.scope.get(&name) {
                Some(symbol) if matches!(symbol.kind, Kind::Maybe(_) | Kind::Tensor | Kind::Error) => {
                    return Some(name);
                }
                Some(symbol) => {
                    let message = format!("`{name}` is `{}`, which is never absent", symbol.kind);
                    self.findings
                        .report(&codes::CALL_ARGUMENTS, operand.range, self.path, &*name, message)
                        .help(help)
                        .related(symbol.range, format!("`{name}` is declared here"));
                    return None;
                }
                None if &*name == "out" => {
                    if !self.scope.takes_out() {
                        let message = "no output of this op takes `out`".to_owned();
                        self.findings
                            .report(&codes::CALL_ARGUMENTS, operand.range, self.path, "out", message)
                            .help("an output that the caller may pass a buffer for has `buffer: out`");
                    }
                    return None;
                }
                None if self.scope.complete && !self.scope.is_poisoned(&name) && self.scope.family(&name).is_none() => {
                    if self.unknown.insert(name.clone()) {
                        let known = self.scope.iter().filter(|s| matches!(s.kind, Kind::Maybe(_) | Kind::Tensor));
                        let out = self.scope.takes_out().then_some("out");
                        let order = nearest_first(&name, known.map(|symbol| &*symbol.name).chain(out));
                        let help = if order.is_empty() {
                            "nothing in this entry can be absent".to_owned()
                        } else {
                            format!("`present` can ask about {}", some_of(&order, "and"))
                        };
                        self.findings
                            .report(
                                &codes::UNKNOWN_NAME,
                                operand.range,
                                self.path,
                                &*name,
                                format!("`{name}` is not declared"),
                            )
                            .help(help)
                            .meant(nearest(&name, order.iter().copied()));
                    }
                    return None;
                }
                None => {}
            }
        }
        let found = self.name(&name, operand.range, guards);
        if found.kind != Kind::Error {
            let message = format!("`{name}` is `{}`, which is never absent", found.kind);
            self.findings.report(&codes::CALL_ARGUMENTS, operand.range, self.path, &*name, message).help(help);
        }
        None
    }

    /// Binds a call's arguments to the parameters of what it calls and judges each. Gives each parameter's kind (each
    /// argument's, of a variadic one) in order; nothing for one that is left out.
    pub(super) fn arguments(
        &mut self,
        builtin: &'static Builtin,
        call: &Call,
        range: TextRange,
        guards: &Guards,
    ) -> Vec<Option<Kind>> {
        let name = builtin.name;
        let Bound { arguments: bound, problems } = builtins::bind(builtin, call);
        let usage = format!("write `{name}({})`", parameter_names(builtin));
        let misspelt = problems.iter().filter(|p| matches!(p, BindProblem::Unknown { .. })).count();
        let mut loose: Vec<&Expr> = Vec::new();
        for problem in &problems {
            match problem {
                BindProblem::TooMany { excess, takes, by_name } => {
                    let message = match by_name {
                        Some(parameter) => format!("`{name}` takes `{parameter}` by name only"),
                        None => {
                            format!("`{name}` takes {}, and is given {}", count(*takes, "argument"), call.args.len())
                        }
                    };
                    if let Some(first) = excess.first() {
                        self.findings
                            .report(&codes::CALL_ARGUMENTS, first.range, self.path, name, message)
                            .help(&*usage);
                    }
                    loose.extend(excess);
                }
                BindProblem::Unknown { keyword, value } => {
                    let known = builtin.params.iter().filter(|p| p.passing != Passing::Variadic).map(|p| p.name);
                    let order = nearest_first(&keyword.value, known);
                    let help = match order.is_empty() {
                        true => "it takes no argument by name".to_owned(),
                        false => format!("its parameters are {}", list(&order, "and")),
                    };
                    let message = format!("`{name}` has no parameter `{}`", keyword.value);
                    self.findings
                        .report(&codes::CALL_ARGUMENTS, keyword.range, self.path, &*keyword.value, message)
                        .help(help)
                        .meant(nearest(&keyword.value, order.iter().copied()));
                    loose.push(value);
                }
                BindProblem::Duplicate { keyword, value, first } => {
                    let message = format!("`{name}` is given `{}` twice", keyword.value);
                    self.findings
                        .report(&codes::CALL_ARGUMENTS, keyword.range, self.path, &*keyword.value, message)
                        .help("pass it once")
                        .related(first.range, "it is passed here already");
                    loose.push(value);
                }
                // What a misspelt keyword was meant for is not missing besides.
                BindProblem::Missing { names } if names.len() > misspelt => {
                    let message = format!("`{name}` is not given {}", list(names, "and"));
                    self.findings.report(&codes::CALL_ARGUMENTS, range, self.path, name, message).help(&*usage);
                }
                BindProblem::Missing { .. } => {}
            }
        }
        for argument in loose {
            // That it is one too many has been said; a tensor is no stranger where another one is taken.
            let takes_tensor = builtin.params.iter().any(|parameter| matches!(parameter.takes, Takes::Tensor));
            if !takes_tensor || argument.as_name().is_none_or(|name| !self.names_tensor(name)) {
                self.infer(argument, guards);
            }
        }
        // Where one is left out by position, those behind it have moved: only what each is in itself can be said.
        if call.keywords.is_empty() && problems.iter().any(|p| matches!(p, BindProblem::Missing { .. })) {
            self.loose_arguments(call, guards);
            return builtin.params.iter().map(|_| None).collect();
        }
        let mut kinds = Vec::with_capacity(bound.len());
        for (parameter, arguments) in builtin.params.iter().zip(&bound) {
            if arguments.is_empty() && parameter.passing != Passing::Variadic {
                kinds.push(None);
            }
            for argument in arguments {
                let comprehension = call.comprehension.as_deref().filter(|_| kinds.is_empty());
                kinds.push(Some(self.argument(builtin, parameter, argument, comprehension, guards)));
            }
        }
        if name == "per_axis" {
            self.judge_per_axis(&bound, &kinds);
        }
        kinds
    }

    pub(super) fn argument(
        &mut self,
        builtin: &Builtin,
        parameter: &Parameter,
        argument: &Expr,
        comprehension: Option<&Comprehension>,
        guards: &Guards,
    ) -> Kind {
        let taker = format!("`{}` of `{}`", parameter.name, builtin.name);
        let takes = parameter.takes;
        let want = Want { takes: Wanted::Takes(takes), taker: &taker };
        if let Some(comprehension) = comprehension {
            let pushed = self.enter(comprehension, guards);
            let takes_items = match takes {
                Takes::SeqBool => Some(Takes::Bool),
                Takes::SeqInt | Takes::Shape => Some(Takes::Int),
                _ => None,
            };
            let kind = match takes_items {
                Some(takes) => {
                    let taker = format!("each item of `{}`", builtin.name);
                    self.expect(argument, Want { takes: Wanted::Takes(takes), taker: &taker }, guards).kind
                }
                None => self.infer(argument, guards).kind,
            };
            if pushed {
                self.locals.pop();
            }
            return Kind::Seq(Box::new(kind), None);
        }
        let tensor = argument.as_name().filter(|name| self.names_tensor(name));
        match (takes, tensor) {
            (Takes::Presence, _) => {
                self.presence_operand(argument, guards);
                Kind::Tensor
            }
            // That a predicate reads metadata tensors only is judged with them.
            (Takes::Tensor, Some(_)) => Kind::Tensor,
            (Takes::Tensor, None) => {
                let known = self.scope.iter().filter(|symbol| matches!(symbol.role, SymbolRole::Tensor(_)));
                let order = nearest_first(&text_of(argument), known.map(|symbol| &*symbol.name));
                if let Some(name) = argument.as_name().filter(|name| self.is_undeclared(name) && self.scope.complete) {
                    if self.unknown.insert(name.into()) {
                        let message = format!("`{name}` is not declared");
                        self.findings
                            .report(&codes::UNKNOWN_NAME, argument.range, self.path, name, message)
                            .help(format!("the tensors are {}", some_of(&order, "and")))
                            .meant(nearest(name, order.iter().copied()));
                    }
                    return Kind::Error;
                }
                let found = self.infer(argument, guards);
                if found.kind != Kind::Error {
                    let message = format!("{} is `{}`, and {taker} takes a tensor", show(argument), found.kind);
                    self.findings
                        .report(&codes::KIND_MISMATCH, argument.range, self.path, subject_text(argument), message)
                        .help(format!("the tensors are {}", some_of(&order, "and")));
                }
                Kind::Error
            }
            // The contents of a metadata tensor are a sequence of integers.
            (Takes::SeqInt | Takes::Shape | Takes::Seq, Some(_)) if self.position == Position::Predicate => {
                Kind::Seq(Box::new(Kind::Int), None)
            }
            _ => self.expect(argument, want, guards).kind,
        }
    }

    /// Judges what a comprehension runs over and declares its variable. Says whether it did.
    pub(super) fn enter(&mut self, comprehension: &Comprehension, guards: &Guards) -> bool {
        let kind = self.sequence(&comprehension.iterable, "a comprehension", guards);
        let variable = &comprehension.variable;
        let declared = match self.formals {
            Some(formals) => formals.iter().any(|(formal, _)| *formal == variable.value).then_some(None),
            None => self.scope.get(&variable.value).map(|symbol| Some(symbol.range)),
        };
        if self.local(&variable.value).is_some() || declared.is_some() {
            let message = format!("the variable `{}` has the name of something else here", variable.value);
            let defect =
                self.findings.report(&codes::SHADOWED_NAME, variable.range, self.path, &*variable.value, message);
            defect.help("a name means one thing in an entry: give the variable another");
            if let Some(Some(range)) = declared {
                defect.related(range, format!("`{}` is declared here", variable.value));
            }
        }
        self.locals.push((variable.value.clone(), item_of(&kind).unwrap_or(Kind::Error)));
        true
    }

    /// A fixed tuple has the length that `per_axis` is told.
    pub(super) fn judge_per_axis(&mut self, bound: &[Vec<&Expr>], kinds: &[Option<Kind>]) {
        let argument = |at: usize| bound.get(at).and_then(|arguments| arguments.first()).copied();
        let (Some(value), Some(length)) = (argument(0), argument(2)) else { return };
        let (Some(Some(kind)), ExprKind::Int(length_value)) = (kinds.first(), &length.kind) else { return };
        let mut lengths: Vec<usize> = Vec::new();
        let core = match kind {
            Kind::Maybe(inner) => inner,
            kind => kind,
        };
        let members = match core {
            Kind::Union(members) => members.as_slice(),
            one => std::slice::from_ref(one),
        };
        for member in members {
            match member {
                Kind::Seq(_, Some(length)) => lengths.push(*length),
                Kind::Seq(_, None) | Kind::Shape | Kind::Error => return,
                _ => {}
            }
        }
        if lengths.is_empty() || lengths.iter().any(|length| *length as i128 == *length_value) {
            return;
        }
        let message =
            format!("{} has {}, and `per_axis` is told {length_value}", show(value), count(lengths[0], "item"));
        self.findings.report(&codes::KIND_MISMATCH, length.range, self.path, subject_text(value), message);
    }
}

pub(super) fn sort_of(role: &Role) -> &'static str {
    match role {
        Role::Primitive { .. } | Role::Present | Role::Bytes => "a function",
        Role::Generator(_) => "a generator",
        Role::Predicate(_) => "a predicate",
    }
}

pub(super) fn names_of(allowed: &dyn Fn(&&Builtin) -> bool) -> Vec<&'static str> {
    builtins::all().iter().filter(|builtin| allowed(builtin)).map(|builtin| builtin.name).collect()
}

pub(super) fn parameter_names(builtin: &Builtin) -> String {
    let names: Vec<String> = builtin
        .params
        .iter()
        .map(|parameter| match parameter.passing {
            Passing::Required => parameter.name.to_owned(),
            Passing::Optional | Passing::KeywordOnly => format!("{}=…", parameter.name),
            Passing::Variadic => format!("*{}", parameter.name),
        })
        .collect();
    names.join(", ")
}
