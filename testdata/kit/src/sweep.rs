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

/// Returns each `n`-th item, beginning with item `turn % n`, or every item if all cases are asked for. A test that
/// passes the number of its outer case as `turn` tries every item with some outer case.
pub fn by_turns<T>(items: impl IntoIterator<Item = T>, turn: usize, n: usize) -> impl Iterator<Item = T> {
    items.into_iter().skip(cases(turn % n, 0)).step_by(cases(n, 1))
}
