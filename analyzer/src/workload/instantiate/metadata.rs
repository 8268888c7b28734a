//! What metadata tensors hold: that their values fit, and what is required of them.

use super::*;

/// What the cases of one row share: the same recipes with the same arguments, and what was found out about them.
#[derive(Default)]
pub(in crate::workload) struct RowCache {
    recipes: Vec<Arc<Generated>>,
    contents: Vec<(Arc<Generated>, Arc<[i64]>)>,
    /// Which predicate holds of which recipe, at which arguments.
    held: Vec<Held>,
}

#[derive(PartialEq)]
pub(super) struct Held {
    predicate: &'static str,
    of: Arc<Generated>,
    args: Vec<Bound>,
}

/// An argument of a predicate.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Bound {
    Value(Value),
    Tensor(Arc<Generated>),
}

impl RowCache {
    pub(super) fn recipe(
        &mut self,
        op: &str,
        tensor: &str,
        name: &'static str,
        generator: &'static builtins::Generator,
        args: Vec<Value>,
    ) -> Result<Arc<Generated>, builtins::DomainError> {
        let seed = Seed::new(op, tensor);
        if let Some(known) = self.recipes.iter().find(|recipe| recipe.is_recipe(name, &args, seed)) {
            return Ok(known.clone());
        }
        let recipe = Arc::new(Generated::new(name, generator, args, seed)?);
        self.recipes.push(recipe.clone());
        Ok(recipe)
    }

    /// The values of a recipe, kept while its row is judged and no longer: they can be many.
    fn contents(&mut self, recipe: &Arc<Generated>) -> Result<Arc<[i64]>, builtins::DomainError> {
        if let Some((_, values)) = self.contents.iter().find(|(known, _)| Arc::ptr_eq(known, recipe)) {
            return Ok(values.clone());
        }
        let values = recipe.generate()?;
        self.contents.push((recipe.clone(), values.clone()));
        Ok(values)
    }
}

impl Maker<'_, '_> {
    /// The values of the metadata tensors fit their dtypes and satisfy what is required of them.
    pub(super) fn contents(&mut self, tensors: &[(Arc<str>, Option<CallTensor>)], cache: &mut RowCache) {
        let branch = self.branch;
        for (tensor, (_, made)) in branch.tensors.iter().zip(tensors) {
            let Some(made) = made else { continue };
            let (Some(recipe), Some(values)) = (&made.values, &tensor.values) else {
                if made.values.is_none() && !tensor.requires.is_empty() {
                    self.lack(format!("the values of `{}`", tensor.name));
                }
                continue;
            };
            let mut names = Vec::new();
            facts::call_reads(&values.call, &mut |read| add(&mut names, read.name()));
            let mut names = origins(names, &self.frame);
            if made.dtype == DType::Int32 {
                self.fits_int32(tensor, values, recipe, &names, cache);
            }
            for required in &tensor.requires {
                // What is required is named first, so that the defect stands at the value that it speaks of.
                let mut of = Vec::new();
                facts::call_reads(&required.call, &mut |read| add(&mut of, read.name()));
                let mut of = origins(of, &self.frame);
                names.iter().for_each(|name| add(&mut of, name));
                self.requirement(tensor, recipe, required, tensors, of, cache);
            }
            names.clear();
        }
    }

    pub(super) fn fits_int32(
        &mut self,
        tensor: &BranchTensor,
        values: &BranchCall,
        recipe: &Arc<Generated>,
        names: &[Arc<str>],
        cache: &mut RowCache,
    ) {
        let fits = |value: i128| i32::try_from(value).is_ok();
        if recipe.bounds().is_some_and(|(low, high)| fits(low) && fits(high)) {
            return;
        }
        let Some(contents) = self.contents_of(tensor, values, recipe, names, cache) else { return };
        if let Some(value) = contents.iter().find(|value| !fits(i128::from(**value))) {
            self.tell(Trouble {
                code: &codes::ROW_METADATA,
                names: names.to_vec(),
                subject: tensor.name.clone(),
                message: format!("`{}` has the value {value}, which int32 cannot hold", tensor.name),
                related: (values.range, format!("the `values` of `{}`", tensor.name)),
            });
        }
    }

    /// The values of a tensor; nothing where there are none, which is said.
    pub(super) fn contents_of(
        &mut self,
        tensor: &BranchTensor,
        values: &BranchCall,
        recipe: &Arc<Generated>,
        names: &[Arc<str>],
        cache: &mut RowCache,
    ) -> Option<Arc<[i64]>> {
        if let Some(why) = recipe.too_many() {
            self.lack(format!("the values of `{}`: {why}", tensor.name));
            return None;
        }
        match cache.contents(recipe) {
            Ok(contents) => Some(contents),
            Err(why) => {
                self.tell(Trouble {
                    code: &codes::ROW_DOMAIN,
                    names: names.to_vec(),
                    subject: tensor.name.clone(),
                    message: format!("`{}` cannot fill `{}`: {why}", written(values), tensor.name),
                    related: (values.range, format!("the `values` of `{}`", tensor.name)),
                });
                None
            }
        }
    }

    pub(super) fn requirement(
        &mut self,
        tensor: &BranchTensor,
        recipe: &Arc<Generated>,
        required: &BranchCall,
        tensors: &[(Arc<str>, Option<CallTensor>)],
        names: Vec<Arc<str>>,
        cache: &mut RowCache,
    ) {
        let what = format!("whether `{}` satisfies `{}`", tensor.name, written(required));
        let faulty = self.facts.is_faulty(required.range, &required.path);
        let found = builtins::find(&required.call.callee.value).filter(|_| !faulty);
        let Some((builtin, predicate)) = found.and_then(|b| match b.role {
            Role::Predicate(predicate) => Some((b, predicate)),
            _ => None,
        }) else {
            self.lack(what);
            return;
        };
        let Some(slots) = bind(&required.call, builtin) else {
            self.lack(what);
            return;
        };
        let mut args = Vec::with_capacity(slots.len());
        for slot in slots {
            let named = slot.and_then(Expr::as_name).filter(|name| self.branch.tensor(name).is_some());
            match (slot, named) {
                (None, _) => args.push(Bound::Value(Value::None)),
                (_, Some(name)) => {
                    let other = tensors.iter().find(|(n, _)| &**n == name).and_then(|(_, made)| made.as_ref());
                    let Some(values) = other.and_then(|made| made.values.clone()) else {
                        self.lack(format!("the values of `{name}`"));
                        return;
                    };
                    args.push(Bound::Tensor(values));
                }
                (Some(expr), None) => match evaluate(expr, &self.frame) {
                    Ok(value) => args.push(Bound::Value(value)),
                    Err(error) => {
                        let mut troubles = Vec::new();
                        let what = format!("the argument `{expr}` of `{}`", builtin.name);
                        let related = (required.range, format!("required of `{}`", tensor.name));
                        self.failed(&error, expr, &what, &tensor.name, related, &mut troubles);
                        troubles.into_iter().for_each(|trouble| self.tell(trouble));
                        return;
                    }
                },
            }
        }
        if holds_by_bounds(predicate, recipe, &args) {
            return;
        }
        let held = Held { predicate: builtin.name, of: recipe.clone(), args };
        if cache.held.contains(&held) {
            return;
        }
        let Some(values) = &tensor.values else { return };
        let Some(contents) = self.contents_of(tensor, values, recipe, &names, cache) else { return };
        // The contents of the tensors that are arguments live as long as the arguments that borrow them.
        let mut others = Vec::with_capacity(held.args.len());
        for arg in &held.args {
            others.push(match arg {
                Bound::Value(_) => None,
                Bound::Tensor(other) => {
                    let Ok(contents) = cache.contents(other) else {
                        // Said where that tensor itself is judged.
                        self.lack(what);
                        return;
                    };
                    Some((other.clone(), contents))
                }
            });
        }
        let arguments: Vec<Argument<'_>> = held
            .args
            .iter()
            .zip(&others)
            .map(|(arg, other)| match (arg, other) {
                (_, Some((recipe, values))) => Argument::Tensor(Contents { shape: recipe.shape(), values }),
                (Bound::Value(value), None) => Argument::Value(value.clone()),
                (Bound::Tensor(_), None) => Argument::Value(Value::None),
            })
            .collect();
        match (predicate.holds)(&Contents { shape: recipe.shape(), values: &contents }, &arguments) {
            Ok(()) => cache.held.push(held),
            Err(why) => self.tell(Trouble {
                code: &codes::ROW_METADATA,
                names,
                subject: tensor.name.clone(),
                message: format!("`{}` does not satisfy `{}`: {why}", tensor.name, written(required)),
                related: (required.range, format!("required of `{}`", tensor.name)),
            }),
        }
    }
}

/// Whether the predicate holds whatever the generator draws.
pub(super) fn holds_by_bounds(predicate: &Predicate, recipe: &Generated, args: &[Bound]) -> bool {
    let mut values = Vec::with_capacity(args.len());
    for arg in args {
        match arg {
            Bound::Value(value) => values.push(Argument::Value(value.clone())),
            Bound::Tensor(_) => return false,
        }
    }
    recipe.bounds().is_some_and(|bounds| (predicate.implied)(bounds, &values))
}

/// The argument of each parameter, in their order; nothing where the call does not fit them, which has been reported.
pub(super) fn bind<'c>(call: &'c expr::Call, builtin: &Builtin) -> Option<Vec<Option<&'c Expr>>> {
    let bound = builtins::bind(builtin, call);
    let slots = bound.arguments.iter().map(|filled| filled.first().copied()).collect();
    bound.problems.is_empty().then_some(slots)
}
