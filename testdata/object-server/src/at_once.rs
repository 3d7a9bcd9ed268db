//! [`at_once`]: cases that wait for servers most of the time.

use std::sync::Mutex;

/// Cases that run at the same time.
const CASES: usize = 8;

/// Runs `check` on each case, several at the same time.
///
/// # Panics
///
/// If `check` does, after all other cases have ended.
pub fn at_once<T: Send>(cases: impl IntoIterator<Item = T>, check: impl Fn(T) + Sync) {
    let cases: Vec<T> = cases.into_iter().collect();
    let threads = CASES.min(cases.len());
    let cases = Mutex::new(cases.into_iter());
    let next = || cases.lock().expect("no thread panics while it holds the lock").next();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = next() {
                    check(case);
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_case_is_checked_once_and_a_panic_is_passed_on() {
        let seen = Mutex::new(Vec::new());
        let run = |bad: u32| {
            at_once(0..100, |case| {
                seen.lock().expect("no panic with the lock").push(case);
                assert!(case != bad, "case {case}");
            });
        };
        run(100);
        assert_eq!(seen.lock().expect("no panic with the lock").iter().copied().collect::<BTreeSet<_>>().len(), 100);
        assert_eq!(std::mem::take(&mut *seen.lock().expect("no panic with the lock")).len(), 100);
        assert!(std::panic::catch_unwind(|| run(40)).is_err());
        assert_eq!(seen.lock().expect("no panic with the lock").len(), 100, "the other cases are checked");
    }
}
