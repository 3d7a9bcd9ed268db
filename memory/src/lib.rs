//! A limit for the memory of a program: [`SpillingAllocator`].
//!
//! | module | what it is for |
//! |---|---|
//! | `allocator` | the global allocator: counts the heap, and decides what spills |
//! | `scratch` | allocations in a mapped file |
//! | `class` | sizes of small allocations there |
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
#[cfg(target_os = "linux")]
mod class;
mod count;
#[cfg_attr(not(target_os = "linux"), path = "unsupported.rs")]
mod scratch;

pub use allocator::{Exceeded, SpillingAllocator, Usage, can_spill, check, limit, spill_to, usage};

/// Minimum bytes of a large allocation, which takes memory of the system for itself.
const LARGE: usize = 256 << 10;

/// Minimum bytes of an allocation that spills first. It lives long, as a rule, and is read in order.
const HUGE: usize = 4 << 20;
