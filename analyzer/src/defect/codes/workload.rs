//! Codes about workload rows.

codes! {
    ROW_KEY = "row-key", Error, "A workload row lacks a key that its call needs, or has one that it does not";
    ROW_VALUE = "row-value", Error, "A value in a workload row is none of its name's kind";
    ROW_SOME = "row-some", Error, "`some` names something that a row does not decide to pass";
    ROW_DTYPES = "row-dtypes", Error, "`dtype_cases` does not assign exactly the dtype indices of the call";
    ROW_LABEL = "row-label", Error, "A row's label does not have the form of one";
    DUPLICATE_CASE = "duplicate-case", Error, "Two cases of an entry have one id";
    ROW_REFINEMENT = "row-refinement", Error, "A row breaks a refinement";
    ROW_COMBO = "row-combo", Error, "A row's dtypes are no row of `dtype_combos`";
    ROW_DOMAIN = "row-domain", Error, "Something cannot be computed at a row, or an axis is negative";
    ROW_METADATA = "row-metadata", Error, "A metadata tensor's values do not fit the call";
    OPTIONAL_COVERAGE = "optional-coverage", Error, "No row passes an optional tensor, or none omits it";
}
