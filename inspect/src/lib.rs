//! Shows what is inside a block: the library behind `chronoxide-inspect`.
pub mod dump;
