//! Codes about GPU profiles, beside those about keys and forms that all files share.

codes! {
    PROFILE_NUMBER = "profile-number", Error, "A GPU profile has a number that its quantity cannot be",
        None "which of the numbers is wrong is for a measurement to say";
}
