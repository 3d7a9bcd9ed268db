//! Labels of many series, by their ids.

use std::mem::MaybeUninit;
use std::sync::Mutex;
use std::{iter, ptr};

use blocks::OwnedReader;

use crate::batch::{Batch, CxSeriesBatch};
use crate::blocks::CxBlocks;
use crate::error::{CxError, guard, guard_value};
use crate::label::{CxLabel, CxSeriesId, first_element};
use crate::pointer::{self, give, lock, required};
use crate::status::CxStatus;

/// Reads the labels of series, and keeps what neighbours share. One thread at a time may use it: a second one gets
/// CX_USAGE. It stays valid after its blocks are freed.
pub struct CxReader {
    reading: Mutex<Reading>,
}

/// A reader and the labels of its last series.
struct Reading {
    reader: OwnedReader,
    labels: Vec<CxLabel>,
    batch: Batch,
}

/// Makes a reader. It takes 40 KiB: read series in the order of their ids.
#[unsafe(no_mangle)]
pub extern "C" fn cx_reader_new(
    blocks: Option<&CxBlocks>,
    reader: Option<&mut MaybeUninit<*mut CxReader>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(reader, "reader", || {
            let reader = required(blocks, "blocks")?.blocks.clone().into_reader();
            Ok(CxReader { reading: Mutex::new(Reading { reader, labels: Vec::new(), batch: Batch::default() }) })
        })
    })
}

/// Writes the address and the number of the labels of a series, in the order of their names. If no block has the
/// series, these are NULL and 0. The array is valid until the next call with this reader; what the labels point to, as
/// long as the blocks.
///
/// Allocates only when a series is of another block, or has more labels, than each one before.
#[unsafe(no_mangle)]
pub extern "C" fn cx_reader_labels(
    reader: Option<&CxReader>,
    id: CxSeriesId,
    labels: Option<&mut MaybeUninit<*const CxLabel>>,
    count: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let (labels, count) = (required(labels, "labels")?, required(count, "count")?);
        labels.write(ptr::null());
        count.write(0);
        let mut reading = lock(&required(reader, "reader")?.reading, "reader")?;
        let Reading { reader, labels: kept, .. } = &mut *reading;
        kept.clear();
        kept.extend(reader.labels(id.into())?.unwrap_or_default().iter().map(|&label| CxLabel::from(label)));
        labels.write(first_element(kept));
        count.write(kept.len());
        Ok(())
    })
}

/// Writes the labels of `id_count` series. One that no block has gets no labels.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_reader_labels_batch(
    reader: Option<&CxReader>,
    ids: *const CxSeriesId,
    id_count: usize,
    series: Option<&mut MaybeUninit<CxSeriesBatch>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let series = required(series, "series")?;
        series.write(CxSeriesBatch::EMPTY);
        // SAFETY: the caller's contract.
        let ids = unsafe { pointer::array(ids, id_count, "ids") }?;
        let mut reading = lock(&required(reader, "reader")?.reading, "reader")?;
        let Reading { reader, batch, .. } = &mut *reading;
        batch.clear();
        for &id in ids {
            batch.push(iter::empty(), reader.labels(id.into())?.unwrap_or_default());
        }
        series.write(batch.view());
        Ok(())
    })
}

/// Frees a reader, or does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_reader_free(reader: Option<Box<CxReader>>) {
    guard_value(|| drop(reader));
}
