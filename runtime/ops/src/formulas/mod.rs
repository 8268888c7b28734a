//! Rooflines that need code: `func` of an entry names a function of this module.
//!
//! Each is a function of the checked call and of nothing else, and says in its documentation where its numbers come from.
