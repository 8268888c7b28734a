//! Codes about workload rows.

codes! {
    ROW_KEY = "row-key", Error, "A workload row lacks a key that its call needs, or has one that it does not",
        Fix "removes a key that the call does not read; writes the missing name that a key is near to; adds a missing key with the value of the other rows";
    ROW_VALUE = "row-value", Error, "A value in a workload row is none of its name's kind",
        Fix "unquotes a number, writes `null` for `None`, a literal for one that is near it";
    ROW_SOME = "row-some", Error, "`some` names something that a row does not decide to pass",
        Fix "writes the nearest tensor; removes a name that is passed anyway, or twice";
    ROW_DTYPES = "row-dtypes", Error, "`dtype_cases` does not assign exactly the dtype indices of the call",
        Fix "removes an assignment too many or a case that is there twice; adds one that is missing";
    ROW_LABEL = "row-label", Error, "A row's label does not have the form of one",
        Fix "puts `-` in place of what no label has";
    DUPLICATE_CASE = "duplicate-case", Error, "Two cases of an entry have one id",
        Fix "removes a row that is there word by word already, or gives it a label of its own";
    ROW_REFINEMENT = "row-refinement", Error, "A row breaks a refinement",
        None "whether the row or the refinement is wrong cannot be told";
    ROW_COMBO = "row-combo", Error, "A row's dtypes are no row of `dtype_combos`",
        None "which of the row's dtypes is wrong cannot be told";
    ROW_DOMAIN = "row-domain", Error, "Something cannot be computed at a row, or an axis is negative",
        None "which of the row's values is wrong cannot be told";
    ROW_METADATA = "row-metadata", Error, "A metadata tensor's values do not fit the call",
        None "which of the row's values is wrong cannot be told";
    OPTIONAL_COVERAGE = "optional-coverage", Error, "No row passes an optional tensor, or none omits it",
        None "what a further row should measure is for the op's author to say";
}
