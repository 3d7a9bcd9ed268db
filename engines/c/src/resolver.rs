//! Labels of many series, with a cache of what neighbours share.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use chronoxide_reader::{Resolver, SeriesRef};
use self_cell::self_cell;

use crate::block::CxBlock;
use crate::error::{CxError, Failure, guard, guard_value};
use crate::label::{CxLabel, first_element};
use crate::opened::{BlockCell, give};
use crate::pointer::required;
use crate::status::{CX_INTERNAL, CxStatus};

/// Resolves many series of a block. One thread at a time may use it: a second one gets CX_USAGE. It stays valid after
/// its block is freed.
pub struct CxResolver {
    resolving: Mutex<Resolving>,
}

/// A resolver and the labels of its last series.
pub(crate) struct Resolving {
    cell: ResolverCell,
    labels: Vec<CxLabel>,
}

type BoxedResolver<'a> = Box<Resolver<'a, 'a>>;

self_cell!(
    struct ResolverCell {
        owner: Arc<BlockCell>,
        #[covariant]
        dependent: BoxedResolver,
    }
);

impl Resolving {
    pub(crate) fn new(cell: Arc<BlockCell>) -> Self {
        Self { cell: ResolverCell::new(cell, |cell| Box::new(cell.view().resolver())), labels: Vec::new() }
    }

    /// Returns the labels of a series, or none if the block does not have it. Allocates only when a series has more
    /// labels than each one before.
    #[inline]
    pub(crate) fn labels(&mut self, series: SeriesRef) -> Result<&[CxLabel], Failure> {
        let Self { cell, labels } = self;
        labels.clear();
        cell.with_dependent_mut(|owner, resolver| {
            let found = resolver.labels(series).map_err(|error| owner.locate(error))?;
            labels.extend(found.unwrap_or_default().iter().map(|&label| CxLabel::from(label)));
            Ok(&labels[..])
        })
    }
}

/// Locks the state of a handle that one thread at a time may use.
pub(crate) fn lock<'a, T>(state: &'a Mutex<T>, name: &str) -> Result<MutexGuard<'a, T>, Failure> {
    state.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => Failure::usage(format!("{name} is in use by another thread: make one per thread")),
        TryLockError::Poisoned(_) => {
            Failure::new(CX_INTERNAL, format!("{name} cannot be used after an internal error: free it"))
        }
    })
}

/// Makes a resolver. It takes about 190 KiB and caches what neighbours share: read series in the order of their refs.
#[unsafe(no_mangle)]
pub extern "C" fn cx_resolver_new(
    block: Option<&CxBlock>,
    resolver: Option<&mut MaybeUninit<*mut CxResolver>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(resolver, "resolver", || {
            let cell = Arc::clone(&required(block, "block")?.cell);
            Ok(CxResolver { resolving: Mutex::new(Resolving::new(cell)) })
        })
    })
}

/// Writes the address and the number of the labels of a series, in the order of their names. If the block does not have
/// the series, these are NULL and 0. The array is valid until the next call with this resolver; what the labels point
/// to, as long as the block.
#[unsafe(no_mangle)]
pub extern "C" fn cx_resolver_labels(
    resolver: Option<&CxResolver>,
    series: u32,
    labels: Option<&mut MaybeUninit<*const CxLabel>>,
    count: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let (labels, count) = (required(labels, "labels")?, required(count, "count")?);
        labels.write(ptr::null());
        count.write(0);
        let mut resolving = lock(&required(resolver, "resolver")?.resolving, "resolver")?;
        let found = resolving.labels(SeriesRef(series))?;
        labels.write(first_element(found));
        count.write(found.len());
        Ok(())
    })
}

/// Frees a resolver, or does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_resolver_free(resolver: Option<Box<CxResolver>>) {
    guard_value(|| drop(resolver));
}
