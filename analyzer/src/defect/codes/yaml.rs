//! Codes about YAML itself.

codes! {
    YAML_SYNTAX = "yaml-syntax", Error, "The text is not well-formed YAML",
        Fix "writes spaces for tabs, a space behind a `:`, quotes around a value, the quote or bracket that is missing at a line's end";
    YAML_CHARACTER = "yaml-character", Error, "A character cannot stand in YAML, or readers take it differently",
        Fix "writes the character as an escape in double quotes, else removes it";
    YAML_DOCUMENT = "yaml-document", Error, "The file is more than one plain document",
        Fix "removes the line";
    YAML_TOP_LEVEL = "yaml-top-level", Error, "The file is no mapping from names to entries",
        None "what the file was to declare cannot be told";
    YAML_LIMIT = "yaml-limit", Error, "The file or an entry is larger or deeper than what is read",
        None "where to divide it is for its author to say";
    YAML_ANCHOR = "yaml-anchor", Error, "A value is shared by an anchor and an alias",
        Fix "writes the value out where an alias stands, then removes the anchor";
    YAML_MERGE_KEY = "yaml-merge-key", Error, "Keys are merged from elsewhere with `<<`",
        Fix "writes the merged keys out";
    YAML_TAG = "yaml-tag", Error, "A value has a tag",
        Fix "removes the tag, and quotes what it made a string";
    DUPLICATE_KEY = "duplicate-key", Error, "A mapping has the same key twice",
        Fix "removes the key that no reader takes, which is the first of the two";
    NON_STRING_KEY = "non-string-key", Error, "A key is not a string",
        Fix "quotes the key";
    AMBIGUOUS_SCALAR = "ambiguous-scalar", Error, "Readers of YAML 1.1 and 1.2 read a scalar differently",
        Fix "quotes the text, or writes the value that its place takes so that every reader reads it";
}
