//! What the call around the cursor takes: the parameters of a built-in, the formals of a family.
//!
//! The tokens before the cursor tell which call it stands in, so that a call that is still being written has an answer.

use super::complete::closers;
use super::hover::{describe_builtin_meaning, describe_family};
use super::site::{Due, Holds, Items, Part, Site, descend, root};
use crate::analysis::parse;
use crate::check::Scope;
use crate::db::AnalysisDb;
use crate::defect::Findings;
use crate::expr::{TokenClass, tokens};
use crate::lang::builtins::{self, Builtin, Passing, Role};
use crate::syntax::{EntryTree, ScalarValue, parse_entry};
use crate::text::{TextRange, TextSize};

/// What a call takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureHelp {
    /// The signature in one line.
    pub label: String,
    /// What it gives, in Markdown.
    pub documentation: String,
    /// Its parameters, in order.
    pub parameters: Vec<SignatureParameter>,
    /// The parameter that the cursor's argument is passed to; nothing where it is one too many.
    pub active: Option<usize>,
}

/// A parameter of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureParameter {
    /// Its characters in the label, in bytes.
    pub label: TextRange,
    /// How it is passed; may be empty.
    pub documentation: String,
}

/// What the innermost call around `offset` takes.
pub fn signature_help(db: &AnalysisDb, path: &str, offset: TextSize) -> Option<SignatureHelp> {
    let site = Site::at(db, path, offset)?;
    let text = site.text();
    let at = text.floor_char_boundary(usize::from(site.local(offset)).min(text.len()));
    let cursor = TextSize::try_from(at).ok()?;
    let (before, after) = text.split_at(at);
    // Blanks behind a plain scalar are no part of it.
    let close = TextSize::of(before.trim_end_matches([' ', '\t']));
    if let Some(found) = in_tree(&site, text, &site.tree, cursor).or_else(|| in_tree(&site, text, &site.tree, close)) {
        return Some(found);
    }
    // What is open on the line is closed, behind the cursor or behind the line.
    let line = before.get(before.rfind(['\n', '\r']).map_or(0, |i| i + 1)..)?;
    let open = closers(line);
    if open.is_empty() {
        return None;
    }
    let next = after.find(['\n', '\r']).and_then(|i| after.get(i..)).unwrap_or("");
    [after, next].iter().find_map(|after| {
        let patched = format!("{before}{open}{after}");
        in_tree(&site, &patched, &parse_entry(&patched), cursor)
    })
}

/// A bracket that is open before the cursor.
#[derive(Default)]
struct Frame {
    /// The name directly before it.
    callee: String,
    is_square: bool,
    commas: usize,
    /// The name that the argument at the cursor is passed by.
    keyword: Option<String>,
}

fn in_tree(site: &Site<'_>, text: &str, tree: &EntryTree, at: TextSize) -> Option<SignatureHelp> {
    let parts = descend(&tree.value, root(site.kind, tree), at);
    let &Part::Value { node, due } = parts.last()? else { return None };
    let (Due::Scalar(holds, _) | Due::List(Items::Scalars(holds), _)) = due else { return None };
    let speaks = matches!(
        holds,
        Holds::Expression(_)
            | Holds::Condition
            | Holds::Shape(_)
            | Holds::TensorDType
            | Holds::Generator
            | Holds::Predicate
            | Holds::RowValue
    );
    let scalar = node.as_scalar().filter(|scalar| speaks && scalar.value == ScalarValue::Str)?;
    let frames = frames(text, &tokens(scalar, node.range), at);
    let own;
    let scope = match &site.analysis {
        Some(analysis) if text.len() == site.text().len() => &analysis.scope,
        _ => {
            own = Scope::of(&parse(text).entry, &site.adts, &mut Findings::default());
            &own
        }
    };
    frames.iter().rev().find_map(|frame| match frame.is_square {
        false => Some(of_builtin(builtins::find(&frame.callee)?, frame)),
        true if matches!(holds, Holds::Shape(_)) => {
            let family = scope.family(&frame.callee)?;
            let formals: Vec<String> =
                family.formals.iter().flatten().map(|(name, kind)| format!("{name}: {kind}")).collect();
            let parameters = formals.iter().map(|formal| (formal.clone(), String::new()));
            let (label, parameters) = line(&format!("{}[", family.name), parameters.collect(), "]");
            let active = Some(frame.commas).filter(|&position| position < formals.len());
            let documentation = describe_family(site, &family.name).unwrap_or_default();
            Some(SignatureHelp { label, documentation, parameters, active })
        }
        true => None,
    })
}

/// The brackets that are open at `at`, outside in.
fn frames(text: &str, tokens: &[crate::expr::Token], at: TextSize) -> Vec<Frame> {
    let word = |range: TextRange| text.get(usize::from(range.start())..usize::from(range.end())).unwrap_or("");
    let mut frames: Vec<Frame> = Vec::new();
    // The dotted name that ends with the last token.
    let mut name = String::new();
    let mut tokens = tokens.iter().peekable();
    while let Some(token) = tokens.next_if(|token| token.range.start() < at) {
        let symbol = word(token.range);
        match (token.class, symbol) {
            (TokenClass::Name, _) => {
                if !name.ends_with('.') {
                    name.clear();
                }
                name.push_str(symbol);
                // `default=` is the argument's name also where the cursor stands in front of the sign.
                let is_keyword = tokens.peek().is_some_and(|next| word(next.range) == "=");
                if let Some(frame) = frames.last_mut().filter(|_| is_keyword) {
                    frame.keyword = Some(symbol.to_owned());
                }
                continue;
            }
            (_, ".") if !name.is_empty() => {
                name.push('.');
                continue;
            }
            (TokenClass::Punctuation, "(" | "[") => {
                let callee = std::mem::take(&mut name);
                frames.push(Frame { callee, is_square: symbol == "[", ..Frame::default() });
            }
            (TokenClass::Punctuation, ")" | "]") => {
                frames.pop();
            }
            (TokenClass::Punctuation, ",") => {
                if let Some(frame) = frames.last_mut() {
                    frame.commas += 1;
                    frame.keyword = None;
                }
            }
            _ => {}
        }
        name.clear();
    }
    frames
}

fn of_builtin(builtin: &'static Builtin, frame: &Frame) -> SignatureHelp {
    let signature = builtin.signature();
    let open = signature.find('(').map_or(0, |at| at + 1);
    let mut from = open;
    let parameters = builtin.params.iter().map(|parameter| {
        let shown = parameter.to_string();
        let start = signature.get(from..).and_then(|rest| rest.find(&shown)).map_or(from, |at| from + at);
        from = (start + shown.len()).min(signature.len());
        let documentation = match parameter.passing {
            Passing::Required => "",
            Passing::Optional => "may be left out",
            Passing::KeywordOnly => "passed by name only; may be left out",
            Passing::Variadic => "any number of arguments",
        };
        SignatureParameter { label: range(start, from), documentation: documentation.to_owned() }
    });
    let parameters = parameters.collect();
    let active = match &frame.keyword {
        Some(name) => builtin.params.iter().position(|parameter| parameter.name == name),
        None => {
            let variadic = builtin.params.iter().position(|parameter| parameter.passing == Passing::Variadic);
            match variadic {
                Some(position) if frame.commas >= position => Some(position),
                _ => builtin
                    .params
                    .get(frame.commas)
                    .filter(|parameter| parameter.passing != Passing::KeywordOnly)
                    .map(|_| frame.commas),
            }
        }
    };
    let mut documentation = describe_builtin_meaning(builtin);
    if matches!(builtin.role, Role::Predicate(_)) {
        documentation.push_str(" The contents of the tensor that it constrains are its first argument, unwritten.");
    }
    SignatureHelp { label: signature, documentation, parameters, active }
}

/// A signature of `parameters` between `open` and `close`.
fn line(open: &str, parameters: Vec<(String, String)>, close: &str) -> (String, Vec<SignatureParameter>) {
    let mut label = open.to_owned();
    let mut placed = Vec::new();
    for (position, (text, documentation)) in parameters.into_iter().enumerate() {
        if position > 0 {
            label.push_str(", ");
        }
        let start = label.len();
        label.push_str(&text);
        placed.push(SignatureParameter { label: range(start, label.len()), documentation });
    }
    label.push_str(close);
    (label, placed)
}

fn range(start: usize, end: usize) -> TextRange {
    let size = |at: usize| TextSize::try_from(at).unwrap_or_default();
    TextRange::new(size(start), size(end))
}
