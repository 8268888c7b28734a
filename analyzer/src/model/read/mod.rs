//! From an entry's YAML tree to its facts.
//!
//! Reading judges form alone: which keys there are, what each value looks like, which words and names are legal. What
//! the facts mean together is for the passes behind it. A fact that cannot be read is reported here, once.

mod family;
mod fields;
mod profile;
mod signature;
mod types;
mod workload;

pub(crate) use profile::{is_profile, key_at, profile_key, profile_keys};
pub(crate) use types::is_builtin_type;
pub use types::{TYPE_NAMES, TypesFile, read_types};

use fields::{Fields, Slot};

use super::schema;
use super::{Composition, Entry, Fact, Roofline, Stage, StageTarget, Status};
use crate::defect::{Findings, codes};
use crate::expr::Ident;
use crate::syntax::{EntryTree, Node, NodeKind};
use crate::text::{Spanned, TextRange};

/// Reads an entry. Every defect of its form goes to `findings`; those of its YAML are the tree's own.
///
/// A key that every such section has is reported where it is missing (`missing-key`), so later passes treat
/// [`Fact::Absent`] of a required fact as reported.
pub fn read_entry(tree: &EntryTree, findings: &mut Findings) -> Entry {
    let name = entry_name(&tree.key);
    let name_is_valid = op_name(&name, &tree.key, findings);
    let shown = if tree.key.as_str().is_some() { fields::shown(&name.value) } else { String::new() };
    let slot = Slot {
        node: &tree.value,
        key: name.range,
        path: "",
        expects: "a mapping",
        example: "{family: gemm, status: spec-only, signature: {…}, workloads: […], roofline: {…}}",
    };
    let Some(entry) = open_entry(slot, &shown, findings) else {
        let range = if tree.value.range.is_empty() { name.range } else { tree.value.range };
        return Entry {
            name,
            name_is_valid,
            family: Fact::Malformed(range),
            status: Fact::Malformed(range),
            ref_api: Fact::Malformed(range),
            signature: Fact::Malformed(range),
            workloads: Fact::Malformed(range),
            roofline: Fact::Malformed(range),
            composition: Fact::Malformed(range),
        };
    };
    let signature = entry.fact("signature", findings, signature::read);
    let workloads =
        entry.fact("workloads", findings, |slot, findings| workload::read(slot, signature.valid(), findings));
    Entry {
        name,
        name_is_valid,
        family: entry.fact("family", findings, fields::name),
        status: entry.fact("status", findings, |slot, findings| {
            let (position, _) = fields::choice(slot, entry.choices("status"), findings)?;
            Some(if position == 0 { Status::Implemented } else { Status::SpecOnly })
        }),
        ref_api: entry.fact("ref_api", findings, fields::qualified_name),
        signature,
        workloads,
        roofline: entry.fact("roofline", findings, roofline),
        composition: entry.fact("composition", findings, composition),
    }
}

/// An entry that is no mapping is named in its message, as it has no path.
fn open_entry<'t>(slot: Slot<'t>, name: &str, findings: &mut Findings) -> Option<Fields<'t>> {
    if matches!(slot.node.kind, NodeKind::Mapping(_)) {
        let name = if name.is_empty() { "the entry".to_owned() } else { format!("`{name}`") };
        return Fields::open(&schema::ENTRY, slot, &name, findings);
    }
    // Of an entry whose key is no string, that has been said; it has no name to say more by.
    if !fields::is_reported(slot.node) && !name.is_empty() {
        let empty = slot.node.range.is_empty();
        let message = if empty {
            format!("`{name}` has no value; an entry is a mapping")
        } else {
            format!("`{name}` must be a mapping, not {}", slot.node.describe())
        };
        findings
            .report(&codes::WRONG_FORM, if empty { slot.key } else { slot.node.range }, "", name, message)
            .help("an entry has `family`, `status`, `signature`, `workloads` and `roofline`");
    }
    None
}

/// The text of an entry's key, whatever it is.
fn entry_name(key: &Node) -> Ident {
    match key.as_scalar() {
        Some(scalar) => Spanned::new(scalar.text.clone(), fields::text_range(scalar, key)),
        None => Spanned::new("".into(), key.range),
    }
}

/// Judges the form of an op's name: `{PascalCaseName}[{Fwd|Bwd}]Op`.
fn op_name(name: &Ident, key: &Node, findings: &mut Findings) -> bool {
    if is_op_name(&name.value) {
        return true;
    }
    if !fields::is_reported(key) && key.as_str().is_some() {
        let shown = fields::shown(&name.value);
        let defect = findings.report(
            &codes::OP_NAME,
            name.range,
            "",
            &*name.value,
            format!("`{shown}` is not the name of an op"),
        );
        let rule = "an op is named in PascalCase, then `Fwd` or `Bwd` where it has a direction, then `Op`";
        let better = op_name_from(&name.value);
        defect.help(match &better {
            Some(better) => format!("write `{better}`: {rule}"),
            None => rule.to_owned(),
        });
        // What else names the op has to follow.
        defect.meant(better).guess();
    }
    false
}

/// Whether `name` has the form of an op's name.
fn is_op_name(name: &str) -> bool {
    name.strip_suffix("Op").is_some_and(|stem| {
        stem.starts_with(|c: char| c.is_ascii_uppercase()) && stem.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

/// The op name that `name` was most likely meant to be: its words in PascalCase, with `Op` behind.
fn op_name_from(name: &str) -> Option<String> {
    if !fields::is_identifier(name) || name.len() > 100 {
        return None;
    }
    let mut pascal = String::new();
    for word in name.split('_').filter(|word| !word.is_empty()) {
        let mut chars = word.chars();
        pascal.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        pascal.push_str(chars.as_str());
    }
    if !pascal.ends_with("Op") {
        pascal.push_str("Op");
    }
    is_op_name(&pascal).then_some(pascal)
}

fn roofline(slot: Slot<'_>, findings: &mut Findings) -> Option<Roofline> {
    let fields = Fields::open(&schema::ROOFLINE, slot, "`roofline`", findings)?;
    Some(Roofline {
        flops: fields.fact("flops", findings, fields::formula),
        bytes: fields.fact("bytes", findings, fields::formula),
        func: fields.fact("func", findings, fields::text),
    })
}

fn composition(slot: Slot<'_>, findings: &mut Findings) -> Option<Composition> {
    let composition = Fields::open(&schema::COMPOSITION, slot, "`composition`", findings)?;
    composition.fact("kind", findings, |slot, findings| fields::choice(slot, composition.choices("kind"), findings));
    let stages = composition.fact("stages", findings, |slot, findings| {
        fields::items(slot, false, "a mapping", "{name: first, op: GemmFwdOp}", findings, |_, item, findings| {
            stage(item, findings)
        })
    });
    let mut seen: Vec<(&Ident, TextRange)> = Vec::new();
    for stage in stages.items().iter().filter_map(Fact::valid) {
        let Some(name) = stage.name.valid() else { continue };
        match seen.iter().find(|(earlier, _)| earlier.value == name.value) {
            Some((_, earlier)) => {
                findings
                    .report(
                        &codes::DUPLICATE_NAME,
                        name.range,
                        format!("{}.name", stage.path),
                        &*name.value,
                        format!("two stages are called `{}`", name.value),
                    )
                    .help("give each stage a name of its own")
                    .related(*earlier, format!("`{}` is first used here", name.value));
            }
            None => seen.push((name, name.range)),
        }
    }
    Some(Composition { stages })
}

fn stage(slot: Slot<'_>, findings: &mut Findings) -> Option<Stage> {
    let label = format!("`{}`", slot.path);
    let fields = Fields::open(&schema::STAGE, slot, &label, findings)?;
    let name = fields.fact("name", findings, fields::name);
    let op = fields.fact("op", findings, fields::text);
    let kernel = fields.fact("kernel", findings, fields::text);
    let target = match (op, kernel) {
        (Fact::Absent(range), Fact::Absent(_)) => {
            // An unknown key (`kernle`) is the likelier mistake, and reported.
            if fields.open_pairs().next().is_none() {
                findings
                    .report(
                        &codes::MISSING_KEY,
                        range,
                        slot.path,
                        "op",
                        format!("{label} has neither `op` nor `kernel`"),
                    )
                    .help(
                        "name the op of the manifest that the stage runs by `op`, or a kernel of its own by `kernel`",
                    );
            }
            Fact::Malformed(range)
        }
        (op, Fact::Absent(_)) => op.map(StageTarget::Op),
        (Fact::Absent(_), kernel) => kernel.map(StageTarget::Kernel),
        (_, kernel) => {
            findings
                .report(
                    &codes::CONFLICTING_KEYS,
                    fields.key_range("kernel"),
                    fields.child_path("kernel"),
                    "kernel",
                    format!("{label} has both `op` and `kernel`"),
                )
                .help("a stage runs one thing: keep one of the two keys")
                .related(fields.key_range("op"), "`op` stands here");
            Fact::Malformed(kernel.range())
        }
    };
    let optional = fields.fact("optional", findings, fields::boolean);
    Some(Stage { name, target, optional, range: slot.node.range, path: slot.path.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Condition, IndexKind, ParamRole, Pattern, PatternFields};
    use crate::syntax::parse_entry;

    fn read(text: &str) -> (Entry, Vec<String>) {
        let mut findings = Findings::default();
        let entry = read_entry(&parse_entry(text), &mut findings);
        (entry, findings.defects.into_iter().map(|defect| defect.message).collect())
    }

    #[test]
    fn op_names_have_a_form() {
        for name in ["GemmFwdOp", "GemmOp", "Gemm2dBwdOp", "AOp"] {
            assert!(is_op_name(name), "{name}");
        }
        for name in ["Op", "gemmOp", "Gemm_FwdOp", "GemmFwd", "", "GemmFwdop", "ÄOp"] {
            assert!(!is_op_name(name), "{name}");
        }
        assert_eq!(op_name_from("gemm_fwd").as_deref(), Some("GemmFwdOp"));
        assert_eq!(op_name_from("gemm fwd"), None);
        assert_eq!(op_name_from("2d"), None);
    }

    #[test]
    fn absent_malformed_and_valid_are_three_things() {
        let (entry, _) =
            read("AOp:\n  family: a\n  signature:\n    params: [x]\n    inputs: {}\n  roofline: {flops: 1}\n");
        let signature = entry.signature.valid().expect("it is a mapping");
        assert!(signature.forall.is_absent() && signature.params.is_malformed());
        assert_eq!(signature.inputs.valid().map(Vec::len), Some(0));
        assert!(entry.status.is_absent() && entry.workloads.is_absent());
        assert!(entry.roofline.valid().is_some_and(|r| r.flops.is_malformed() && r.bytes.is_absent()));
    }

    #[test]
    fn an_absent_fact_stands_at_its_owner() {
        let text = "AOp:\n  signature:\n    inputs: {x: {dtype: int8}}\n";
        let (entry, _) = read(text);
        let at = |range: TextRange| &text[usize::from(range.start())..usize::from(range.end())];
        assert_eq!(at(entry.family.range()), "AOp");
        let signature = entry.signature.valid().expect("it is a mapping");
        assert_eq!(at(signature.outputs.range()), "signature");
        assert_eq!(at(signature.inputs.items()[0].shape.range()), "x");
    }

    #[test]
    fn of_a_repeated_key_the_last_stands_at_the_place_of_the_first() {
        let (entry, _) = read("AOp: {signature: {forall: {M: Dim, N: Dim, M: Shape}}}");
        let signature = entry.signature.valid().expect("it is a mapping");
        let forall = signature.forall.items();
        assert_eq!(forall.iter().map(|index| &*index.name.value).collect::<Vec<_>>(), ["M", "N"]);
        assert_eq!(forall[0].kind.valid(), Some(&IndexKind::Shape));
    }

    #[test]
    fn a_parameter_is_a_value_or_a_tensor() {
        let (entry, defects) = read(
            "AOp: {signature: {params: {n: {type: int}, w: {dtype: int8, shape: \"[]\", optional: n > 0}, \
             d: {type: \"int | None\", default: null}}}}",
        );
        assert!(defects.iter().all(|message| message.contains("`AOp` has no")), "{defects:?}");
        let signature = entry.signature.valid().expect("it is a mapping");
        match signature.params.items() {
            [n, w, d] => {
                assert!(matches!(&n.role, ParamRole::Value { default, .. } if default.is_absent()));
                assert!(
                    matches!(&w.role, ParamRole::Tensor(t) if matches!(t.optional.valid(), Some(Condition::When(_))))
                );
                assert!(matches!(&d.role, ParamRole::Value { default, .. } if default.valid().is_some()));
            }
            params => panic!("{params:?}"),
        }
    }

    #[test]
    fn patterns_are_read() {
        let (entry, _) = read(
            "AOp: {signature: {types: {F: {match: [t, l], params: {t: Bool, l: L}, cases: [{when: [_, {a: _}], is: \"[]\"}, \
             {when: [true, {b: {k: x}}], is: \"[]\"}]}}}}",
        );
        let signature = entry.signature.valid().expect("it is a mapping");
        let cases = signature.types.items()[0].cases.items();
        let when = |i: usize| cases[i].valid().and_then(|case| case.when.valid()).expect("it is readable");
        assert!(matches!(when(0).as_slice(), [Pattern::Any(_), Pattern::Constructor(_, PatternFields::Any)]));
        match when(1).as_slice() {
            [Pattern::Bool(true, _), Pattern::Constructor(name, PatternFields::Named(fields))] => {
                assert_eq!(&*name.value, "b");
                assert!(matches!(fields.as_slice(), [(field, Pattern::Literal(_))] if &*field.value == "k"));
            }
            patterns => panic!("{patterns:?}"),
        }
    }
}
