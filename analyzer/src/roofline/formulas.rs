//! The functions that a `func` roofline can name.

use std::collections::BTreeSet;
use std::sync::Arc;

use tree_sitter::{Node, Parser};

use crate::text::{TextRange, TextSize};

/// What is known of the functions that a `func` can name. Sources are read, never imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formulas {
    /// The package that holds them.
    pub package: String,
    /// Their names; nothing where no source is configured: then nothing can be said about a name.
    pub names: Option<BTreeSet<String>>,
}

impl Default for Formulas {
    fn default() -> Self {
        Formulas { package: "tileops.perf.formulas".to_owned(), names: None }
    }
}

/// A language that formulas are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FormulaLanguage {
    /// Python: every module-level `def` is a formula.
    Python,
    /// Rust: every `pub fn` of the file's own module is a formula.
    Rust,
}

/// A function that a `func` can name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormulaFunction {
    /// Its name.
    pub name: String,
    /// Where its name stands in its source.
    pub range: TextRange,
    /// How it is declared, up to its body: `pub fn gemm(call: &Call) -> (u128, u128)`.
    pub head: String,
    /// Its documentation, without comment signs and indentation; empty where it has none.
    pub doc: String,
}

/// Where a function is defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormulaPlace {
    /// The path of its source.
    pub path: Arc<str>,
    /// What its source is written in.
    pub language: FormulaLanguage,
    /// The function.
    pub function: FormulaFunction,
}

/// The module-level functions of `source`, in their order. A source with syntax errors gives those that can be made out.
pub fn formula_functions(source: &str, language: FormulaLanguage) -> Vec<FormulaFunction> {
    let mut parser = Parser::new();
    let grammar = match language {
        FormulaLanguage::Python => tree_sitter_python::LANGUAGE.into(),
        FormulaLanguage::Rust => tree_sitter_rust::LANGUAGE.into(),
    };
    // Both fail only for a grammar of another ABI, or where parsing is cancelled: neither happens here, and a source
    // that cannot be read declares nothing.
    if parser.set_language(&grammar).is_err() {
        return Vec::new();
    }
    let Some(tree) = parser.parse(source, None) else { return Vec::new() };
    let root = tree.root_node();
    let mut cursor = root.walk();
    let functions = root.children(&mut cursor).filter_map(|item| match language {
        FormulaLanguage::Python => python_function(item),
        FormulaLanguage::Rust => rust_function(item),
    });
    functions.filter_map(|function| read_function(source, function, language)).collect()
}

fn read_function(source: &str, function: Node<'_>, language: FormulaLanguage) -> Option<FormulaFunction> {
    let name = function.child_by_field_name("name")?;
    let size = |at: usize| TextSize::try_from(at).ok();
    let range = TextRange::new(size(name.start_byte())?, size(name.end_byte())?);
    let body = function.child_by_field_name("body");
    let head = source.get(function.start_byte()..body.map_or(function.end_byte(), |body| body.start_byte()))?;
    let head = head.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let doc = match language {
        FormulaLanguage::Python => body.and_then(|body| docstring(source, body)),
        FormulaLanguage::Rust => doc_comment(source, function),
    };
    Some(FormulaFunction {
        name: source.get(name.byte_range())?.to_owned(),
        range,
        head: head.trim_end_matches([':', ' ']).to_owned(),
        doc: doc.unwrap_or_default(),
    })
}

/// The string that a Python body starts with, as `inspect.cleandoc` cleans it.
fn docstring(source: &str, body: Node<'_>) -> Option<String> {
    let first = body.named_child(0).filter(|first| first.kind() == "expression_statement")?;
    let string = first.named_child(0).filter(|string| string.kind() == "string")?;
    let mut cursor = string.walk();
    let content: String = string
        .children(&mut cursor)
        .filter(|part| part.kind() == "string_content")
        .filter_map(|part| source.get(part.byte_range()))
        .collect();
    let mut lines = content.lines();
    let first = lines.next().unwrap_or("").trim();
    let rest: Vec<&str> = lines.collect();
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let margin = rest.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let rest = rest.iter().map(|line| line.get(margin..).unwrap_or("").trim_end());
    let text = std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\n");
    Some(text.trim().to_owned())
}

/// The `///` lines above a Rust item, attributes between them aside.
fn doc_comment(source: &str, item: Node<'_>) -> Option<String> {
    let mut lines: Vec<&str> = Vec::new();
    let mut above = item.prev_sibling();
    while let Some(node) = above {
        match node.kind() {
            "line_comment" => {
                let Some(line) = source.get(node.byte_range())?.trim_end().strip_prefix("///") else { break };
                lines.push(line.strip_prefix(' ').unwrap_or(line));
            }
            "attribute_item" => {}
            _ => break,
        }
        above = node.prev_sibling();
    }
    lines.reverse();
    Some(lines.join("\n").trim().to_owned())
}

fn python_function(item: Node<'_>) -> Option<Node<'_>> {
    let definition = match item.kind() {
        "decorated_definition" => item.child_by_field_name("definition")?,
        _ => item,
    };
    (definition.kind() == "function_definition").then_some(definition)
}

fn rust_function(item: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = item.walk();
    let public = item.children(&mut cursor).any(|child| child.kind() == "visibility_modifier");
    (item.kind() == "function_item" && public).then_some(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formula_names(source: &str, language: FormulaLanguage) -> Vec<String> {
        formula_functions(source, language).into_iter().map(|function| function.name).collect()
    }

    #[test]
    fn a_function_has_its_head_and_its_documentation() {
        let python = "@cached\ndef norm(\n    call,\n):\n    \"\"\"Reads twice.\n\n      Indented.\n    Not.\n    \"\"\"\n    return 0, 0\n\ndef plain(call): return 0, 0\n";
        let found = formula_functions(python, FormulaLanguage::Python);
        assert_eq!(found[0].head, "def norm( call, )");
        assert_eq!(found[0].doc, "Reads twice.\n\n  Indented.\nNot.");
        assert_eq!(python.get(std::ops::Range::<usize>::from(found[0].range)), Some("norm"));
        assert_eq!((found[1].head.as_str(), found[1].doc.as_str()), ("def plain(call)", ""));
        let rust = "//! Of the file.\n\n/// Reads once.\n///\n/// - a list\n#[inline]\n/// And more.\npub fn gemm(call: &Call) -> (u128, u128) {\n}\n// Not this.\npub fn other() {}\n";
        let found = formula_functions(rust, FormulaLanguage::Rust);
        assert_eq!(found[0].head, "pub fn gemm(call: &Call) -> (u128, u128)");
        assert_eq!(found[0].doc, "Reads once.\n\n- a list\nAnd more.");
        assert_eq!(found[1].doc, "");
    }

    #[test]
    fn python_functions_are_module_level_definitions() {
        let source = r#"
gemm_roofline = make(2)

@cached
def norm(call):
    def helper(x):
        return x
    return helper(call), 0

async def later(call): ...

class Formula:
    def method(self): ...

def broken(call
"#;
        let names = formula_names(source, FormulaLanguage::Python);
        assert_eq!(names[..2], ["norm", "later"]);
        assert!(!names.iter().any(|name| matches!(name.as_str(), "helper" | "method" | "gemm_roofline")));
    }

    #[test]
    fn rust_functions_are_public_and_of_the_file() {
        let source = "pub fn gemm(call: &Call) -> (i128, i128) { fn inner() {} (0, 0) }\nfn private() {}\nmod m { pub fn n() {} }\npub const X: u8 = 0;\n#[inline]\npub(crate) fn norm() {}\n";
        assert_eq!(formula_names(source, FormulaLanguage::Rust), ["gemm", "norm"]);
    }

    #[test]
    fn any_text_gives_a_list() {
        for source in ["", "\0", "def", "\u{feff}def f(): pass", "((((((((((", "pub fn"] {
            let _ = formula_names(source, FormulaLanguage::Python);
            let _ = formula_names(source, FormulaLanguage::Rust);
        }
    }
}
