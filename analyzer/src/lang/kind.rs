//! Kinds: what an expression can be.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::DTypeSet;

/// The string literals that an enum admits.
pub type Literals = BTreeSet<Arc<str>>;

/// What an expression, an index, a parameter or a tensor is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A non-negative integer.
    Dim,
    /// A signed integer.
    Int,
    /// True or false.
    Bool,
    /// A number that may have a fraction.
    Float,
    /// `None`.
    None,
    /// A string that no literal set bounds (`str`).
    Str,
    /// One of a set of string literals.
    Enum(Literals),
    /// A tuple of `Dim`.
    Shape,
    /// A sequence of elements of one kind; its length where it is known.
    Seq(Box<Kind>, Option<usize>),
    /// A dtype out of a set.
    DType(DTypeSet),
    /// A value or `None`.
    Maybe(Box<Kind>),
    /// One of several kinds, none of them a union, a `Maybe` or `None`.
    Union(Vec<Kind>),
    /// A value of an ADT, narrowed to some of its constructors (by name).
    Adt(Arc<Adt>, BTreeSet<Arc<str>>),
    /// A tensor; it stands as the operand of `present` and `bytes`, and of predicates, only.
    Tensor,
    /// A value that takes no part in types (`dict`, `torch.device`, a dotted name); by its type's name.
    Opaque(Arc<str>),
    /// Not known for a reason that has been reported already. It fits everywhere and gives no further defect.
    Error,
}

/// An algebraic data type: `adts.<name>` of `types.yaml`.
#[derive(Debug, Clone, PartialEq)]
pub struct Adt {
    /// Its name.
    pub name: Arc<str>,
    /// Its constructors, in the order declared.
    pub constructors: Vec<Constructor>,
}

/// One constructor of an ADT.
#[derive(Debug, Clone, PartialEq)]
pub struct Constructor {
    /// Its name.
    pub name: Arc<str>,
    /// Its qualified name in Python, where one is declared.
    pub python: Option<Arc<str>>,
    /// Its fields, in the order declared.
    pub fields: Vec<Field>,
    /// What every value of it satisfies, over its fields; ranges are in the ADT's own declaration.
    pub invariant: Option<crate::expr::Expr>,
}

/// One field of a constructor.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// `Dim`, `Int`, `Bool` or an enum.
    pub kind: Kind,
}

impl Adt {
    /// The constructor called `name`.
    pub fn constructor(&self, name: &str) -> Option<&Constructor> {
        self.constructors.iter().find(|c| &*c.name == name)
    }
}

impl Constructor {
    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| &*f.name == name)
    }
}

/// The shared ADTs that an entry can name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AdtTable {
    adts: Vec<Arc<Adt>>,
    /// Whether `types.yaml` could be read: an unknown name is a defect only where the table is whole.
    pub complete: bool,
}

impl AdtTable {
    /// A table of `adts`; `complete` says that every declaration of them could be read.
    pub fn new(adts: Vec<Arc<Adt>>, complete: bool) -> Self {
        AdtTable { adts, complete }
    }

    /// The ADT called `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<Adt>> {
        self.adts.iter().find(|adt| &*adt.name == name)
    }

    /// Every ADT, in the order declared.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Adt>> {
        self.adts.iter()
    }
}

impl Kind {
    /// Whether a `let` can stand for such a value: one that types can read.
    pub(crate) fn can_be_let(&self) -> bool {
        self.takes_part_in_types() && *self != Kind::None
    }

    /// Whether values of this kind take part in types. The others (numbers with fractions, free strings, opaque
    /// objects, and whatever holds one) may be read by refinements and by the roofline only.
    pub fn takes_part_in_types(&self) -> bool {
        match self {
            Kind::Float | Kind::Str | Kind::Opaque(_) => false,
            Kind::Seq(item, _) | Kind::Maybe(item) => item.takes_part_in_types(),
            Kind::Union(members) => members.iter().all(Kind::takes_part_in_types),
            Kind::Dim
            | Kind::Int
            | Kind::Bool
            | Kind::None
            | Kind::Enum(_)
            | Kind::Shape
            | Kind::DType(_)
            | Kind::Adt(..)
            | Kind::Tensor
            | Kind::Error => true,
        }
    }
}

/// The kind as messages and hovers write it, in the notation of the language.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn joined(f: &mut fmt::Formatter<'_>, items: impl Iterator<Item = impl fmt::Display>) -> fmt::Result {
            for (i, item) in items.enumerate() {
                let separator = if i == 0 { "" } else { " | " };
                write!(f, "{separator}{item}")?;
            }
            Ok(())
        }
        match self {
            Kind::Dim => f.write_str("Dim"),
            Kind::Int => f.write_str("Int"),
            Kind::Bool => f.write_str("Bool"),
            Kind::Float => f.write_str("Float"),
            Kind::None => f.write_str("None"),
            Kind::Str => f.write_str("Str"),
            Kind::Enum(literals) => joined(f, literals.iter().map(|literal| format!("'{literal}'"))),
            Kind::Shape => f.write_str("Shape"),
            Kind::Seq(item, None) => write!(f, "Seq[{item}]"),
            Kind::Seq(item, Some(length)) => write!(f, "Seq[{item}; {length}]"),
            Kind::DType(set) if *set == DTypeSet::ALL => f.write_str("DType"),
            Kind::DType(set) => {
                f.write_str("DType[")?;
                joined(f, set.iter().map(super::DType::name))?;
                f.write_str("]")
            }
            Kind::Maybe(inner) => write!(f, "Maybe[{inner}]"),
            Kind::Union(members) => joined(f, members.iter()),
            Kind::Adt(adt, _) => f.write_str(&adt.name),
            Kind::Tensor => f.write_str("Tensor"),
            Kind::Opaque(name) => f.write_str(name),
            Kind::Error => f.write_str("unknown"),
        }
    }
}
