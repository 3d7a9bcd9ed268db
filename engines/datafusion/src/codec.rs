//! [`SeriesCodec`]: plans of series as messages to other machines.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use chronoxide::{OpenOptions, ValueType};
use chronoxide_arrow::{BlockTable, Column, ColumnContent, Strings};
use chronoxide_reader::{Block, SeriesRef};
use chronoxide_select::{Limits, Selection};
use datafusion::catalog::TableProvider;
use datafusion::common::{exec_err, internal_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::bytes::Serializeable;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use prost::Message;

use crate::SeriesTable;
use crate::error::external;
use crate::label_counts::LabelCountsExec;
use crate::predicate::Predicate;
use crate::series_exec::{Selected, SeriesExec};

/// Most bytes of blocks that a codec keeps open between messages.
const MAX_KEPT_LEN: usize = 1 << 30;

/// Codec for the plans that read series, so that other processes can run them.
///
/// A message has the paths or URLs of blocks, a range of refs per block and partition, and the conditions, which the
/// receiver evaluates again: its size does not grow with the number of series. The receiver opens any file that a
/// message names: accept messages only from trusted processes.
///
/// A process that receives messages needs one codec, which clones share: it keeps up to 1 GiB of blocks open, since the
/// messages of a query name the same blocks.
#[derive(Clone, Debug)]
pub struct SeriesCodec {
    options: OpenOptions,
    /// Open blocks; the last one was used last.
    kept: Arc<Mutex<Vec<(BlockMessage, BlockTable)>>>,
}

impl SeriesCodec {
    /// Makes a codec that opens the blocks of received plans by these options.
    #[must_use]
    pub fn new(options: OpenOptions) -> Self {
        Self { options, kept: Arc::default() }
    }

    /// Opens a block, unless it is open.
    fn open(&self, message: &BlockMessage) -> Result<BlockTable> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = {
            let mut kept = kept();
            let place = kept.iter().position(|(of_block, _)| of_block == message);
            place.map(|place| kept.remove(place).1)
        };
        // Without the lock: other blocks are opened at the same time.
        let block = found.map_or_else(|| message.open(&self.options), Ok)?;
        let mut kept = kept();
        kept.retain(|(of_block, _)| of_block != message);
        kept.push((message.clone(), block.clone()));
        let mut len = 0;
        let is_kept = |(_, block): &&(BlockMessage, BlockTable)| {
            len += block.block().bytes().len();
            len <= MAX_KEPT_LEN
        };
        let count = kept.iter().rev().take_while(is_kept).count();
        let dropped = kept.len() - count;
        kept.drain(..dropped);
        Ok(block)
    }
}

/// [`SeriesExec`], or [`LabelCountsExec`], which has one.
#[derive(Clone, PartialEq, Message)]
struct SeriesMessage {
    #[prost(message, repeated, tag = "1")]
    blocks: Vec<BlockMessage>,
    #[prost(message, repeated, tag = "2")]
    partitions: Vec<PartitionMessage>,
    #[prost(message, repeated, tag = "3")]
    columns: Vec<ColumnMessage>,
    /// Columns that the conditions are on.
    #[prost(message, repeated, tag = "4")]
    filter_columns: Vec<ColumnMessage>,
    #[prost(bytes = "vec", repeated, tag = "5")]
    filters: Vec<Vec<u8>>,
    #[prost(bool, tag = "6")]
    has_dictionaries: bool,
    #[prost(message, optional, tag = "7")]
    label_counts: Option<LabelCountsMessage>,
    /// Maximum memory of the refs of the selected series in bytes.
    #[prost(uint64, optional, tag = "8")]
    max_memory: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct BlockMessage {
    /// Absolute path, or URL.
    #[prost(string, tag = "1")]
    source: String,
    #[prost(bytes = "vec", tag = "2")]
    id: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct PartitionMessage {
    #[prost(message, repeated, tag = "1")]
    parts: Vec<PartMessage>,
}

/// The selected series of a block from ref `first` to `last`, both included.
#[derive(Clone, Copy, PartialEq, Message)]
struct PartMessage {
    /// Position of the block in the message.
    #[prost(uint32, tag = "1")]
    block: u32,
    #[prost(uint32, tag = "2")]
    first: u32,
    #[prost(uint32, tag = "3")]
    last: u32,
    /// Number of selected series.
    #[prost(uint32, tag = "4")]
    count: u32,
}

#[derive(Clone, PartialEq, Message)]
struct ColumnMessage {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(oneof = "ContentMessage", tags = "2, 3, 4, 5")]
    content: Option<ContentMessage>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum ContentMessage {
    #[prost(bool, tag = "2")]
    SeriesRef(bool),
    #[prost(bool, tag = "3")]
    BlockId(bool),
    #[prost(string, tag = "4")]
    Label(String),
    #[prost(message, tag = "5")]
    Values(ValuesMessage),
}

/// A series column.
#[derive(Clone, PartialEq, Message)]
struct ValuesMessage {
    #[prost(string, tag = "1")]
    name: String,
    /// Type of the values, by its number in blocks.
    #[prost(uint32, tag = "2")]
    value_type: u32,
}

#[derive(Clone, PartialEq, Message)]
struct LabelCountsMessage {
    #[prost(message, optional, tag = "1")]
    label: Option<ColumnMessage>,
    #[prost(uint32, repeated, tag = "2")]
    columns: Vec<u32>,
}

impl ColumnMessage {
    fn from_column(column: &Column) -> Result<Self> {
        let content = match column.content() {
            ColumnContent::SeriesRef => ContentMessage::SeriesRef(true),
            ColumnContent::BlockId => ContentMessage::BlockId(true),
            ColumnContent::Label(name) => ContentMessage::Label(name.clone()),
            ColumnContent::Values { name, value_type } => {
                ContentMessage::Values(ValuesMessage { name: name.clone(), value_type: value_type.code().into() })
            }
            other => return internal_err!("a table of series has no column of {other:?}"),
        };
        Ok(Self { name: column.name().to_owned(), content: Some(content) })
    }

    fn from_columns(columns: &[Column]) -> Result<Vec<Self>> {
        columns.iter().map(Self::from_column).collect()
    }

    fn to_column(&self) -> Result<Column> {
        let column = match &self.content {
            Some(ContentMessage::SeriesRef(_)) => Column::series_ref(),
            Some(ContentMessage::BlockId(_)) => Column::block_id(),
            Some(ContentMessage::Label(name)) => Column::label(name),
            Some(ContentMessage::Values(values)) => {
                match u8::try_from(values.value_type).ok().and_then(ValueType::from_code) {
                    Some(value_type) => Column::values(&values.name, value_type),
                    None => return exec_err!("column {:?} of a received plan has an unknown type", self.name),
                }
            }
            None => return exec_err!("column {:?} of a received plan has no content", self.name),
        };
        Ok(column.with_name(&self.name))
    }

    fn to_columns(messages: &[Self]) -> Result<Vec<Column>> {
        messages.iter().map(Self::to_column).collect()
    }
}

/// Returns the URL of a block of an object store, or the path of a file. Returns `None` for a block in memory.
fn source(block: &Block) -> Option<String> {
    let path = block.path()?;
    let is_url = path.to_str().is_some_and(|text| text.contains("://")) && path.symlink_metadata().is_err();
    let source = if is_url { path.to_owned() } else { std::path::absolute(path).ok()? };
    source.to_str().map(str::to_owned)
}

impl SeriesMessage {
    fn from_exec(exec: &SeriesExec) -> Result<Self> {
        let mut message = Self {
            columns: ColumnMessage::from_columns(exec.columns())?,
            has_dictionaries: exec.table().strings() == Strings::Dictionary,
            max_memory: Some(exec.table().max_memory()),
            ..Self::default()
        };
        for filter in exec.filters() {
            for name in filter.column_refs().into_iter().map(|column| column.name()) {
                let column = exec.table().column(name).map(ColumnMessage::from_column).transpose()?;
                message.filter_columns.extend(column.filter(|column| !message.filter_columns.contains(column)));
            }
            message.filters.push(filter.to_bytes()?.to_vec());
        }
        let mut positions = BTreeMap::new();
        for partition in exec.partitions() {
            let mut parts = Vec::with_capacity(partition.len());
            for (table, series) in partition {
                let block = table.block();
                let id = block.view().block_id();
                let position = match positions.get(&id) {
                    Some(&position) => position,
                    None => {
                        let Some(source) = source(block) else {
                            return exec_err!("block {id} is in memory: other processes cannot open it");
                        };
                        let position = u32::try_from(message.blocks.len()).unwrap_or(u32::MAX);
                        message.blocks.push(BlockMessage { source, id: id.0.to_vec() });
                        positions.insert(id, position);
                        position
                    }
                };
                let mut ranges = series.ranges();
                let Some(Range { start, end }) = ranges.next() else { continue };
                let end = ranges.next_back().map_or(end, |range| range.end);
                parts.push(PartMessage { block: position, first: start.0, last: end.0 - 1, count: series.count() });
            }
            message.partitions.push(PartitionMessage { parts });
        }
        Ok(message)
    }

    /// Opens the blocks, and selects the series again.
    fn to_exec(&self, codec: &SeriesCodec, context: &TaskContext) -> Result<SeriesExec> {
        let decode = |bytes: &Vec<u8>| Expr::from_bytes_with_ctx(bytes, context);
        let filters: Vec<Expr> = self.filters.iter().map(decode).collect::<Result<_>>()?;
        let blocks: Vec<BlockTable> = self.blocks.iter().map(|block| codec.open(block)).collect::<Result<_>>()?;
        let strings = if self.has_dictionaries { Strings::Dictionary } else { Strings::View };
        let filter_columns = ColumnMessage::to_columns(&self.filter_columns)?;
        let table = SeriesTable::with_columns(blocks, filter_columns, strings)?;
        let table = table.with_max_memory(self.max_memory.unwrap_or(Limits::DEFAULT_MAX_MEMORY));
        let predicate = Predicate::new(&table.schema(), &filters, |name| table.content(name))?;
        let reserved = AtomicU64::new(0);
        let limits = table.limits().with_shared_memory(&reserved);
        let select = |block: &BlockTable| predicate.select(block, strings, None, limits);
        let selections: Vec<Selection> = table.blocks().iter().map(select).collect::<Result<_>>()?;
        let mut partitions = Vec::with_capacity(self.partitions.len());
        for partition in &self.partitions {
            let mut selected = Selected::new();
            for part in &partition.parts {
                let place = part.block as usize;
                let (Some(block), Some(all)) = (table.blocks().get(place), selections.get(place)) else {
                    return exec_err!("a received plan reads block {place} of {}", self.blocks.len());
                };
                let range = SeriesRef(part.first)..SeriesRef(part.last.saturating_add(1));
                let series = all.intersection(&Selection::from_range(range));
                if series.count() != part.count {
                    let (found, expected) = (series.count(), part.count);
                    return exec_err!(
                        "{}: {found} series were selected instead of {expected}",
                        self.blocks[place].source
                    );
                }
                selected.push((block.clone(), series));
            }
            partitions.push(selected);
        }
        SeriesExec::from_partitions(table, filters, ColumnMessage::to_columns(&self.columns)?, partitions)
    }
}

impl BlockMessage {
    fn open(&self, options: &OpenOptions) -> Result<BlockTable> {
        let opened = options.open(&self.source).and_then(|blocks| blocks.tables()).map_err(external)?;
        match &opened[..] {
            [block] if block.block().view().block_id().0[..] == self.id[..] => Ok(block.clone()),
            _ => exec_err!("{}: it is not the block that the query was planned for", self.source),
        }
    }
}

impl PhysicalExtensionCodec for SeriesCodec {
    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        out: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let message = if let Some(exec) = node.downcast_ref::<SeriesExec>() {
            SeriesMessage::from_exec(exec)?
        } else if let Some(exec) = node.downcast_ref::<LabelCountsExec>() {
            let label = Some(ColumnMessage::from_column(exec.label())?);
            let columns = exec.columns().iter().map(|&column| u32::try_from(column).unwrap_or(u32::MAX)).collect();
            let label_counts = Some(LabelCountsMessage { label, columns });
            SeriesMessage { label_counts, ..SeriesMessage::from_exec(exec.series())? }
        } else {
            return internal_err!("{} is not a plan that reads series", node.name());
        };
        message.encode(out).map_err(|error| DataFusionError::External(Box::new(error)))
    }

    fn try_decode(
        &self,
        bytes: &[u8],
        _: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let message = match SeriesMessage::decode(bytes) {
            Ok(message) => message,
            Err(error) => return exec_err!("a received plan is not one that reads series: {error}"),
        };
        let series = message.to_exec(self, context)?;
        let Some(counts) = &message.label_counts else { return Ok(Arc::new(series)) };
        let Some(label) = &counts.label else { return exec_err!("a received plan counts values of no label") };
        let columns = counts.columns.iter().map(|&column| column as usize).collect();
        Ok(Arc::new(LabelCountsExec::new(series, label.to_column()?, columns)?))
    }
}
