//! Which cases of a type family match at the points: exactly one at each, or a defect that names the patterns.

use std::sync::Arc;

use super::Point;
use super::describe::plain;
use super::sheet::Sheet;
use super::signature::Fault;
use super::view::{self, View};
use crate::defect::{codes, list};
use crate::lang::Value;
use crate::text::TextRange;

/// A family applied by a tensor's shape at a point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Applied {
    /// The tensor.
    pub(crate) tensor: usize,
    /// The family.
    pub(crate) family: usize,
    /// What it is matched on.
    pub(crate) scrutinees: Vec<Scrutinee>,
    /// The cases that match.
    pub(crate) cases: Vec<usize>,
    /// Whether each scrutinee is a discriminant itself, so that its values say at which points.
    pub(crate) direct: bool,
}

/// The value of a scrutinee at a point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scrutinee {
    Value(Value),
    Constructor(Arc<str>, Vec<(Arc<str>, Value)>),
    /// One that the point does not decide, as written.
    Text(String),
}

/// A pattern of some values: `None` for any.
#[derive(Debug, Clone, PartialEq)]
enum Form {
    Any,
    Value(Value),
    Constructor(Arc<str>, Vec<(Arc<str>, Option<Value>)>),
    Text(String),
}

impl Form {
    fn of(scrutinee: &Scrutinee) -> Self {
        match scrutinee {
            Scrutinee::Value(value) => Form::Value(value.clone()),
            Scrutinee::Constructor(name, fields) => {
                let fields = fields.iter().map(|(field, value)| (field.clone(), Some(value.clone())));
                Form::Constructor(name.clone(), fields.collect())
            }
            Scrutinee::Text(text) => Form::Text(text.clone()),
        }
    }

    fn matches(&self, scrutinee: &Scrutinee) -> bool {
        match (self, scrutinee) {
            (Form::Any, _) => true,
            (Form::Value(a), Scrutinee::Value(b)) => a == b,
            (Form::Constructor(a, pattern), Scrutinee::Constructor(b, fields)) => {
                let admits = |field: &Arc<str>, value: &Value| {
                    pattern.iter().any(|(name, due)| name == field && due.as_ref().is_none_or(|due| due == value))
                };
                a == b && fields.iter().all(|(field, value)| admits(field, value))
            }
            (Form::Text(a), Scrutinee::Text(b)) => a == b,
            _ => false,
        }
    }

    /// As a case's `when` writes it.
    fn write(&self) -> String {
        match self {
            Form::Any => "_".to_owned(),
            Form::Value(value) => plain(value),
            Form::Constructor(name, fields) => {
                let written = fields.iter().filter_map(|(field, value)| Some((field, value.as_ref()?)));
                let fields: Vec<String> = written.map(|(field, value)| format!("{field}: {}", plain(value))).collect();
                match fields.as_slice() {
                    [] => format!("{{{name}: _}}"),
                    fields => format!("{{{name}: {{{}}}}}", fields.join(", ")),
                }
            }
            Form::Text(text) => text.clone(),
        }
    }
}

/// The applications at each of some points.
type Seen = Vec<(usize, Applied)>;

/// Shapes whose family has no case, or several, at some of the points: each fault, at which points, and whether its words
/// say at which.
pub(crate) fn faults(sheet: &Sheet, points: &[&Point]) -> Vec<(Fault, Vec<usize>, bool)> {
    let seen: Seen = points
        .iter()
        .enumerate()
        .flat_map(|(at, point)| {
            let View { applied, .. } = view::view_of_families(sheet, point);
            applied.into_iter().map(move |applied| (at, applied))
        })
        .collect();
    let mut found = Vec::new();
    for family in 0..sheet.families.members.len() {
        let of_family: Vec<&(usize, Applied)> = seen.iter().filter(|(_, applied)| applied.family == family).collect();
        let mut kinds: Vec<&[usize]> = Vec::new();
        for (_, applied) in &of_family {
            let cases = &applied.cases[..applied.cases.len().min(2)];
            if cases.len() != 1 && !kinds.contains(&cases) {
                kinds.push(cases);
            }
        }
        kinds.sort_unstable();
        for cases in kinds {
            found.push(fault(sheet, family, cases, &of_family));
        }
    }
    found
}

/// The fault of the applications that match `cases`: none, or two and more.
fn fault(sheet: &Sheet, family: usize, cases: &[usize], seen: &[&(usize, Applied)]) -> (Fault, Vec<usize>, bool) {
    let is_one = |applied: &Applied| applied.cases[..applied.cases.len().min(2)] == *cases;
    let (faulty, right): (Vec<&(usize, Applied)>, Vec<_>) = seen.iter().partition(|(_, applied)| is_one(applied));
    let right: Vec<&[Scrutinee]> = right.iter().map(|(_, applied)| &*applied.scrutinees).collect();
    let mut forms: Vec<Vec<Form>> = Vec::new();
    for (_, applied) in &faulty {
        if !forms.iter().any(|form| covers(form, &applied.scrutinees)) {
            forms.push(widened(&applied.scrutinees, &right));
        }
    }
    let patterns: Vec<String> = forms
        .iter()
        .map(|form| match form.as_slice() {
            [one] => one.write(),
            several => format!("[{}]", several.iter().map(Form::write).collect::<Vec<_>>().join(", ")),
        })
        .collect();
    let mut at: Vec<usize> = faulty.iter().map(|(at, _)| *at).collect();
    at.dedup();
    let direct = faulty.iter().all(|(_, applied)| applied.direct);
    let mut applications: Vec<(TextRange, String)> = Vec::new();
    for (_, applied) in &faulty {
        let tensor = &sheet.tensors[applied.tensor].facts;
        let place = (tensor.shape.range(), format!("`{}` applies it here", tensor.name.value));
        if !applications.contains(&place) {
            applications.push(place);
        }
    }
    let member = &sheet.families.members[family];
    let name = &member.name.value;
    let fault = match cases {
        [first, second, ..] => Fault {
            code: &codes::FAMILY_CASES,
            range: member.cases[*second].range,
            path: format!("{}.cases[{second}].when", member.path),
            subject: name.to_string(),
            message: format!("two cases of `{name}` cover {}", list(&patterns, "and")),
            help: Some("the cases of a family are disjoint: narrow one of them".to_owned()),
            related: vec![(member.cases[*first].range, "the other case is here".to_owned())],
        },
        _ => Fault {
            code: &codes::FAMILY_CASES,
            range: member.name.range,
            path: member.path.to_string(),
            subject: name.to_string(),
            message: format!("no case of `{name}` covers {}", list(&patterns, "or")),
            help: Some(match patterns.as_slice() {
                [one] => format!("add `{{when: {one}, is: …}}` to its cases, or refuse it in `shape_rules`"),
                _ => "add a case for each, or refuse them in `shape_rules`".to_owned(),
            }),
            related: Vec::new(),
        },
    };
    let related = fault.related.iter().cloned().chain(applications).collect();
    (Fault { related, ..fault }, at, direct)
}

fn covers(form: &[Form], scrutinees: &[Scrutinee]) -> bool {
    form.iter().zip(scrutinees).all(|(form, scrutinee)| form.matches(scrutinee))
}

/// The widest pattern around `scrutinees` that none of `right` matches. The value of a single Boolean or enum is named
/// always: that the family has no case for anything is no news.
fn widened(scrutinees: &[Scrutinee], right: &[&[Scrutinee]]) -> Vec<Form> {
    let mut form: Vec<Form> = scrutinees.iter().map(Form::of).collect();
    let fits = |form: &[Form]| !right.iter().any(|scrutinees| covers(form, scrutinees));
    for position in (0..form.len()).rev() {
        if let Form::Constructor(name, fields) = form[position].clone() {
            let mut fields = fields;
            for field in (0..fields.len()).rev() {
                let value = fields[field].1.take();
                form[position] = Form::Constructor(name.clone(), fields.clone());
                if !fits(&form) {
                    fields[field].1 = value;
                    form[position] = Form::Constructor(name.clone(), fields.clone());
                }
            }
        }
    }
    for position in (0..form.len()).rev() {
        let named = form.iter().filter(|form| **form != Form::Any).count();
        if named < 2 {
            break;
        }
        let kept = std::mem::replace(&mut form[position], Form::Any);
        if !fits(&form) {
            form[position] = kept;
        }
    }
    form
}
