//! `chronoxide-compact` when it is killed, and when system calls fail.

mod failing_calls;
mod kills;
#[allow(dead_code, reason = "each test program uses its part")]
#[path = "../../../compactor/tests/safety/scene.rs"]
mod scene;
mod strace;
#[path = "../../../compactor/tests/support/mod.rs"]
mod support;
