//! Codes about suppression comments.

codes! {
    BAD_SUPPRESSION = "bad-suppression", Error, "A suppression comment cannot be understood";
    UNUSED_SUPPRESSION = "unused-suppression", Advisory, "A suppression comment suppresses nothing";
}
