//! Every defect code, grouped by what it judges. A code is declared in one of the group files beside its siblings, and
//! `docs/<name>.md` there is its page.

use super::Code;

/// Declares codes: the constant's name gives the kebab-case name, and `docs/<name>.md` beside the file its page. Behind the
/// summary stands what a fix does, or why there is none.
macro_rules! codes {
    ($(
        $(#[$meta:meta])* $constant:ident = $name:literal, $severity:ident, $summary:literal, $mend:ident $mended:literal;
    )*) => {
        $(
            $(#[$meta])*
            #[doc = $summary]
            pub static $constant: $crate::defect::Code = $crate::defect::Code {
                name: $name,
                summary: $summary,
                severity: $crate::defect::Severity::$severity,
                status: $crate::defect::Status::Stable("0.1.0"),
                mend: $crate::defect::Mend::$mend($mended),
                docs: include_str!(concat!("docs/", $name, ".md")),
            };
        )*
        /// The codes of this group, in the order declared.
        pub(crate) static GROUP: &[&$crate::defect::Code] = &[$(&$constant),*];
    };
}

mod entry;
mod expression;
mod profile;
mod roofline;
mod signature;
mod suppression;
mod workload;
mod yaml;

pub use entry::*;
pub use expression::*;
pub use profile::*;
pub use roofline::*;
pub use signature::*;
pub use suppression::*;
pub use workload::*;
pub use yaml::*;

pub(super) static GROUPS: &[(&str, &[&Code])] = &[
    ("YAML", yaml::GROUP),
    ("Entry", entry::GROUP),
    ("Expression", expression::GROUP),
    ("Signature", signature::GROUP),
    ("Roofline", roofline::GROUP),
    ("Workload", workload::GROUP),
    ("Profile", profile::GROUP),
    ("Suppression", suppression::GROUP),
];
