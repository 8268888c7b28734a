//! Codes about YAML itself.

codes! {
    YAML_SYNTAX = "yaml-syntax", Error, "The text is not well-formed YAML";
}
