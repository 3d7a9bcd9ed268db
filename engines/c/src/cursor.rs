//! Walks over a selection, series by series.

use std::mem::MaybeUninit;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use chronoxide_reader::SeriesRef;
use chronoxide_select::{LabelOrder, Refs, SelectError};
use self_cell::self_cell;

use crate::error::{CxError, Failure, guard, guard_value};
use crate::label::{CX_NO_SERIES, CxLabel, first_element};
use crate::limits::{CxLimits, flag, limits};
use crate::opened::give;
use crate::pointer::required;
use crate::resolver::{Resolving, lock};
use crate::selection::{CxSelection, Selected};
use crate::status::CxStatus;

/// Order of a cursor: one of CX_ORDER_....
pub type CxOrder = i32;

/// Order of refs, which is the fastest.
pub const CX_ORDER_REFS: CxOrder = 0;
/// Order of labels: by the first name, then the first value, then the second name, and so on, by bytes. A labelset
/// comes before those that begin with it. This is the order of Prometheus. Takes 16 bytes per selected series.
pub const CX_ORDER_LABELS: CxOrder = 1;

/// Walks over the series of a selection. One thread at a time may use it: a second one gets CX_USAGE. It stays valid
/// after its selection is freed.
pub struct CxCursor {
    walk: Mutex<Walk>,
}

struct Walk {
    order: OrderCell,
    resolving: Resolving,
}

/// A selection, and the flag that cancels its walk.
struct Owner {
    selected: Arc<Selected>,
    flag: Option<Arc<AtomicBool>>,
}

/// Refs of a selection in one order.
enum Order<'a> {
    Refs(Refs<'a>),
    Labels(Box<LabelOrder<'a, 'a>>),
}

self_cell!(
    struct OrderCell {
        owner: Owner,
        #[covariant]
        dependent: Order,
    }
);

impl Order<'_> {
    fn next(&mut self) -> Option<Result<SeriesRef, SelectError>> {
        match self {
            Self::Refs(refs) => refs.next().map(Ok),
            Self::Labels(order) => order.next(),
        }
    }
}

impl Walk {
    fn new(selected: &Arc<Selected>, order: CxOrder, c_limits: Option<&CxLimits<'_>>) -> Result<Self, Failure> {
        let owner = Owner { selected: Arc::clone(selected), flag: flag(c_limits) };
        let order = OrderCell::try_new(owner, |Owner { selected, flag }| match order {
            CX_ORDER_REFS => Ok(Order::Refs(selected.selection.iter())),
            CX_ORDER_LABELS => {
                let searcher = selected.cell.searcher(limits(c_limits, flag.as_deref()))?;
                let order = searcher.in_label_order(&selected.selection);
                Ok(Order::Labels(Box::new(order.map_err(|error| selected.cell.locate(error))?)))
            }
            other => Err(Failure::usage(format!("order: {other} is not one of CX_ORDER_REFS, CX_ORDER_LABELS"))),
        })?;
        Ok(Self { order, resolving: Resolving::new(Arc::clone(&selected.cell)) })
    }

    /// Returns the next series, or `None` after the last.
    fn next(&mut self) -> Result<Option<SeriesRef>, Failure> {
        self.order.with_dependent_mut(|owner, order| {
            order.next().transpose().map_err(|error| owner.selected.cell.locate(error))
        })
    }
}

/// Makes a cursor over the series of a selection. The limits hold for the sorting of CX_ORDER_LABELS, until its end.
#[unsafe(no_mangle)]
pub extern "C" fn cx_selection_cursor(
    selection: Option<&CxSelection>,
    order: CxOrder,
    limits: Option<&CxLimits<'_>>,
    cursor: Option<&mut MaybeUninit<*mut CxCursor>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(cursor, "cursor", || {
            let walk = Walk::new(&required(selection, "selection")?.selected, order, limits)?;
            Ok(CxCursor { walk: Mutex::new(walk) })
        })
    })
}

/// Steps to the next series, and writes its ref, and the address and the number of its labels, in the order of their
/// names. After the last series, writes CX_NO_SERIES and no labels.
///
/// The array is valid until the next call with this cursor; what the labels point to, as long as the block. After an
/// error of one series, the next call continues behind it. `labels` and `count` may both be NULL, to read refs only.
#[unsafe(no_mangle)]
pub extern "C" fn cx_cursor_next(
    cursor: Option<&CxCursor>,
    series: Option<&mut MaybeUninit<u32>>,
    labels: Option<&mut MaybeUninit<*const CxLabel>>,
    count: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let series = required(series, "series")?;
        series.write(CX_NO_SERIES);
        let mut out = match (labels, count) {
            (None, None) => None,
            (labels, count) => Some((required(labels, "labels")?, required(count, "count")?)),
        };
        if let Some((labels, count)) = &mut out {
            labels.write(std::ptr::null());
            count.write(0);
        }
        let mut walk = lock(&required(cursor, "cursor")?.walk, "cursor")?;
        let Some(next) = walk.next()? else { return Ok(()) };
        series.write(next.0);
        if let Some((labels, count)) = out {
            let found = walk.resolving.labels(next)?;
            labels.write(first_element(found));
            count.write(found.len());
        }
        Ok(())
    })
}

/// Frees a cursor, or does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_cursor_free(cursor: Option<Box<CxCursor>>) {
    guard_value(|| drop(cursor));
}
