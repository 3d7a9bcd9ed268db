//! Compares the time to resolve a series through the C ABI, by a program in C, with that of the reader in Rust.
//!
//! `cargo bench -p chronoxide-c -- BLOCK` measures any block; without one, a golden. Needs Linux and `cc`.

#[cfg(target_os = "linux")]
mod compare;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    compare::run()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
