//! Mappings with fixed keys, and the values that their keys take.

use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

use crate::defect::{Findings, codes, list, nearest, nearest_first};
use crate::expr::{Expr, ExprKind, Ident, parse_expression, parse_shape};
use crate::lang::DType;
use crate::model::schema::{self, Form, Key, Section, dtype_names, is_python_keyword};
use crate::model::{Condition, Fact, Formula, Generator, Path};
use crate::syntax::{Node, NodeKind, Pair, Scalar, ScalarValue};
use crate::text::{Spanned, TextRange, TextSize};

/// Where a value stands, for messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot<'a> {
    /// The value.
    pub(super) node: &'a Node,
    /// Where its key stands; for an item of a list, where the item does.
    pub(super) key: TextRange,
    /// Its path in the entry.
    pub(super) path: &'a str,
    /// What it must be, and a value that would do.
    pub(super) expects: &'static str,
    /// A value that would do.
    pub(super) example: &'a str,
}

/// What a message calls the place at `path`.
pub(super) fn label(path: &str) -> &str {
    path.strip_prefix("signature.").unwrap_or(path)
}

/// The last step of a path: `shape` of `signature.inputs.x.shape`, `workloads[3]` of that.
fn subject(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// Whether the YAML reader has reported this node, or something in it, already: a second defect would be for the same
/// mistake.
pub(super) fn is_reported(node: &Node) -> bool {
    if let NodeKind::Scalar(scalar) = &node.kind {
        return scalar.yaml12.is_some();
    }
    let mut stack = vec![node];
    // No value that was meant to be of another form is larger than this.
    let mut left = 1000;
    while let Some(node) = stack.pop() {
        left -= 1;
        if left == 0 {
            return false;
        }
        match &node.kind {
            NodeKind::Unreadable => return true,
            NodeKind::Scalar(_) => {}
            NodeKind::Sequence(items) => stack.extend(items),
            NodeKind::Mapping(pairs) => stack.extend(pairs.iter().flat_map(|pair| [&pair.key, &pair.value])),
        }
    }
    false
}

/// The characters of a scalar's text, without its quotes.
pub(super) fn text_range(scalar: &Scalar, node: &Node) -> TextRange {
    let range = scalar.map.range(TextRange::up_to(TextSize::of(&*scalar.text)));
    if range.is_empty() || !node.range.contains_range(range) { node.range } else { range }
}

/// The string that a node states and where, quotes aside.
pub(super) fn string(node: &Node) -> Option<Ident> {
    let scalar = node.as_scalar().filter(|scalar| scalar.value == ScalarValue::Str)?;
    Some(Spanned::new(scalar.text.clone(), text_range(scalar, node)))
}

/// A node as one line of flow YAML, for "write … instead". `None` where it is too long or deep to be of help.
fn flow(node: &Node, depth: usize) -> Option<String> {
    let text = match &node.kind {
        NodeKind::Scalar(scalar) => scalar.text.to_string(),
        NodeKind::Sequence(items) if depth < 4 => {
            let items: Option<Vec<String>> = items.iter().map(|item| flow(item, depth + 1)).collect();
            format!("[{}]", items?.join(", "))
        }
        _ => return None,
    };
    (text.len() <= 200 && !text.contains(['\n', '"', '\\'])).then_some(text)
}

/// A key's text. A key that is no string has a defect of the YAML reader's.
pub(super) fn key_text(pair: &Pair) -> Option<Ident> {
    string(&pair.key)
}

/// Whether every key is a string; any other has a defect of the YAML reader's.
pub(super) fn is_complete(pairs: &[Pair]) -> bool {
    pairs.iter().all(|pair| pair.key.as_str().is_some())
}

fn has_unreadable_key(pairs: &[Pair]) -> bool {
    pairs.iter().any(|pair| matches!(pair.key.kind, NodeKind::Unreadable))
}

/// Reports that a value has not the form it must have.
pub(super) fn wrong_form(slot: Slot<'_>, findings: &mut Findings) {
    if is_reported(slot.node) {
        return;
    }
    let label = label(slot.path);
    let key = subject(slot.path);
    let is_item = key.ends_with(']');
    let is_null = matches!(slot.node.as_scalar(), Some(scalar) if scalar.value == ScalarValue::Null);
    let empty = slot.node.range.is_empty();
    let range = if empty { slot.key } else { slot.node.range };
    let message = match &slot.node.kind {
        _ if is_null && empty => format!("`{label}` has no value; it must be {}", slot.expects),
        NodeKind::Sequence(items) if items.is_empty() => {
            format!("`{label}` is an empty list; it must be {}", slot.expects)
        }
        NodeKind::Mapping(pairs) if pairs.is_empty() => {
            format!("`{label}` is an empty mapping; it must be {}", slot.expects)
        }
        _ if slot.node.as_str().is_some_and(|text| text.trim().is_empty()) => {
            format!("`{label}` is an empty string; it must be {}", slot.expects)
        }
        _ => format!("`{label}` must be {}, not {}", slot.expects, slot.node.describe()),
    };
    // One text, written without the list that it is due in.
    let lone = slot.expects.starts_with("a list of") && slot.node.as_str().is_some();
    let wants_text = slot.expects.ends_with("in a string") || slot.expects == "a string";
    // `true` in quotes is a name that nothing declares; no expression is meant by it.
    let is_bool = matches!(slot.node.as_scalar(), Some(scalar) if matches!(scalar.value, ScalarValue::Bool(_)));
    let is_no_text = is_null || (is_bool && slot.expects.ends_with("in a string"));
    let quoted =
        if wants_text && !is_no_text { flow(slot.node, 0).filter(|text| !text.trim().is_empty()) } else { None };
    let help = match quoted {
        Some(text) if lone => format!("make it a list: `{key}: [\"{text}\"]`"),
        Some(text) if is_item => format!("quote it: `\"{text}\"`"),
        Some(text) => format!("quote it: `{key}: \"{text}\"`"),
        None if is_item => format!("for example `{}`", slot.example),
        None => format!("for example `{key}: {}`", slot.example),
    };
    findings.report(&codes::WRONG_FORM, range, slot.path, key, message).help(help);
}

/// Reports a key that a section does not know.
pub(super) fn unknown_key(section: &'static Section, key: &Ident, path: &str, findings: &mut Findings) {
    let legal = nearest_first(&key.value, section.names());
    let keys = match legal.as_slice() {
        [one] => format!("its only key is `{one}`"),
        _ => format!("the keys are {}", list(&legal, "and")),
    };
    let message = format!("{} has no key `{}`", section.noun, shown(&key.value));
    let hint = match nearest(&key.value, legal.iter().copied()) {
        Some(name) => Some(format!("did you mean `{name}`?")),
        None => elsewhere(section, &key.value),
    };
    findings
        .report(&codes::UNKNOWN_KEY, key.range, path, &*key.value, message)
        .help(match hint {
            Some(hint) => {
                format!("{hint} {}{}", keys.get(..1).unwrap_or("").to_uppercase(), keys.get(1..).unwrap_or(""))
            }
            None => keys,
        })
        .meant(nearest(&key.value, legal.iter().copied()));
}

/// Where a key that a section does not know belongs.
fn elsewhere(section: &'static Section, key: &str) -> Option<String> {
    let is = |other: &Section| std::ptr::eq(section, other);
    let tensor = is(&schema::INPUT) || is(&schema::OUTPUT) || is(&schema::TENSOR_PARAM);
    let profile = schema::PROFILE_SECTIONS.iter().any(|(_, section)| is(section));
    match key {
        "nullable" if tensor => return Some("of an input, say `optional`.".to_owned()),
        "optional" if tensor => return Some("of an output, say `nullable`.".to_owned()),
        "dtype" | "shape" if is(&schema::VALUE_PARAM) => {
            return Some("a parameter that is a tensor has `dtype` and `shape`, and no `type`.".to_owned());
        }
        "type" if tensor => return Some("a tensor has a `dtype`.".to_owned()),
        "effective" if profile => {
            return Some("effective values are products of what a profile has, and are stored nowhere.".to_owned());
        }
        _ => {}
    }
    let mut homes: Vec<&str> = Vec::new();
    let sections = if profile { schema::PROFILE_SECTIONS } else { schema::SECTIONS };
    for (_, section) in sections.iter().filter(|(_, section)| section.key(key).is_some()) {
        if !homes.contains(&section.noun) {
            homes.push(section.noun);
        }
    }
    match homes.as_slice() {
        [home] => Some(format!("`{key}` is a key of {home}.")),
        _ => None,
    }
}

/// A mapping with the keys of a section.
pub(super) struct Fields<'t> {
    section: &'static Section,
    pairs: &'t [Pair],
    /// Of an open section, the names that its author may write besides the fixed keys.
    declared: Option<&'t FxHashSet<Arc<str>>>,
    /// Where a key that is not there would stand: the name of the section's owner.
    pub(super) anchor: TextRange,
    pub(super) path: String,
}

impl<'t> Fields<'t> {
    /// Opens the mapping at `slot` and judges its keys. `name` is what a message calls it. `None` where it is no
    /// mapping, which has been reported.
    pub(super) fn open(
        section: &'static Section,
        slot: Slot<'t>,
        name: &str,
        findings: &mut Findings,
    ) -> Option<Fields<'t>> {
        Fields::open_with(section, None, slot, name, findings)
    }

    /// Opens a mapping that takes the `declared` names besides its section's keys.
    pub(super) fn open_with(
        section: &'static Section,
        declared: Option<&'t FxHashSet<Arc<str>>>,
        slot: Slot<'t>,
        name: &str,
        findings: &mut Findings,
    ) -> Option<Fields<'t>> {
        let NodeKind::Mapping(pairs) = &slot.node.kind else {
            wrong_form(slot, findings);
            return None;
        };
        let fields = Fields { section, pairs, declared, anchor: slot.key, path: slot.path.to_owned() };
        for pair in pairs {
            let Some(key) = key_text(pair) else { continue };
            if !section.open && section.key(&key.value).is_none() {
                fields.unknown_key(&key, findings);
            }
        }
        // A mapping that could not be read whole may have the key in the part that was lost.
        let whole = !has_unreadable_key(pairs);
        let required: Vec<&Key> = section.keys.iter().filter(|key| key.required).collect();
        if let ([first, _, ..], true) = (required.as_slice(), pairs.is_empty()) {
            // An empty mapping is one mistake.
            let names: Vec<&str> = required.iter().map(|key| key.name).collect();
            let example: Vec<String> = required.iter().map(|key| format!("{}: {}", key.name, key.example)).collect();
            findings
                .report(
                    &codes::MISSING_KEY,
                    slot.key,
                    slot.path,
                    first.name,
                    format!("{name} has no {}", list(names, "and no")),
                )
                .help(format!("add `{}`", example.join(", ")));
            return Some(fields);
        }
        for key in section.keys.iter().filter(|key| key.required && whole) {
            if fields.pair(key.name).is_none() {
                let near = fields.misspelt(key.name);
                if near {
                    continue;
                }
                findings
                    .report(&codes::MISSING_KEY, slot.key, slot.path, key.name, format!("{name} has no `{}`", key.name))
                    .help(format!("add `{}: {}`", key.name, key.example));
            }
        }
        Some(fields)
    }

    /// Whether one of the unknown keys is most likely a misspelt `name`: that it is missing is the same mistake.
    fn misspelt(&self, name: &str) -> bool {
        self.pairs.iter().filter_map(key_text).any(|key| {
            self.section.key(&key.value).is_none()
                && !self.declared.is_some_and(|names| names.contains(&key.value))
                && (nearest(&key.value, self.section.names()) == Some(name)
                    // `roofline {flops`: the colon is what is missing.
                    || key.value.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '{', '['])))
        })
    }

    fn unknown_key(&self, key: &Ident, findings: &mut Findings) {
        unknown_key(self.section, key, &self.child_path(&key.value), findings);
    }

    /// The path of the value of `key`.
    pub(super) fn child_path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Whether every key could be read.
    pub(super) fn is_complete(&self) -> bool {
        is_complete(self.pairs)
    }

    /// The value of `key`, if it is there.
    pub(super) fn value(&self, key: &str) -> Option<&'t Node> {
        self.pair(key).map(|pair| &pair.value)
    }

    /// The pairs whose keys the section does not fix.
    pub(super) fn open_pairs(&self) -> impl Iterator<Item = (Ident, &'t Node)> {
        let section = self.section;
        self.pairs
            .iter()
            .filter_map(|pair| Some((key_text(pair)?, &pair.value)))
            .filter(move |(key, _)| section.key(&key.value).is_none())
    }

    /// The pair of `key`. Of a key that is written twice the last stands, as in every reader.
    fn pair(&self, key: &str) -> Option<&'t Pair> {
        self.pairs.iter().rev().find(|pair| pair.key.as_str() == Some(key))
    }

    /// Where `key` stands; the section's anchor where it is not there.
    pub(super) fn key_range(&self, key: &str) -> TextRange {
        match self.pair(key) {
            Some(pair) => key_text(pair).map_or(pair.key.range, |key| key.range),
            None => self.anchor,
        }
    }

    /// The fact that `key` states: absent where the key is not there, else what `read` makes of it; `None` is a value
    /// that it cannot read and has reported.
    pub(super) fn fact<T>(
        &self,
        key: &'static str,
        findings: &mut Findings,
        read: impl FnOnce(Slot<'_>, &mut Findings) -> Option<T>,
    ) -> Fact<T> {
        let Some(declared) = self.section.key(key) else { return Fact::Absent(self.anchor) };
        let Some(pair) = self.pair(key) else {
            // A key that is misspelt, or one that could not be read, is stated, if not readably.
            let lost = self.misspelt(key) || has_unreadable_key(self.pairs);
            return if lost { Fact::Malformed(self.anchor) } else { Fact::Absent(self.anchor) };
        };
        let path = self.child_path(key);
        let slot = Slot {
            node: &pair.value,
            key: key_text(pair).map_or(pair.key.range, |key| key.range),
            path: &path,
            expects: declared.expects,
            example: declared.example,
        };
        match read(slot, findings) {
            Some(value) => Fact::Valid(value, pair.value.range),
            None => Fact::Malformed(if pair.value.range.is_empty() { slot.key } else { pair.value.range }),
        }
    }

    /// The words that `key` takes.
    pub(super) fn choices(&self, key: &str) -> &'static [&'static str] {
        match self.section.key(key) {
            Some(Key { form: Form::Choice(words), .. }) => words,
            _ => &[],
        }
    }
}

/// The members of a mapping from names that the author chooses, in order. Of a name that is written twice the last value
/// stands, at the place of the first, as in every reader; each is read, so that no defect is hidden.
pub(super) fn named<T>(
    pairs: &[Pair],
    parent: &str,
    findings: &mut Findings,
    mut read: impl FnMut(Ident, &Node, &str, &mut Findings) -> T,
) -> Vec<T> {
    let mut seen: FxHashMap<Arc<str>, usize> = FxHashMap::default();
    let mut members: Vec<T> = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let Some(name) = key_text(pair) else { continue };
        let path = format!("{parent}.{}", name.value);
        // A key that is no string (`True`) has its defect.
        if !is_reported(&pair.key) {
            identifier(&name, &path, findings);
        }
        let key = name.value.clone();
        let member = read(name, &pair.value, &path, findings);
        match seen.get(&key).and_then(|&position| members.get_mut(position)) {
            Some(earlier) => *earlier = member,
            None => {
                seen.insert(key, members.len());
                members.push(member);
            }
        }
    }
    members
}

/// The pairs of a mapping. `None` where it is none, or is empty and must not be; that has been reported.
pub(super) fn mapping<'t>(slot: Slot<'t>, may_be_empty: bool, findings: &mut Findings) -> Option<&'t [Pair]> {
    match &slot.node.kind {
        NodeKind::Mapping(pairs) if may_be_empty || !pairs.is_empty() => Some(pairs),
        _ => {
            wrong_form(slot, findings);
            None
        }
    }
}

/// The items of a list. `None` where it is none, or is empty and must not be; that has been reported.
pub(super) fn sequence<'t>(slot: Slot<'t>, may_be_empty: bool, findings: &mut Findings) -> Option<&'t [Node]> {
    match &slot.node.kind {
        NodeKind::Sequence(items) if may_be_empty || !items.is_empty() => Some(items),
        _ => {
            wrong_form(slot, findings);
            None
        }
    }
}

/// The items of a list, each as a fact of its own.
pub(super) fn items<T>(
    slot: Slot<'_>,
    may_be_empty: bool,
    expects: &'static str,
    example: &str,
    findings: &mut Findings,
    mut read: impl FnMut(usize, Slot<'_>, &mut Findings) -> Option<T>,
) -> Option<Vec<Fact<T>>> {
    let nodes = sequence(slot, may_be_empty, findings)?;
    let facts = nodes.iter().enumerate().map(|(position, node)| {
        let path = format!("{}[{position}]", slot.path);
        let key = if node.range.is_empty() { slot.key } else { node.range };
        let item = Slot { node, key, path: &path, expects, example };
        match read(position, item, findings) {
            Some(value) => Fact::Valid(value, node.range),
            None => Fact::Malformed(key),
        }
    });
    Some(facts.collect())
}

/// A non-empty string.
pub(super) fn text(slot: Slot<'_>, findings: &mut Findings) -> Option<Ident> {
    match string(slot.node).filter(|text| !text.value.trim().is_empty()) {
        Some(text) => Some(text),
        None => {
            wrong_form(slot, findings);
            None
        }
    }
}

/// A scalar that states an expression, a shape or a type: a non-empty string.
fn source<'t>(slot: Slot<'t>, findings: &mut Findings) -> Option<&'t Scalar> {
    text(slot, findings)?;
    slot.node.as_scalar()
}

/// `true` or `false`.
pub(super) fn boolean(slot: Slot<'_>, findings: &mut Findings) -> Option<bool> {
    if let Some(Scalar { value: ScalarValue::Bool(value), .. }) = slot.node.as_scalar() {
        return Some(*value);
    }
    match quoted_bool(slot.node) {
        Some(word) => report_quoted_bool(slot, word, findings),
        None => wrong_form(slot, findings),
    }
    None
}

/// A boolean that is written as a string.
fn quoted_bool(node: &Node) -> Option<&'static str> {
    match node.as_str()? {
        "true" | "True" | "TRUE" => Some("true"),
        "false" | "False" | "FALSE" => Some("false"),
        _ => None,
    }
}

fn report_quoted_bool(slot: Slot<'_>, word: &str, findings: &mut Findings) {
    let key = subject(slot.path);
    findings
        .report(
            &codes::WRONG_FORM,
            slot.node.range,
            slot.path,
            key,
            format!("`{}` must be {}, not the string `{word}`", label(slot.path), slot.expects),
        )
        .help(format!("write it without quotes: `{key}: {word}`"));
}

/// `true`, `false` or a condition.
pub(super) fn condition(slot: Slot<'_>, findings: &mut Findings) -> Option<Condition> {
    if let Some(Scalar { value: ScalarValue::Bool(value), .. }) = slot.node.as_scalar() {
        return Some(Condition::Always(*value));
    }
    if let Some(word) = quoted_bool(slot.node) {
        report_quoted_bool(slot, word, findings);
        return None;
    }
    formula(slot, findings).map(Condition::When)
}

/// An expression in a string.
pub(super) fn formula(slot: Slot<'_>, findings: &mut Findings) -> Option<Formula> {
    let scalar = source(slot, findings)?;
    let expr = parse_expression(scalar, slot.node.range, slot.path, findings);
    Some(Formula { expr, path: Path::from(slot.path) })
}

/// A shape in a string.
pub(super) fn shape(slot: Slot<'_>, findings: &mut Findings) -> Option<crate::expr::Shape> {
    let scalar = source(slot, findings)?;
    Some(parse_shape(scalar, slot.node.range, slot.path, findings))
}

/// A call in a string; `callee` is what the call must be of: "a generator".
pub(super) fn call(slot: Slot<'_>, callee: &str, findings: &mut Findings) -> Option<Generator> {
    let Formula { expr, path } = formula(slot, findings)?;
    let Expr { kind, range } = expr;
    match kind {
        ExprKind::Call(call) => Some(Generator { call, range, path }),
        ExprKind::Error(_) => None,
        _ => {
            findings
                .report(
                    &codes::WRONG_FORM,
                    range,
                    slot.path,
                    subject(slot.path),
                    format!("`{}` must be a call of {callee}", label(slot.path)),
                )
                .help(format!("for example `{}`", slot.example));
            None
        }
    }
}

/// Whether `text` is an identifier.
pub(super) fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Reports a name that is no identifier or that Python does not allow as one.
pub(super) fn identifier(name: &Ident, path: &str, findings: &mut Findings) -> bool {
    let problem = if is_python_keyword(&name.value) {
        "is a keyword of Python, so nothing can be called by it"
    } else if !is_identifier(&name.value) {
        "is not an identifier"
    } else {
        return true;
    };
    let shown = shown(&name.value);
    findings
        .report(&codes::INVALID_NAME, name.range, path, &*name.value, format!("`{shown}` {problem}"))
        .help("a name is made of ASCII letters, digits and `_`, and does not start with a digit");
    false
}

/// A text as a message shows it: on one line, and not without end.
pub(super) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if shown.len() < text.len() && text.chars().nth(60).is_some() {
        shown.push('…');
    }
    shown
}

/// A name.
pub(super) fn name(slot: Slot<'_>, findings: &mut Findings) -> Option<Ident> {
    let name = text(slot, findings)?;
    identifier(&name, slot.path, findings).then_some(name)
}

/// A list of names; one that is no name makes the whole list unreadable.
pub(super) fn names(slot: Slot<'_>, may_be_empty: bool, findings: &mut Findings) -> Option<Vec<Ident>> {
    let facts = items(slot, may_be_empty, "a name", "x", findings, |_, item, findings| name(item, findings))?;
    let wanted = facts.len();
    let names: Vec<Ident> =
        facts.into_iter().filter_map(|fact| if let Fact::Valid(name, _) = fact { Some(name) } else { None }).collect();
    (names.len() == wanted).then_some(names)
}

/// Names joined by dots, two or more.
pub(super) fn qualified_name(slot: Slot<'_>, findings: &mut Findings) -> Option<Ident> {
    let name = text(slot, findings)?;
    let well_formed = name.value.contains('.') && name.value.split('.').all(is_identifier);
    if let Some(keyword) = name.value.split('.').find(|part| is_python_keyword(part)) {
        let message = format!("`{}` has a keyword of Python in it, `{keyword}`", shown(&name.value));
        findings
            .report(&codes::INVALID_NAME, name.range, slot.path, &*name.value, message)
            .help("nothing can be called by a keyword: write the name under which Python finds it");
        return None;
    }
    if !well_formed {
        findings
            .report(
                &codes::INVALID_NAME,
                name.range,
                slot.path,
                &*name.value,
                format!("`{}` is not a qualified name", shown(&name.value)),
            )
            .help(format!("write names joined by dots, for example `{}`", slot.example));
        return None;
    }
    Some(name)
}

/// One of the words in `allowed`, by its position there.
pub(super) fn choice(
    slot: Slot<'_>,
    allowed: &'static [&'static str],
    findings: &mut Findings,
) -> Option<(usize, Ident)> {
    let word = text(slot, findings)?;
    if let Some(position) = allowed.iter().position(|&a| a == &*word.value) {
        return Some((position, word));
    }
    let key = subject(slot.path);
    findings
        .report(
            &codes::UNKNOWN_VALUE,
            word.range,
            slot.path,
            &*word.value,
            format!("`{}` cannot be `{}`", label(slot.path), shown(&word.value)),
        )
        .help(format!("`{key}` is {}", list(nearest_first(&word.value, allowed.iter().copied()), "or")))
        .meant(nearest(&word.value, allowed.iter().copied()));
    None
}

/// A dtype by its name.
pub(super) fn dtype(slot: Slot<'_>, findings: &mut Findings) -> Option<DType> {
    let name = text(slot, findings)?;
    let found = DType::from_name(&name.value);
    if found.is_none() {
        unknown_dtype(&name, slot.path, findings);
    }
    found
}

/// Reports a name that is no dtype's.
pub(super) fn unknown_dtype(name: &Ident, path: &str, findings: &mut Findings) {
    let near = nearest_first(&name.value, dtype_names());
    let bare = name.value.strip_prefix("torch.").filter(|rest| DType::from_name(rest).is_some());
    let exact = bare.or_else(|| DType::from_alias(&name.value).map(DType::name));
    let meant = exact.or_else(|| nearest(&name.value, dtype_names()));
    let help = match (exact, meant) {
        (Some(exact), _) => format!("write `{exact}`"),
        (None, Some(close)) => format!("did you mean `{close}`? The dtypes are {}", list(near, "and")),
        (None, None) => format!("the dtypes are {}", list(near, "and")),
    };
    findings
        .report(
            &codes::UNKNOWN_DTYPE,
            name.range,
            path,
            &*name.value,
            format!("there is no dtype `{}`", shown(&name.value)),
        )
        .help(help)
        .meant(meant);
}
