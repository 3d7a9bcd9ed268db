//! Parquet files: [`ParquetFile`].
//!
//! Rows are read in batches. The pages of a batch, decompressed, are what is in memory. Texts are not copied: rows
//! refer to the pages. The crate `parquet` decodes pages and assembles batches. Finding, checking and decompressing
//! pages happens here, because its reader has no limit for a page: a file of 16 KiB can hold one of 64 MiB, and
//! the header of a page can claim 2 GiB (`pages_are_bounded` in the tests shows it).
//!
//! | module | contents |
//! | --- | --- |
//! | `file` | [`ParquetFile`]: footer, schema and row groups |
//! | `unmarked` | the schema with texts as bytes |
//! | `block_times` | times that a labels file states |
//! | `group` | [`RowGroup`]: the batches of a row group |
//! | `pages` | pages of a column in a row group |
//! | `header` | header of a page |
//! | `codec` | decompression of a page |
//! | `delta` | counts of delta encodings |
//! | `meter` | memory of the pages of a batch |
//! | `footer` | sizes that the footer claims |
//! | `thrift` | Thrift's compact protocol |

mod block_times;
mod codec;
mod delta;
mod file;
mod footer;
mod group;
mod header;
mod meter;
mod pages;
mod thrift;
mod unmarked;

pub(crate) use file::ParquetFile;
