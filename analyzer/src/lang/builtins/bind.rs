//! A call's arguments and the parameters that they fill.

use super::{Builtin, Passing};
use crate::expr::{Call, Expr, Ident};

/// The arguments of a call, by the parameter that each fills.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound<'a> {
    /// Of each parameter, in order: its argument, or nothing; of a variadic one, all of its arguments.
    pub arguments: Vec<Vec<&'a Expr>>,
    /// What does not fit, in the order written, what is missing last. The rest is bound all the same.
    pub problems: Vec<BindProblem<'a>>,
}

/// What does not fit a built-in's parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum BindProblem<'a> {
    /// A positional argument for which no positional parameter is left.
    TooMany {
        /// The arguments that have no place.
        excess: Vec<&'a Expr>,
        /// How many positional arguments the built-in takes.
        takes: usize,
        /// A parameter that is left, but is passed by name only.
        by_name: Option<&'static str>,
    },
    /// A keyword that is no parameter's name.
    Unknown {
        /// The keyword.
        keyword: &'a Ident,
        /// Its argument.
        value: &'a Expr,
    },
    /// A keyword for a parameter that has its argument already.
    Duplicate {
        /// The keyword.
        keyword: &'a Ident,
        /// Its argument.
        value: &'a Expr,
        /// The argument that fills the parameter.
        first: &'a Expr,
    },
    /// Required parameters without an argument.
    Missing {
        /// Their names.
        names: Vec<&'static str>,
    },
}

/// Binds the arguments of `call` to the parameters of `builtin`, as Python does.
pub fn bind<'a>(builtin: &Builtin, call: &'a Call) -> Bound<'a> {
    let mut arguments: Vec<Vec<&Expr>> = vec![Vec::new(); builtin.params.len()];
    let mut problems = Vec::new();
    let mut excess = Vec::new();
    let mut at = 0;
    for argument in &call.args {
        match builtin.params.get(at).map(|parameter| parameter.passing) {
            None | Some(Passing::KeywordOnly) => excess.push(argument),
            Some(Passing::Variadic) => arguments[at].push(argument),
            Some(Passing::Required | Passing::Optional) => {
                arguments[at].push(argument);
                at += 1;
            }
        }
    }
    let too_many = !excess.is_empty();
    if too_many {
        let takes = builtin.params.iter().filter(|p| p.passing != Passing::KeywordOnly).count();
        problems.push(BindProblem::TooMany { excess, takes, by_name: builtin.params.get(at).map(|p| p.name) });
    }
    for (keyword, value) in &call.keywords {
        let position = builtin.named().position(|name| name == Some(&*keyword.value));
        match position.map(|position| &mut arguments[position]) {
            None => problems.push(BindProblem::Unknown { keyword, value }),
            Some(slot) => match slot.first() {
                Some(&first) => problems.push(BindProblem::Duplicate { keyword, value, first }),
                None => slot.push(value),
            },
        }
    }
    let names: Vec<&'static str> = builtin
        .params
        .iter()
        .zip(&arguments)
        .filter(|(parameter, filled)| parameter.passing == Passing::Required && filled.is_empty())
        .map(|(parameter, _)| parameter.name)
        .collect();
    if !names.is_empty() {
        problems.push(BindProblem::Missing { names });
    }
    Bound { arguments, problems }
}

impl Builtin {
    /// Of each parameter, the name that it can be passed by.
    fn named(&self) -> impl Iterator<Item = Option<&'static str>> {
        self.params.iter().map(|p| (p.passing != Passing::Variadic).then_some(p.name))
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use crate::expr::ExprKind;
    use crate::text::{Spanned, TextRange};

    fn int(value: i128) -> Expr {
        Expr::new(ExprKind::Int(value), TextRange::default())
    }

    fn bound(name: &str, args: &[i128], keywords: &[(&str, i128)]) -> (Vec<Vec<i128>>, Vec<String>) {
        let call = Call {
            callee: Spanned::new(name.into(), TextRange::default()),
            args: args.iter().map(|&n| int(n)).collect(),
            keywords: keywords
                .iter()
                .map(|&(name, n)| (Spanned::new(name.into(), TextRange::default()), int(n)))
                .collect(),
            comprehension: None,
        };
        let bound = bind(find(name).unwrap(), &call);
        let value = |e: &Expr| match e.kind {
            ExprKind::Int(n) => n,
            _ => -1,
        };
        let problems = bound.problems.iter().map(|problem| match problem {
            BindProblem::TooMany { excess, takes, by_name } => format!("{} over {takes} {by_name:?}", excess.len()),
            BindProblem::Unknown { keyword, .. } => format!("unknown {}", keyword.value),
            BindProblem::Duplicate { keyword, first, .. } => format!("twice {} after {}", keyword.value, value(first)),
            BindProblem::Missing { names } => format!("missing {}", names.join(" ")),
        });
        let problems = problems.collect();
        (bound.arguments.iter().map(|filled| filled.iter().map(|e| value(e)).collect()).collect(), problems)
    }

    #[test]
    fn arguments_fill_parameters_as_in_python() {
        assert_eq!(bound("ceil_div", &[7], &[("b", 2)]), (vec![vec![7], vec![2]], vec![]));
        assert_eq!(bound("ceil_div", &[], &[("b", 2), ("a", 7)]), (vec![vec![7], vec![2]], vec![]));
        assert_eq!(bound("per_axis", &[1, 2, 3], &[]).0, [vec![1], vec![2], vec![3], vec![]]);
        assert_eq!(bound("broadcast", &[1, 2, 3], &[]), (vec![vec![1, 2, 3]], vec![]));
        assert_eq!(bound("broadcast", &[], &[]), (vec![vec![]], vec![]));
        assert_eq!(bound("max", &[1], &[("default", 0)]), (vec![vec![1], vec![0]], vec![]));
    }

    #[test]
    fn every_problem_is_told() {
        assert_eq!(bound("ceil_div", &[1, 2, 3, 4], &[]).1, ["2 over 2 None"]);
        assert_eq!(bound("max", &[1, 2], &[]).1, ["1 over 1 Some(\"default\")"]);
        assert_eq!(bound("ceil_div", &[1], &[]).1, ["missing b"]);
        assert_eq!(bound("ceil_div", &[], &[]).1, ["missing a b"]);
        assert_eq!(
            bound("ceil_div", &[1], &[("a", 2), ("c", 3), ("b", 4), ("b", 5)]).1,
            ["twice a after 1", "unknown c", "twice b after 4"]
        );
        assert_eq!(bound("broadcast", &[1], &[("shapes", 2)]).1, ["unknown shapes"]);
    }
}
