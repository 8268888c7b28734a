//! The parts of an entry.

use std::sync::Arc;

use super::Fact;
use crate::expr::{Call, Expr, Ident, Shape, TypeExpr};
use crate::lang::{DType, DTypeSet};
use crate::syntax::Node;
use crate::text::{Spanned, TextRange};

/// A place in an entry, as a path of keys: `signature.inputs.x.shape`.
pub type Path = Arc<str>;

/// An expression of the entry and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    /// The tree.
    pub expr: Expr,
    /// The path of the scalar that states it.
    pub path: Path,
}

/// One operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The op's class name and where its key stands.
    pub name: Ident,
    /// Whether the name has the form `{PascalCaseName}[{Fwd|Bwd}]Op`; where it has not, the defect has been reported.
    pub name_is_valid: bool,
    /// `family`
    pub family: Fact<Ident>,
    /// `status`
    pub status: Fact<Status>,
    /// `ref_api`
    pub ref_api: Fact<Ident>,
    /// `signature`
    pub signature: Fact<Signature>,
    /// `workloads`, in the order written. A row that is no mapping is malformed.
    pub workloads: Fact<Vec<Fact<Row>>>,
    /// `roofline`
    pub roofline: Fact<Roofline>,
    /// `composition`
    pub composition: Fact<Composition>,
}

/// `status`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The op has an implementation.
    Implemented,
    /// The entry is a contract that no implementation serves yet.
    SpecOnly,
}

/// `signature`. A section that is absent has no members; one that is malformed leaves every judgment that needs its
/// members unreached.
#[derive(Debug, Clone, PartialEq)]
pub struct Signature {
    /// `forall`
    pub forall: Fact<Vec<Index>>,
    /// `params`
    pub params: Fact<Vec<Param>>,
    /// `inputs`
    pub inputs: Fact<Vec<Tensor>>,
    /// `outputs`
    pub outputs: Fact<Vec<Tensor>>,
    /// `types`
    pub types: Fact<Vec<Family>>,
    /// `let`
    pub lets: Fact<Vec<Let>>,
    /// `shape_rules`: the refinements.
    pub shape_rules: Fact<Vec<Fact<Formula>>>,
    /// `dtype_combos`
    pub dtype_combos: Fact<Vec<Fact<Combo>>>,
    /// Whether every name that it declares could be read. Where not, a name that is not here may still be declared.
    pub complete: bool,
}

/// One name of `forall`.
#[derive(Debug, Clone, PartialEq)]
pub struct Index {
    /// The name.
    pub name: Ident,
    /// Its kind.
    pub kind: Fact<IndexKind>,
    /// `signature.forall.<name>`
    pub path: Path,
}

/// The kinds that `forall` declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexKind {
    /// `Dim`
    Dim,
    /// `Shape`
    Shape,
    /// `DType[a | b]`, its members as written (repeats and unknown names have defects of their own and are not here).
    DType(Vec<Spanned<DType>>),
    /// `Seq[Int]`
    Seq,
}

impl IndexKind {
    /// The members of a dtype kind as a set; empty for the other kinds.
    pub fn dtypes(&self) -> DTypeSet {
        match self {
            IndexKind::DType(members) => members.iter().map(|m| m.value).collect(),
            _ => DTypeSet::EMPTY,
        }
    }
}

/// One member of `params`.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// The name.
    pub name: Ident,
    /// What it is.
    pub role: ParamRole,
    /// `signature.params.<name>`
    pub path: Path,
}

/// A construction parameter is a value or a tensor.
#[derive(Debug, Clone, PartialEq)]
// Nearly every parameter is a value; a box for each would cost more than the size of the few tensors saves.
#[allow(clippy::large_enum_variant)]
pub enum ParamRole {
    /// `{type, default, kw_only}`
    Value {
        /// `type`
        ty: Fact<TypeRef>,
        /// `default`: any node; `default: null` is a valid null.
        default: Fact<Node>,
        /// `kw_only`
        kw_only: Fact<bool>,
    },
    /// `{dtype, shape, optional, …}`: a construction-time tensor.
    Tensor(Box<Tensor>),
}

/// A parameter's `type` and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeRef {
    /// The tree.
    pub ty: TypeExpr,
    /// `signature.params.<name>.type`
    pub path: Path,
}

/// Which section declares a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TensorRole {
    /// `params`: read, as an input is.
    Construction,
    /// `inputs`
    Input,
    /// `outputs`
    Output,
}

/// A tensor of `inputs`, `outputs` or `params`. A field that its section does not know is absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// The name.
    pub name: Ident,
    /// The section.
    pub role: TensorRole,
    /// `dtype`: a dtype's name, a DType index, a dtype parameter, or an expression that gives a dtype. A dtype's name
    /// is [`crate::expr::ExprKind::Name`] too; what it means is decided by the scope.
    pub dtype: Fact<Formula>,
    /// `shape`
    pub shape: Fact<Shape>,
    /// `optional` of an input, `nullable` of an output.
    pub optional: Fact<Condition>,
    /// `mutated`
    pub mutated: Fact<Condition>,
    /// `write_only`
    pub write_only: Fact<bool>,
    /// `values`
    pub values: Fact<Generator>,
    /// `requires`
    pub requires: Fact<Vec<Fact<Generator>>>,
    /// `contiguous`
    pub contiguous: Fact<bool>,
    /// `device`
    pub device: Fact<Ident>,
    /// `buffer: out`
    pub buffer: Fact<Effect>,
    /// `alias`
    pub alias: Fact<AliasOf>,
    /// `signature.<section>.<name>`
    pub path: Path,
}

/// `optional`, `nullable` or `mutated`: `true`, `false`, or a condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// A boolean.
    Always(bool),
    /// A condition over discriminants, in a string.
    When(Formula),
}

/// The only value of `buffer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// `out`: the caller may pass the buffer that the output is written to.
    Out,
}

/// `alias: <input>`
pub type AliasOf = Ident;

/// `values` or one item of `requires`: a call of a generator or a predicate. A text that is no call is malformed.
#[derive(Debug, Clone, PartialEq)]
pub struct Generator {
    /// The call.
    pub call: Call,
    /// Where the call stands.
    pub range: TextRange,
    /// The path of the scalar that states it.
    pub path: Path,
}

/// One type family of `types`.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// The name.
    pub name: Ident,
    /// Its formals, in the order written: what binds to an argument, and its kind (`Dim`, `Bool`, an ADT's name, …).
    pub params: Fact<Vec<(Ident, Fact<TypeExpr>)>>,
    /// The formals that `match` names; one name is a list of one. `Fact::Valid(…, range)` is where `match` stands.
    pub scrutinees: Fact<Vec<Ident>>,
    /// The cases, in the order written.
    pub cases: Fact<Vec<Fact<FamilyCase>>>,
    /// `signature.types.<name>`
    pub path: Path,
}

/// One case of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct FamilyCase {
    /// `when`: one pattern a scrutinee. A single pattern is a list of one.
    pub when: Fact<Vec<Pattern>>,
    /// `is`
    pub is: Fact<Shape>,
    /// Where the case stands.
    pub range: TextRange,
    /// `signature.types.<name>.cases[i]`
    pub path: Path,
}

/// What a case matches of one scrutinee.
#[derive(Debug, Clone, PartialEq)]
pub enum Pattern {
    /// `_`
    Any(TextRange),
    /// `true`, `false`
    Bool(bool, TextRange),
    /// A literal of an enum.
    Literal(Ident),
    /// `{masked: _}`, `{contiguous: {metadata_kind: per_row}}`
    Constructor(Ident, PatternFields),
    /// Unreadable; its defect has been reported.
    Error(TextRange),
}

/// What a constructor pattern says of the fields.
#[derive(Debug, Clone, PartialEq)]
pub enum PatternFields {
    /// `_`
    Any,
    /// `{field: pattern}`; a field that is not named matches any value.
    Named(Vec<(Ident, Pattern)>),
}

/// One name of `let`.
#[derive(Debug, Clone, PartialEq)]
pub struct Let {
    /// The name.
    pub name: Ident,
    /// What it stands for.
    pub value: Fact<Formula>,
    /// `signature.let.<name>`
    pub path: Path,
}

/// One row of `dtype_combos`.
#[derive(Debug, Clone, PartialEq)]
pub struct Combo {
    /// The columns, in the order written.
    pub columns: Vec<(Ident, Fact<DType>)>,
    /// Where the row stands.
    pub range: TextRange,
}

/// One row of `workloads`.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its position in the list, from zero.
    pub position: usize,
    /// The parameters and indices it states, in the order written, each with its value as written.
    pub values: Vec<(Ident, Node)>,
    /// `some`: the optional tensors passed.
    pub some: Fact<Vec<Ident>>,
    /// `dtype_cases`
    pub dtype_cases: Fact<Vec<Fact<DTypeCase>>>,
    /// `label`
    pub label: Fact<Ident>,
    /// Whether every key of it could be read. Where not, a key that is not here may still be stated.
    pub complete: bool,
    /// Where the row stands.
    pub range: TextRange,
    /// `workloads[i]`
    pub path: Path,
}

/// One assignment of `dtype_cases`.
#[derive(Debug, Clone, PartialEq)]
pub struct DTypeCase {
    /// The assignments, in the order written.
    pub assignments: Vec<(Ident, Fact<DType>)>,
    /// Where the case stands.
    pub range: TextRange,
}

/// `roofline`
#[derive(Debug, Clone, PartialEq)]
pub struct Roofline {
    /// `flops`
    pub flops: Fact<Formula>,
    /// `bytes`
    pub bytes: Fact<Formula>,
    /// `func`: a non-empty string, whatever its form.
    pub func: Fact<Ident>,
}

/// `composition`
#[derive(Debug, Clone, PartialEq)]
pub struct Composition {
    /// `stages`, in the order written.
    pub stages: Fact<Vec<Fact<Stage>>>,
}

/// One stage of a composite op.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// `name`
    pub name: Fact<Ident>,
    /// `op` or `kernel`; malformed where a stage has both or neither.
    pub target: Fact<StageTarget>,
    /// `optional`
    pub optional: Fact<bool>,
    /// Where the stage stands.
    pub range: TextRange,
    /// `composition.stages[i]`
    pub path: Path,
}

/// What a stage runs.
#[derive(Debug, Clone, PartialEq)]
pub enum StageTarget {
    /// Another op of the manifest.
    Op(Ident),
    /// A kernel of the op itself.
    Kernel(Ident),
}
