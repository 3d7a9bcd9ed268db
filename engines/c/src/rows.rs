//! Selected series with their labels, one by one.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Mutex;

use blocks::{Damage, OwnedRows};

use crate::batch::{Batch, CxSeriesBatch};
use crate::blocks::CxBlocks;
use crate::error::{CxError, Failure, guard, guard_value};
use crate::failures::CxFailures;
use crate::label::{CxLabel, CxSeriesId, first_element};
use crate::pointer::{give, lock, required};
use crate::query::{Asked, CxQuery, report};
use crate::status::CxStatus;

/// Order of series: one of CX_ORDER_....
pub type CxOrder = i32;

/// Order of blocks and refs, which is the fastest.
pub const CX_ORDER_REFS: CxOrder = 0;
/// Order of labels: by the first name, then the first value, then the second name, and so on, by bytes. A labelset
/// comes before those that begin with it. This is the order of Prometheus. Takes up to 100 bytes per selected series.
pub const CX_ORDER_LABELS: CxOrder = 1;

/// Selected series, to be read one by one. A series that several blocks have comes once. One thread at a time may use
/// it: a second one gets CX_USAGE. It stays valid after its blocks are freed.
pub struct CxRows {
    walk: Mutex<Walk>,
    damaged: Damage,
}

/// A selected series. The arrays are valid until the next call with these rows; what the labels point to, as long as
/// the blocks.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CxSeries {
    /// Ids of the series, one per block that has it.
    pub ids: *const CxSeriesId,
    /// Number of ids; 0 after the last series.
    pub id_count: usize,
    /// Labels, in the order of their names.
    pub labels: *const CxLabel,
    /// Number of labels.
    pub label_count: usize,
}

struct Walk {
    rows: OwnedRows,
    ids: Vec<CxSeriesId>,
    labels: Vec<CxLabel>,
    batch: Batch,
    /// Error behind the series of the last batch.
    failed: Option<blocks::Error>,
}

impl Walk {
    fn new(rows: OwnedRows) -> Self {
        Self { rows, ids: Vec::new(), labels: Vec::new(), batch: Batch::default(), failed: None }
    }

    /// Steps over up to `max_count` series. An error comes alone: if there are series before it, with the next call.
    fn next_batch(&mut self, max_count: usize) -> Result<CxSeriesBatch, blocks::Error> {
        let Self { rows, batch, failed, .. } = self;
        batch.clear();
        if let Some(error) = failed.take() {
            return Err(error);
        }
        for _ in 0..max_count {
            match rows.next() {
                Ok(Some(series)) => batch.push(series.ids(), series.labels()),
                Ok(None) => break,
                Err(error) if batch.is_empty() => return Err(error),
                Err(error) => {
                    *failed = Some(error);
                    break;
                }
            }
        }
        Ok(batch.view())
    }

    /// Steps to the next series. Without its labels if they are not wanted.
    fn next(&mut self, with_labels: bool) -> Result<CxSeries, blocks::Error> {
        let Self { rows, ids, labels, failed, .. } = self;
        if let Some(error) = failed.take() {
            return Err(error);
        }
        ids.clear();
        labels.clear();
        if with_labels {
            if let Some(series) = rows.next()? {
                ids.extend(series.ids().map(CxSeriesId::from));
                labels.extend(series.labels().iter().map(|&label| CxLabel::from(label)));
            }
        } else if let Some(found) = rows.next_ids()? {
            ids.extend(found.map(CxSeriesId::from));
        }
        let (id_count, label_count) = (ids.len(), labels.len());
        Ok(CxSeries { ids: first_element(ids), id_count, labels: first_element(labels), label_count })
    }
}

/// Selects the series of a query. The time limit and the flag of the query hold until the last row is read, and end the
/// rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_query_series(
    blocks: Option<&CxBlocks>,
    query: Option<&CxQuery<'_>>,
    order: CxOrder,
    rows: Option<&mut MaybeUninit<*mut CxRows>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(rows, "rows", || {
            let (damaged, flag) = (Damage::new(), query.map(CxQuery::flag).unwrap_or_default());
            let rows = OwnedRows::with_flag(required(blocks, "blocks")?.blocks.clone(), flag, |blocks, flag| {
                let asked = Asked { blocks, flag: Some(flag), damaged: damaged.clone() };
                // SAFETY: the caller's contract.
                unsafe {
                    asked.ask(query, |query| match order {
                        CX_ORDER_REFS => Ok(query.series()?),
                        CX_ORDER_LABELS => Ok(query.sorted_series()?),
                        other => {
                            let text = format!("order: {other} is not one of CX_ORDER_REFS, CX_ORDER_LABELS");
                            Err(Failure::usage(text))
                        }
                    })
                }
            })?;
            Ok(CxRows { walk: Mutex::new(Walk::new(rows)), damaged })
        })
    })
}

/// Steps to the next series, and writes it. After the last one, it has no ids. After CX_CORRUPT, the next call
/// continues behind the series; if damaged blocks are skipped, the rest of such a block is left out instead.
#[unsafe(no_mangle)]
pub extern "C" fn cx_rows_next(
    rows: Option<&CxRows>,
    series: Option<&mut MaybeUninit<CxSeries>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    next(rows, true, series, error)
}

/// Steps to the next series, and writes it without its labels: for callers that need its ids only.
#[unsafe(no_mangle)]
pub extern "C" fn cx_rows_next_ids(
    rows: Option<&CxRows>,
    series: Option<&mut MaybeUninit<CxSeries>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    next(rows, false, series, error)
}

fn next(
    rows: Option<&CxRows>,
    with_labels: bool,
    series: Option<&mut MaybeUninit<CxSeries>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let series = required(series, "series")?;
        series.write(CxSeries { ids: ptr::null(), id_count: 0, labels: ptr::null(), label_count: 0 });
        let mut walk = lock(&required(rows, "rows")?.walk, "rows")?;
        series.write(walk.next(with_labels)?);
        Ok(())
    })
}

/// Steps over up to `max_count` series, and writes them. After the last one, there are none. If a series cannot be
/// read, those before it come first, and the error with the next call; then it goes on as cx_rows_next does.
#[unsafe(no_mangle)]
pub extern "C" fn cx_rows_next_batch(
    rows: Option<&CxRows>,
    max_count: usize,
    series: Option<&mut MaybeUninit<CxSeriesBatch>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let series = required(series, "series")?;
        series.write(CxSeriesBatch::EMPTY);
        let mut walk = lock(&required(rows, "rows")?.walk, "rows")?;
        if max_count == 0 {
            return Err(Failure::usage("max_count: 0 series would look like the end".to_owned()));
        }
        series.write(walk.next_batch(max_count)?);
        Ok(())
    })
}

/// Adds the errors of damaged blocks that rows have met to a list, if the query of the rows skips them: ask after the
/// last row.
#[unsafe(no_mangle)]
pub extern "C" fn cx_rows_damaged(
    rows: Option<&CxRows>,
    damaged: Option<&CxFailures>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let rows = required(rows, "rows")?;
        let _walk = lock(&rows.walk, "rows")?;
        report(&rows.damaged, required(damaged, "damaged")?);
        Ok(())
    })
}

/// Frees rows, or does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_rows_free(rows: Option<Box<CxRows>>) {
    guard_value(|| drop(rows));
}
