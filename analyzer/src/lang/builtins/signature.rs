//! A built-in as one line: `per_axis(v: …, i: Int, n: Int, fallback: Int | None = None) -> Int`.

use std::fmt::{self, Display, Formatter};

use super::{Builtin, Gives, Parameter, Passing, ResultShape, Role, Takes};

impl Builtin {
    /// The built-in's signature, for hover and documentation.
    pub fn signature(&self) -> String {
        let mut params: Vec<String> = Vec::new();
        let mut by_name = false;
        for parameter in self.params {
            if parameter.passing == Passing::KeywordOnly && !by_name {
                by_name = true;
                params.push("*".to_owned());
            }
            params.push(parameter.to_string());
        }
        let result = match self.role {
            Role::Primitive { gives, .. } => gives.to_string(),
            Role::Present | Role::Predicate(_) => "Bool".to_owned(),
            Role::Bytes => "Dim".to_owned(),
            Role::Generator(generator) => generator.shape.to_string(),
        };
        format!("{}({}) -> {result}", self.name, params.join(", "))
    }

    /// What the built-in is, as a noun: "a primitive".
    pub fn noun(&self) -> &'static str {
        match self.role {
            Role::Primitive { .. } | Role::Present => "a primitive",
            Role::Bytes => "a primitive of the roofline",
            Role::Generator(_) => "a generator",
            Role::Predicate(_) => "a predicate",
        }
    }
}

impl Display for Parameter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.passing {
            Passing::Variadic => write!(f, "*{}: {}", self.name, self.takes),
            Passing::Required => write!(f, "{}: {}", self.name, self.takes),
            Passing::Optional | Passing::KeywordOnly => write!(f, "{}: {} = None", self.name, self.takes),
        }
    }
}

impl Display for Takes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Takes::Bool => "Bool",
            Takes::Int => "Int",
            Takes::Shape => "Shape",
            Takes::SeqInt => "Seq[Int]",
            Takes::Seq => "Seq",
            Takes::SeqBool => "Seq[Bool]",
            Takes::Axes => "Int | Seq[Int] | None",
            Takes::PerAxis => "Int | Seq[Int | None] | None",
            Takes::MaybeInt => "Int | None",
            Takes::Literal(literals) => {
                for (position, literal) in literals.iter().enumerate() {
                    write!(f, "{}'{literal}'", if position > 0 { " | " } else { "" })?;
                }
                return Ok(());
            }
            Takes::DType => "DType",
            Takes::MaybeDType => "DType | None",
            Takes::ValueOrDType => "Number | DType",
            Takes::Number => "Number",
            Takes::Adt(name) => name,
            Takes::Tensor => "tensor",
            Takes::Presence => "tensor | Maybe | out",
        })
    }
}

impl Display for Gives {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Gives::Dim => "Dim",
            Gives::Int | Gives::DimOfDims => "Int",
            Gives::Bool => "Bool",
            Gives::Shape => "Shape",
            Gives::SeqInt => "Seq[Int]",
            Gives::Promoted | Gives::Coalesced => "DType",
            Gives::Category => "'bool' | 'int' | 'float' | 'complex'",
        })
    }
}

impl Display for ResultShape {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ResultShape::Axes(axes) => write!(f, "[{}]", axes.join(", ")),
            ResultShape::Param(name) => write!(f, "[*{name}]"),
            ResultShape::LayoutMetadata => f.write_str("[R] or [E]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{all, find};

    #[test]
    fn signatures_read_as_python() {
        let signature = |name: &str| find(name).unwrap().signature();
        assert_eq!(signature("broadcast"), "broadcast(*shapes: Shape) -> Shape");
        assert_eq!(signature("max"), "max(s: Seq[Int], *, default: Int | None = None) -> Int");
        assert_eq!(
            signature("per_axis"),
            "per_axis(v: Int | Seq[Int | None] | None, i: Int, n: Int, fallback: Int | None = None) -> Int"
        );
        assert_eq!(
            signature("reduced"),
            "reduced(s: Shape, dim: Int | Seq[Int] | None, keepdim: Bool, mode: 'full' | 'noop' | 'reject') -> Shape"
        );
        assert_eq!(signature("prefix_sum"), "prefix_sum(L: Seq[Int]) -> [len(L) + 1]");
        assert_eq!(signature("full"), "full(shape: Shape, v: Int) -> [*shape]");
        assert_eq!(signature("in_range"), "in_range(lo: Int, hi: Int) -> Bool");
    }

    #[test]
    fn the_table_is_well_formed() {
        let mut names: Vec<&str> = all().iter().map(|b| b.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().len(), "a name is declared twice");
        for builtin in all() {
            assert!(!builtin.doc.is_empty() && !builtin.doc.ends_with('.'), "{}", builtin.name);
            assert!(!builtin.domain.ends_with('.'), "{}", builtin.name);
            assert!(find(builtin.name).is_some_and(|found| std::ptr::eq(found, *builtin)));
        }
    }
}
