//! Codes about suppression comments.

codes! {
    BAD_SUPPRESSION = "bad-suppression", Error, "A suppression comment cannot be understood",
        Fix "writes the nearest code, closes the brackets, removes a code that is there twice";
    UNUSED_SUPPRESSION = "unused-suppression", Advisory, "A suppression comment suppresses nothing",
        Fix "removes the code, and with the last one the comment";
}
