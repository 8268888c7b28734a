//! What the names of an entry are in Rust.

use std::collections::BTreeSet;
use std::sync::Arc;

use tileops_analyzer::check::Scope;

/// What a local of the emitted code cannot be called: Rust's keywords, and what the code itself uses.
const RESERVED: &[&str] = &[
    // Keywords.
    "abstract",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
    // Locals of the emitted methods.
    "arguments",
    "bytes",
    "call",
    "flops",
    "formulas",
    "given",
    "indices",
    "op",
    "out",
    "outputs",
    "params",
    "read",
    "state",
    "tensors",
    "value",
    // Functions of the prelude, and types that a local would hide.
    "all",
    "all_of",
    "also",
    "balanced_sizes",
    "broadcast",
    "category",
    "coalesce_dtype",
    "conv_out",
    "each",
    "int",
    "item",
    "len",
    "max_of",
    "mhc_expansion",
    "min_of",
    "moe_capacity",
    "one",
    "one_of",
    "per_axis",
    "pool_out",
    "prod",
    "promote_int_to_float",
    "reduced",
    "repeat",
    "representable",
    "slice",
    "sum",
    "unique_axes",
    "valid_axes",
    "float_floor_div",
    "float_mod",
    "bool",
    "f64",
    "i128",
    "str",
    "vec",
];

/// The names of one entry, each with what it is in Rust.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    names: Vec<(Arc<str>, String)>,
}

/// `name` in snake case.
pub(crate) fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut lower = false;
    for c in name.chars() {
        if c.is_uppercase() && lower {
            out.push('_');
        }
        lower = c.is_lowercase() || c.is_ascii_digit();
        if !(c == '_' && out.ends_with('_')) {
            out.extend(c.to_lowercase());
        }
    }
    if out.is_empty() || out.chars().all(|c| c == '_') { format!("{out}name") } else { out }
}

impl Names {
    /// The names of `scope`.
    pub(crate) fn of(scope: &Scope) -> Names {
        let mut taken: BTreeSet<String> = RESERVED.iter().map(|&name| name.to_owned()).collect();
        let mut names = Vec::new();
        for symbol in scope.iter() {
            let mut own = snake(&symbol.name);
            while taken.contains(&own) {
                own.push('_');
            }
            taken.insert(own.clone());
            names.push((symbol.name.clone(), own));
        }
        Names { names }
    }

    /// Whether a local of the emitted code cannot have that name.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        RESERVED.contains(&name) || self.names.iter().any(|(_, own)| own == name)
    }

    /// What `name` is in Rust.
    pub(crate) fn get(&self, name: &str) -> String {
        match self.names.iter().find(|(known, _)| &**known == name) {
            Some((_, own)) => own.clone(),
            None => {
                // A comprehension's variable: it hides no name of the entry.
                let mut own = snake(name);
                while RESERVED.contains(&&*own) || self.names.iter().any(|(_, known)| *known == own) {
                    own.push_str("_each");
                }
                own
            }
        }
    }
}
