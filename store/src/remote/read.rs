//! Listings, whole objects, ranges and downloads.

use std::io;
use std::ops::Range;
use std::sync::mpsc::sync_channel;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::{ListResult, ObjectStore, ObjectStoreExt};

use super::retry::short_body;
use super::{PART_LEN, PARTS_AT_ONCE, READS_AT_ONCE, Remote, runtime};
use crate::StoreError;
use crate::storage::{Object, RangedRead, ReadSink, Storage};

impl Remote {
    pub(super) async fn list_objects(&self, prefix: &str, deep: bool) -> Result<Vec<Object>, StoreError> {
        let below = self.path(prefix.trim_end_matches('/'));
        let list = || async {
            if deep {
                return self.objects.list(Some(&below)).try_collect().await;
            }
            let ListResult { objects, .. } = self.objects.list_with_delimiter(Some(&below)).await?;
            Ok(objects)
        };
        let found = match self.patience.run(&self.name(prefix), "list", list).await {
            Ok(found) => found,
            // A prefix without objects does not exist.
            Err(StoreError::Missing { .. }) if !prefix.is_empty() => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut objects: Vec<Object> = found.iter().map(|meta| self.object(meta)).collect();
        objects.sort();
        Ok(objects)
    }

    pub(super) async fn find_object(&self, key: &str) -> Result<Option<Object>, StoreError> {
        let path = self.path(key);
        match self.patience.run(&self.name(key), "find", || self.objects.head(&path)).await {
            Ok(meta) => Ok(Some(self.object(&meta))),
            Err(StoreError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn read_whole(&self, key: &str) -> Result<Vec<u8>, StoreError> {
        // A server that breaks off may announce fewer bytes than there are.
        let found = self.find_object(key).await?.ok_or_else(|| StoreError::Missing { object: self.name(key) })?;
        Ok(self.read_range(key, 0..found.byte_len).await?.into())
    }

    pub(super) async fn read_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let path = self.path(key);
        let read = || async {
            let bytes = self.objects.get_range(&path, range.clone()).await?;
            let expected = range.end - range.start;
            if bytes.len() as u64 == expected { Ok(bytes) } else { Err(short_body(bytes.len(), expected)) }
        };
        self.patience.run(&self.name(key), "read", read).await
    }

    async fn read_object(self, RangedRead { key, ranges }: RangedRead) -> Result<Vec<Bytes>, StoreError> {
        futures::future::try_join_all(ranges.into_iter().map(|range| self.read_range(&key, range))).await
    }

    pub(super) fn read_many(&self, reads: Vec<RangedRead>, sink: ReadSink<'_>) {
        let (sender, receiver) = sync_channel(READS_AT_ONCE);
        let this = self.clone();
        runtime::start(async move {
            let read = |(place, read)| {
                let this = this.clone();
                async move { (place, this.read_object(read).await) }
            };
            let mut results = stream::iter(reads.into_iter().enumerate()).map(read).buffer_unordered(READS_AT_ONCE);
            while let Some(result) = results.next().await {
                // The receiver takes results at once, or is gone.
                if sender.send(result).is_err() {
                    break;
                }
            }
        });
        for (place, result) in receiver {
            if !sink(place, result) {
                break;
            }
        }
    }

    /// Reads an object in parts, several at a time, and hands them over in order.
    pub(super) fn download_parts(
        &self,
        key: &str,
        byte_len: u64,
        take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let (sender, receiver) = sync_channel::<Result<Bytes, StoreError>>(1);
        let (this, owned) = (self.clone(), key.to_owned());
        runtime::start(async move {
            let starts = (0..byte_len.div_ceil(PART_LEN)).map(|part| part * PART_LEN);
            let part = |start: u64| {
                let range = start..byte_len.min(start + PART_LEN);
                let (this, key) = (this.clone(), owned.clone());
                async move { this.read_range(&key, range).await }
            };
            let mut parts = stream::iter(starts).map(part).buffered(PARTS_AT_ONCE);
            while let Some(part) = parts.next().await {
                if sender.send(part).is_err() {
                    break;
                }
            }
        });
        let mut received = 0;
        for part in receiver {
            let part = part?;
            received += part.len() as u64;
            take(&part).map_err(|source| StoreError::Io { object: self.name(key), operation: "store", source })?;
        }
        if received == byte_len {
            return Ok(());
        }
        let reason = format!("{received} bytes were read, not {byte_len}");
        Err(StoreError::Changed { object: self.name(key), reason })
    }
}
