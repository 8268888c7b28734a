//! The reader and the printer on texts of their own.

use super::*;

fn plain(text: &str) -> (Scalar, TextRange) {
    (Scalar::plain(text), TextRange::up_to(TextSize::of(text)))
}

fn expression(text: &str) -> (Expr, Findings) {
    let (scalar, range) = plain(text);
    let mut findings = Findings::default();
    let expr = parse_expression(&scalar, range, "p", &mut findings);
    (expr, findings)
}

fn shape(text: &str) -> (Shape, Findings) {
    let (scalar, range) = plain(text);
    let mut findings = Findings::default();
    let shape = parse_shape(&scalar, range, "p", &mut findings);
    (shape, findings)
}

fn ty(text: &str) -> (TypeExpr, Findings) {
    let (scalar, range) = plain(text);
    let mut findings = Findings::default();
    let ty = parse_type(&scalar, range, "p", &mut findings);
    (ty, findings)
}

/// `code @ the characters at fault: message (help)`, one a line.
fn report(text: &str, findings: &Findings) -> String {
    let mut out = String::new();
    for d in &findings.defects {
        let at = &text[usize::from(d.range.start())..usize::from(d.range.end())];
        out.push_str(&format!("{} @ {at:?}: {}", d.code.name, d.message));
        if let Some(help) = &d.help {
            out.push_str(&format!(" ({help})"));
        }
        out.push('\n');
    }
    out
}

/// One block a text: the text, its tree printed, its defects.
#[test]
fn every_form_gives_a_tree_and_its_defects() {
    let mut out = String::new();
    for line in include_str!("texts.txt").lines().filter(|line| !line.starts_with('#')) {
        // Every line of the file has a bar.
        let (kind, text) = line.split_once('|').unwrap();
        let (tree, findings) = match kind {
            "e" => {
                let (tree, findings) = expression(text);
                (tree.to_string(), findings)
            }
            "s" => {
                let (tree, findings) = shape(text);
                (tree.to_string(), findings)
            }
            _ => {
                let (tree, findings) = ty(text);
                (tree.to_string(), findings)
            }
        };
        out.push_str(&format!("{line}\n    = {tree}\n"));
        report(text, &findings).lines().for_each(|l| out.push_str(&format!("    {l}\n")));
    }
    insta::assert_snapshot!(out);
}
