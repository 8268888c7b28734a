//! A point with what follows from it, and expressions folded there.

use std::sync::Arc;

use super::{Bits, CallItem, Item, Node, Sheet, When};
use crate::check::{Assignment, Point, facts};
use crate::eval::{self, Environment};
use crate::lang::Value;

/// A point with what follows from it.
pub(crate) struct Completed {
    /// The point, with the presence of every tensor that it decides.
    pub(crate) point: Point,
    /// The `let`s whose values it decides.
    pub(crate) known_lets: Vec<(Arc<str>, Value)>,
    /// Every `let`, folded.
    pub(crate) lets: Vec<Option<Item>>,
}

impl Completed {
    pub(crate) fn environment(&self) -> PointEnvironment<'_> {
        PointEnvironment { point: &self.point, lets: &self.known_lets }
    }
}

/// What a point fixes: its assignments, and the `let`s that it decides.
pub(crate) struct PointEnvironment<'a> {
    pub(crate) point: &'a Point,
    pub(crate) lets: &'a [(Arc<str>, Value)],
}

impl Environment for PointEnvironment<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        self.point.value(name).or_else(|| self.lets.iter().find(|(n, _)| &**n == name).map(|(_, v)| v.clone()))
    }

    fn present(&self, name: &str) -> Option<bool> {
        self.point.present(name)
    }

    fn field(&self, name: &str, field: &str) -> Option<Value> {
        self.point.field(name, field)
    }
}

impl Sheet {
    /// The point completed with every tensor's presence, and the `let`s that it decides.
    pub(crate) fn complete(&self, point: &Point) -> Completed {
        let mut completed = point.clone();
        let mut lets = self.constant_lets.clone();
        let mut folded: Vec<Option<Item>> = vec![None; self.lets.len()];
        for tensor in &self.tensors {
            if let When::Always(present) = tensor.present {
                completed.assignments.push((tensor.facts.name.value.clone(), Assignment::Present(present)));
            }
        }
        for node in &self.order {
            match *node {
                Node::Let(l) => {
                    let Some(item) = &self.lets[l].value else { continue };
                    if !item.varies() {
                        folded[l] = Some(item.clone());
                        continue;
                    }
                    let item = self.fold(item, &PointEnvironment { point: &completed, lets: &lets });
                    if let Some(value) = facts::literal(&item.expr).filter(|_| self.lets[l].sym.is_some()) {
                        lets.push((self.lets[l].name.clone(), value));
                    }
                    folded[l] = Some(item);
                }
                Node::Tensor(t) => {
                    let tensor = &self.tensors[t];
                    if let When::Condition(item) = &tensor.present {
                        let item = self.fold(item, &PointEnvironment { point: &completed, lets: &lets });
                        if let Some(Value::Bool(present)) = facts::literal(&item.expr) {
                            completed.assignments.push((tensor.facts.name.value.clone(), Assignment::Present(present)));
                        }
                    }
                }
            }
        }
        // A `let` on a cycle is taken as written.
        for (l, slot) in folded.iter_mut().enumerate() {
            if slot.is_none() {
                slot.clone_from(&self.lets[l].value);
            }
        }
        Completed { point: completed, known_lets: lets, lets: folded }
    }

    /// `item` folded at a point.
    pub(crate) fn fold(&self, item: &Item, point: &PointEnvironment<'_>) -> Item {
        let expr = eval::fold(&item.expr, point);
        let syms = self.syms(&expr);
        Item { expr: Arc::new(expr), syms, vars: Bits::default(), ..item.clone() }
    }

    /// `call` with its arguments folded at a point.
    pub(crate) fn fold_call(&self, item: &CallItem, point: &PointEnvironment<'_>) -> CallItem {
        let mut call = (*item.call).clone();
        call.args.iter_mut().chain(call.keywords.iter_mut().map(|(_, value)| value)).for_each(|arg| {
            *arg = eval::fold(arg, point);
        });
        let syms = self.call_syms(&call);
        CallItem { call: Arc::new(call), syms, vars: Bits::default(), ..item.clone() }
    }
}
