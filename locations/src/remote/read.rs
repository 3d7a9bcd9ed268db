//! Listings, whole objects, ranges and downloads.

use std::io;
use std::ops::Range;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::{ListResult, ObjectStore, ObjectStoreExt};

use super::retry::{is_not_found, short_body};
use super::{PART_LEN, PARTS_AT_ONCE, READS_AT_ONCE, Remote, runtime};
use crate::LocationError;
use crate::storage::{Object, RangedRead, ReadSink, Storage, check_read_len};

impl Remote {
    pub(super) async fn list_objects(&self, prefix: &str, deep: bool) -> Result<Vec<Object>, LocationError> {
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
            Err(LocationError::Missing { .. }) if !prefix.is_empty() => Vec::new(),
            Err(LocationError::Missing { .. }) => {
                return Err(LocationError::NoLocation { location: self.url().to_owned() });
            }
            Err(LocationError::Request { source, .. }) if is_not_found(&*source) => {
                return Err(LocationError::NoLocation { location: self.url().to_owned() });
            }
            Err(error) => return Err(error),
        };
        let mut objects: Vec<Object> = found.iter().map(|meta| self.object(meta)).collect();
        objects.sort();
        Ok(objects)
    }

    pub(super) async fn find_object(&self, key: &str) -> Result<Option<Object>, LocationError> {
        let path = self.path(key);
        match self.patience.run(&self.name(key), "find", || self.objects.head(&path)).await {
            Ok(meta) => Ok(Some(self.object(&meta))),
            Err(LocationError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn read_whole(&self, key: &str) -> Result<Vec<u8>, LocationError> {
        // A server that breaks off may announce fewer bytes than there are.
        let found = self.find_object(key).await?.ok_or_else(|| LocationError::Missing { object: self.name(key) })?;
        check_read_len(found.byte_len, || self.name(key))?;
        Ok(self.read_range(key, 0..found.byte_len).await?.into())
    }

    pub(super) async fn read_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, LocationError> {
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

    async fn read_object(self, RangedRead { key, ranges }: RangedRead) -> Result<Vec<Bytes>, LocationError> {
        futures::future::try_join_all(ranges.into_iter().map(|range| self.read_range(&key, range))).await
    }

    pub(super) fn read_many(&self, reads: Vec<RangedRead>, sink: ReadSink<'_>) {
        let keys: Vec<String> = reads.iter().map(|read| read.key.clone()).collect();
        let this = self.clone();
        let read = move |(place, read)| {
            let this = this.clone();
            async move { (place, this.read_object(read).await) }
        };
        let results = stream::iter(reads.into_iter().enumerate()).map(read).buffer_unordered(READS_AT_ONCE);
        let mut is_left = vec![true; keys.len()];
        let is_whole = runtime::for_each(READS_AT_ONCE, results, |(place, result)| {
            is_left[place] = false;
            sink(place, result)
        });
        if is_whole {
            return;
        }
        // Each read has a result: a listing must not lack a block without an error.
        for (place, key) in keys.iter().enumerate().filter(|(place, _)| is_left[*place]) {
            if !sink(place, Err(self.broken_off(key))) {
                break;
            }
        }
    }

    fn broken_off(&self, key: &str) -> LocationError {
        LocationError::Io { object: self.name(key), operation: "read", source: io::Error::other("requests broke off") }
    }

    /// Reads an object in parts, several at a time, and hands them over in order.
    pub(super) fn download_parts(
        &self,
        key: &str,
        byte_len: u64,
        take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), LocationError> {
        let (this, owned) = (self.clone(), key.to_owned());
        let starts = (0..byte_len.div_ceil(PART_LEN)).map(|part| part * PART_LEN);
        let part = move |start: u64| {
            let range = start..byte_len.min(start + PART_LEN);
            let (this, key) = (this.clone(), owned.clone());
            async move { this.read_range(&key, range).await }
        };
        let parts = stream::iter(starts).map(part).buffered(PARTS_AT_ONCE);
        let (mut received, mut failed) = (0, None);
        runtime::for_each(1, parts, |part| {
            let taken = part.and_then(|part| {
                received += part.len() as u64;
                take(&part).map_err(|source| LocationError::Io { object: self.name(key), operation: "store", source })
            });
            failed = taken.err();
            failed.is_none()
        });
        if let Some(error) = failed {
            return Err(error);
        }
        if received == byte_len {
            return Ok(());
        }
        let reason = format!("{received} bytes were read, not {byte_len}");
        Err(LocationError::Changed { object: self.name(key), reason })
    }
}
