//! Counts of equal hashes.

/// Returns the number of items whose hash at least one other item has; 0 if all hashes are distinct. Sorts a copy.
///
/// ```
/// assert_eq!(chronoxide_stores::hash_collisions([1, 2, 1, 3, 1]), 3);
/// ```
pub fn hash_collisions(hashes: impl IntoIterator<Item = u64>) -> usize {
    let mut hashes: Vec<u64> = hashes.into_iter().collect();
    hashes.sort_unstable();
    hashes.chunk_by(|left, right| left == right).map(<[u64]>::len).filter(|&len| len > 1).sum()
}
