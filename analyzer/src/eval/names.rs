//! The names that an expression reads.

use std::sync::Arc;

use super::MAX_DEPTH;
use crate::expr::{Expr, ExprKind};

/// The names that `expr` reads, each once, in the order first read: values, operands of `present` and `bytes`, and
/// those before a dot. A comprehension's variable is bound where it stands, and the names of functions are none.
pub fn free_names(expr: &Expr) -> Vec<Arc<str>> {
    let mut names = Vec::new();
    collect(expr, &mut Vec::new(), &mut names, 0);
    names
}

fn collect<'a>(expr: &'a Expr, bound: &mut Vec<&'a str>, names: &mut Vec<Arc<str>>, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match &expr.kind {
        ExprKind::Name(name) => {
            if !bound.contains(&&**name) && !names.contains(name) {
                names.push(name.clone());
            }
        }
        ExprKind::Call(call) => {
            if let Some(comprehension) = &call.comprehension {
                collect(&comprehension.iterable, bound, names, depth + 1);
                bound.push(&comprehension.variable.value);
            }
            call.args.iter().for_each(|argument| collect(argument, bound, names, depth + 1));
            if call.comprehension.is_some() {
                bound.pop();
            }
            call.keywords.iter().for_each(|(_, value)| collect(value, bound, names, depth + 1));
        }
        _ => expr.for_each_child(&mut |child| collect(child, bound, names, depth + 1)),
    }
}
