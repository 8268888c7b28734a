//! The functions that a `func` roofline can name.

use std::collections::BTreeSet;

use tree_sitter::{Node, Parser};

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

/// The names of the module-level functions of `source`, in their order. A source with syntax errors gives those that
/// can be made out.
pub fn formula_names(source: &str, language: FormulaLanguage) -> Vec<String> {
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
    root.children(&mut cursor)
        .filter_map(|item| match language {
            FormulaLanguage::Python => python_function(item),
            FormulaLanguage::Rust => rust_function(item),
        })
        .filter_map(|function| function.child_by_field_name("name"))
        .filter_map(|name| source.get(name.byte_range()))
        .map(str::to_owned)
        .collect()
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
