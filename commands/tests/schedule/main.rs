//! The subcommands of `chronoxide-compact` for schedules, and its death at any moment.

mod command;
mod in_place;
mod kills;
#[allow(dead_code, reason = "each test program uses its part")]
#[path = "../../../compactor/tests/schedule/scene.rs"]
mod scene;
#[path = "../../../compactor/tests/support/mod.rs"]
mod support;
