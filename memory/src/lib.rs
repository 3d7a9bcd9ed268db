//! A limit for the memory of a program: [`SpillingAllocator`].
//!
//! | module | what it is for |
//! |---|---|
//! | `allocator` | the global allocator: counts the heap, and decides what spills |
//! | `scratch` | large allocations as ranges of a mapped file |
//! | `count` | bytes of the heap, added up per thread |
//!
//! ```
//! use chronoxide_memory::{SpillingAllocator, limit, spill_to, usage};
//!
//! #[global_allocator]
//! static ALLOCATOR: SpillingAllocator = SpillingAllocator;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! limit(8 << 20);
//! spill_to(tempfile::tempfile()?)?;
//! let numbers: Vec<u64> = (0..4 << 20).collect(); // 32 MiB
//! assert_eq!(numbers.iter().sum::<u64>(), (1 << 21) * ((4 << 20) - 1));
//! # #[cfg(target_os = "linux")]
//! assert!(usage().peak_heap < 8 << 20 && usage().spilled >= 32 << 20);
//! # Ok(())
//! # }
//! ```

mod allocator;
mod count;
#[cfg(target_os = "linux")]
mod scratch;

pub use allocator::{Exceeded, SpillingAllocator, Usage, check, limit, spill_to, usage};
