//! A GPU profile: its keys and its numbers. What the numbers come to is for `tileops-roofline`, which prices records by them.

use rustc_hash::FxHashMap;

use super::fields::{self, Fields, Slot};
use crate::defect::{Findings, codes, list, nearest, nearest_first};
use crate::expr::Ident;
use crate::model::Fact;
use crate::model::schema::{self, Form, Key, Quantity, Section};
use crate::syntax::{EntryTree, Node, Scalar, ScalarStyle, ScalarValue, unambiguous};
use crate::text::{TextRange, TextSize};

/// Whether a file with these top-level keys is a GPU profile: it has two keys of one, and no op is called so.
pub(crate) fn is_profile<'k>(keys: impl IntoIterator<Item = &'k str>) -> bool {
    keys.into_iter().filter(|key| schema::PROFILE.key(key).is_some()).count() > 1
}

/// Judges one top-level key of a profile. Every defect of its form goes to `findings`; those of its YAML are the tree's own.
pub(crate) fn profile_key(tree: &EntryTree, findings: &mut Findings) {
    let Some(name) = fields::string(&tree.key) else { return };
    match schema::PROFILE.key(&name.value) {
        Some(key) => value(key, slot(key, &tree.value, name.range, key.name), findings),
        None => fields::unknown_key(&schema::PROFILE, &name, &name.value, findings),
    }
}

/// Judges the top-level keys of a profile together: each is there, once. `keys` are those that could be read, and where.
pub(crate) fn profile_keys(keys: &[Ident], is_complete: bool, findings: &mut Findings) {
    let mut seen: FxHashMap<&str, TextRange> = FxHashMap::default();
    for key in keys {
        let first = *seen.entry(&key.value).or_insert(key.range);
        if first != key.range {
            let shown = fields::shown(&key.value);
            findings
                .report(
                    &codes::DUPLICATE_KEY,
                    key.range,
                    &*key.value,
                    &*key.value,
                    format!("the key `{shown}` is repeated"),
                )
                .help("keep one of the two: readers silently take the last one")
                .related(first, "it is first written here");
        }
    }
    let Some(first) = keys.first().filter(|_| is_complete) else { return };
    for key in schema::PROFILE.keys.iter().filter(|key| key.required) {
        // That a misspelt key is missing is the same mistake.
        let misspelt = |written: &Ident| {
            schema::PROFILE.key(&written.value).is_none()
                && nearest(&written.value, schema::PROFILE.names()) == Some(key.name)
        };
        if keys.iter().any(|written| &*written.value == key.name || misspelt(written)) {
            continue;
        }
        findings
            .report(&codes::MISSING_KEY, first.range, "", key.name, format!("the profile has no `{}`", key.name))
            .help(format!("add `{}: {}`", key.name, key.example));
    }
}

fn slot<'a>(key: &'static Key, node: &'a Node, range: TextRange, path: &'a str) -> Slot<'a> {
    Slot { node, key: range, path, expects: key.expects, example: key.example }
}

/// Judges the value of a key.
fn value(key: &'static Key, slot: Slot<'_>, findings: &mut Findings) {
    match key.form {
        Form::Number(quantity) => _ = number(slot, quantity, findings),
        Form::Section(of) if std::ptr::eq(of, &schema::HBM) => memory(slot, findings),
        Form::Section(of) => _ = section(of, slot, findings),
        Form::Units(words, of) => units(slot, words, of, findings),
        Form::Numbers(quantity) => _ = numbers(slot, quantity, findings),
        _ => _ = fields::text(slot, findings),
    }
}

fn section<'t>(of: &'static Section, slot: Slot<'t>, findings: &mut Findings) -> Option<Fields<'t>> {
    let name = format!("`{}`", slot.path);
    let fields = Fields::open(of, slot, &name, findings)?;
    for key in of.keys {
        _ = fields.fact(key.name, findings, |slot, findings| {
            value(key, slot, findings);
            Some(())
        });
    }
    Some(fields)
}

/// The memory: no mix is above the envelope over all of them.
fn memory(slot: Slot<'_>, findings: &mut Findings) {
    let Some(fields) = section(&schema::HBM, slot, findings) else { return };
    // What is wrong with either has been said.
    let mut said = Findings::default();
    let envelope = fields.fact("calibration", &mut said, |slot, said| number(slot, Quantity::Fraction, said));
    let mixes = fields.fact("mixes", &mut said, |slot, said| numbers(slot, Quantity::Fraction, said));
    let (Fact::Valid(envelope, place), Fact::Valid(mixes, _)) = (envelope, mixes) else { return };
    for (name, range, mix) in mixes.into_iter().filter(|(_, _, mix)| *mix > envelope) {
        let path = format!("hbm.mixes.{}", name.value);
        let message = format!("`{path}` is {mix}, above `hbm.calibration`, which is the envelope over the mixes");
        findings
            .report(&codes::PROFILE_NUMBER, range, path, &*name.value, message)
            .help(format!(
                "a calibration of the memory is its best mix: write `calibration: {mix}`, or correct the mix"
            ))
            .related(place, "the envelope");
    }
}

/// A mapping from words to rates.
fn units(slot: Slot<'_>, words: &'static [&'static str], of: &'static Section, findings: &mut Findings) {
    let Some(pairs) = fields::mapping(slot, true, findings) else { return };
    let parent = slot.path;
    fields::named(pairs, parent, findings, |name, node, path, findings| {
        if !words.contains(&&*name.value) {
            let shown = fields::shown(&name.value);
            let near = nearest(&name.value, words.iter().copied());
            let words = list(nearest_first(&name.value, words.iter().copied()), "and");
            let help = match near {
                Some(near) => format!("did you mean `{near}`? Its keys are {words}"),
                None => format!("its keys are {words}"),
            };
            findings
                .report(
                    &codes::UNKNOWN_VALUE,
                    name.range,
                    path,
                    &*name.value,
                    format!("`{parent}` has no unit `{shown}`"),
                )
                .help(help)
                .meant(near);
        }
        let slot = Slot { node, key: name.range, path, expects: "a mapping", example: "{flops: 9.9e+14}" };
        section(of, slot, findings);
    });
}

/// A mapping from names to numbers: each with its place. `None` where one cannot be read.
fn numbers(slot: Slot<'_>, quantity: Quantity, findings: &mut Findings) -> Option<Vec<(Ident, TextRange, f64)>> {
    let pairs = fields::mapping(slot, true, findings)?;
    let read = fields::named(pairs, slot.path, findings, |name, node, path, findings| {
        let slot = Slot { node, key: name.range, path, expects: "a number", example: "0.9" };
        number(slot, quantity, findings).map(|number| (name, node.range, number))
    });
    read.into_iter().collect()
}

fn number(slot: Slot<'_>, quantity: Quantity, findings: &mut Findings) -> Option<f64> {
    let scalar = slot.node.as_scalar();
    let value = match scalar.map(|scalar| &scalar.value) {
        // Exact below 2^53, and no size of a cache is above.
        Some(ScalarValue::Int(value)) => *value as f64,
        Some(ScalarValue::Float(value)) if quantity != Quantity::Bytes => *value,
        _ => {
            not_a_number(slot, scalar, findings);
            return None;
        }
    };
    // Readers differ in what it is, which has been said.
    if fields::is_reported(slot.node) {
        return None;
    }
    let (is_right, must) = match quantity {
        Quantity::Rate => (value > 0.0 && value.is_finite(), "a rate is above 0 and finite"),
        Quantity::Fraction => (
            value > 0.0 && value <= 1.0,
            "it is the fraction of the theoretical value that was reached: above 0, and at most 1",
        ),
        Quantity::Time => (value >= 0.0 && value.is_finite(), "a time is 0 or more, and finite"),
        Quantity::Bytes => (value > 0.0, "a size is above 0"),
    };
    if is_right {
        return Some(value);
    }
    let path = slot.path;
    let written = scalar.map_or("", |scalar| &scalar.text);
    let defect = findings.report(
        &codes::PROFILE_NUMBER,
        slot.node.range,
        path,
        written,
        format!("`{path}` cannot be {written}"),
    );
    defect.help(match quantity {
        Quantity::Fraction if value > 1.0 => {
            format!("{must}; what is above it has a theoretical value that is too low, or was not measured right")
        }
        _ => must.to_owned(),
    });
    None
}

/// A value that is no number, or a number in quotes.
fn not_a_number(slot: Slot<'_>, scalar: Option<&Scalar>, findings: &mut Findings) {
    let key = slot.path.rsplit('.').next().unwrap_or(slot.path);
    let quoted = scalar.filter(|scalar| scalar.style != ScalarStyle::Plain && scalar.value == ScalarValue::Str);
    let value = quoted.and_then(|scalar| scalar.text.trim().parse::<f64>().ok()).filter(|value| value.is_finite());
    match value.and_then(|value| unambiguous(&ScalarValue::Float(value))) {
        Some(number) => {
            let path = slot.path;
            findings
                .report(
                    &codes::WRONG_FORM,
                    slot.node.range,
                    path,
                    key,
                    format!("`{path}` must be {}, not a string", slot.expects),
                )
                .help(format!("write it without quotes: `{key}: {number}`"));
        }
        None => fields::wrong_form(slot, findings),
    }
}

/// The place of a key in the file that has its chunk at `start`.
pub(crate) fn key_at(tree: &EntryTree, start: TextSize) -> Option<Ident> {
    let mut key = fields::string(&tree.key)?;
    key.range += start;
    Some(key)
}
