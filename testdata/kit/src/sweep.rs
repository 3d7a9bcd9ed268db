//! Decides how many cases a test tries that could try very many.

/// Environment variable: if `full`, tests try all their cases. That takes much longer.
pub const SWEEPS: &str = "CHRONOXIDE_SWEEPS";

/// Returns `full` if `CHRONOXIDE_SWEEPS` is `full`, and `usual` otherwise.
pub fn cases<T>(usual: T, full: T) -> T {
    match std::env::var(SWEEPS) {
        Ok(asked) if asked == "full" => full,
        _ => usual,
    }
}
