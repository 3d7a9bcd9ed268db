//! Growth of large arrays.

/// Length in bytes from which arrays grow by a quarter.
const LARGE: usize = 1 << 20;

/// Appends an item. A large array grows by a quarter instead of doubling: the system moves large blocks by their pages,
/// so that growth is cheap and unused capacity is not.
#[inline]
pub(crate) fn push<T>(items: &mut Vec<T>, item: T) {
    if items.len() == items.capacity() && items.capacity() * size_of::<T>() >= LARGE {
        items.reserve_exact(items.capacity() / 4);
    }
    items.push(item);
}
