//! Golden and broken blocks, and the command that makes them.
//!
//! | module | what it is for |
//! |---|---|
//! | [`golden`] | small sound blocks that together say everything the format can say |
//! | [`broken`] | a block for each rule of the format that breaks it |
//! | [`plan`] | blocks after a plan given by hand, from labelsets as plain maps |
//! | [`surgeon`] | blocks taken apart and put together again |

pub mod broken;
pub mod golden;
pub mod plan;
pub mod surgeon;
