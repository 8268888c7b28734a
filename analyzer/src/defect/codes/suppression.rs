//! Codes about suppression comments.

codes! {
    UNUSED_SUPPRESSION = "unused-suppression", Advisory, "A suppression comment suppresses nothing";
}
