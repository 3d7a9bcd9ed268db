//! Shows what is inside a block
