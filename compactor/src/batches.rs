//! Cuts items into batches of limited size.

/// Returns consecutive items whose sizes add up to at most `most`, batch after batch. A larger item is a batch of its
/// own.
pub(crate) fn batches<T>(items: &[T], most: u64, size: impl Fn(&T) -> u64) -> impl Iterator<Item = &[T]> {
    let mut left = items;
    std::iter::from_fn(move || {
        let mut sum = 0;
        let fitting = left.iter().take_while(|item| {
            sum += size(item);
            sum <= most
        });
        let (batch, rest) = left.split_at(fitting.count().max(1).min(left.len()));
        left = rest;
        (!batch.is_empty()).then_some(batch)
    })
}
