//! Codes about YAML itself.

codes! {
    YAML_SYNTAX = "yaml-syntax", Error, "The text is not well-formed YAML";
    YAML_CHARACTER = "yaml-character", Error, "A character cannot stand in YAML, or readers take it differently";
    YAML_DOCUMENT = "yaml-document", Error, "The file is more than one plain document";
    YAML_TOP_LEVEL = "yaml-top-level", Error, "The file is no mapping from names to entries";
    YAML_LIMIT = "yaml-limit", Error, "The file or an entry is larger or deeper than what is read";
    YAML_ANCHOR = "yaml-anchor", Error, "A value is shared by an anchor and an alias";
    YAML_MERGE_KEY = "yaml-merge-key", Error, "Keys are merged from elsewhere with `<<`";
    YAML_TAG = "yaml-tag", Error, "A value has a tag";
    DUPLICATE_KEY = "duplicate-key", Error, "A mapping has the same key twice";
    NON_STRING_KEY = "non-string-key", Error, "A key is not a string";
    AMBIGUOUS_SCALAR = "ambiguous-scalar", Error, "Readers of YAML 1.1 and 1.2 read a scalar differently";
}
