//! Takes a remap apart, and puts it together again with right checksums and widths, whatever was done to it in between.

use chronoxide_format::Rule;
use chronoxide_format::bits::{BitWriter, Bits, width};
use chronoxide_format::checksum::{Grid, Owner, crc};
use chronoxide_format::remap::layout::{OutputEntry, REMAP_GROUP_KEYSETS, RemapHeader};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, IntoBytes};

/// Records of one kind, field by field.
pub type Records = Vec<Vec<u64>>;

/// A remap in pieces.
#[derive(Clone, Debug)]
pub struct RemapEditor {
    /// The header; counts, widths, length and checksums are made anew.
    pub header: RemapHeader,
    /// Its outputs.
    pub outputs: Vec<OutputEntry>,
    /// `series_start`, `rows`, `part_start`, `floor`
    pub groups: Records,
    /// `series`, `row_len`, `pattern`, `pattern_width`, `part_count`
    pub keysets: Records,
    /// `least_base`, `base_width`, `width`, `summed`
    pub parts: Records,
    /// `length`, `run_end`
    pub patterns: Records,
    /// `start`, `part`, `place`
    pub runs: Records,
    /// The bytes of the rows, and the zero bytes after them.
    pub rows: Vec<u8>,
    /// Bits that the first field of patterns has more than it needs.
    pub wider: u32,
}

/// Computes the checksums of all but the chunks anew, in a remap that was changed in place.
pub fn reseal(file: &mut [u8]) {
    let end = size_of::<RemapHeader>();
    let checksum = crc(&file[..end - 4]);
    file[end - 4..end].copy_from_slice(&checksum.to_le_bytes());
}

/// Computes all checksums anew, so that damage is met by the rules behind them. The place of the checksums follows from
/// the length.
pub fn reseal_all(file: &mut [u8]) {
    let header = size_of::<RemapHeader>();
    let (input, job) = (file[16..32].try_into().expect("16 bytes"), file[32..48].try_into().expect("16 bytes"));
    let owner = Owner::Remap { input, job };
    // The end of the grid: `end` + 4 * ceil(`end` / 8192) is the length of the file. No remap has another length.
    let end = (header..=file.len()).rev().find(|&end| end + end.div_ceil(8192) * 4 == file.len());
    if let Some(end) = end {
        let grid = Grid { front: header as u64, end: end as u64 };
        for chunk in 0..grid.chunk_count() {
            let data = grid.chunk(chunk);
            let checksum = owner.chunk_checksum(chunk, &file[data.start as usize..data.end as usize]);
            file[end + chunk as usize * 4..][..4].copy_from_slice(&checksum.to_le_bytes());
        }
        let checks = owner.checks_checksum(&file[end..]);
        file[header - 8..header - 4].copy_from_slice(&checks.to_le_bytes());
    }
    reseal(file);
}

impl RemapEditor {
    /// Takes a sound remap apart.
    ///
    /// # Panics
    /// If it is none.
    #[must_use]
    pub fn open(remap: &[u8]) -> Self {
        let (header, body) = RemapHeader::read_from_prefix(remap).expect("the block is sound");
        let count = header.output_count.get() as usize;
        let (outputs, body) = <[OutputEntry]>::ref_from_prefix_with_elems(body, count).expect("the block is sound");
        let bits = Bits::new(body, Rule::TableExtent);
        let mut byte = 0;
        let mut take = |count: u32, widths: &[u8]| -> Records {
            let mut bit = byte * 8;
            let mut field = |&width: &u8| {
                let field = bits.get(bit, width.into()).expect("the block is sound");
                bit += u64::from(width);
                field
            };
            let records = (0..count).map(|_| widths.iter().map(&mut field).collect()).collect();
            byte = bit.div_ceil(8);
            records
        };
        let groups = take(header.keyset_count.get().div_ceil(REMAP_GROUP_KEYSETS), &header.group_widths);
        let keysets = take(header.keyset_count.get(), &header.keyset_widths);
        let parts = take(header.part_count.get(), &header.part_widths);
        let patterns = take(header.pattern_count.get(), &header.pattern_widths);
        let runs = take(header.run_count.get(), &header.run_widths);
        let rows_len = header.row_bits.get().div_ceil(8) as usize + 8;
        let rows = body[byte as usize..][..rows_len].to_vec();
        Self { header, outputs: outputs.to_vec(), groups, keysets, parts, patterns, runs, rows, wider: 0 }
    }

    /// The remap.
    ///
    /// # Panics
    /// If a field is wider than fields can be.
    #[must_use]
    pub fn close(self) -> Vec<u8> {
        let mut header = self.header;
        let mut body = self.outputs.as_bytes().to_vec();
        header.output_count = U32::new(self.outputs.len() as u32);
        header.group_widths = pack(&self.groups, 0, &mut body);
        header.keyset_widths = pack(&self.keysets, 0, &mut body);
        header.part_widths = pack(&self.parts, 0, &mut body);
        header.pattern_widths = pack(&self.patterns, self.wider, &mut body);
        header.run_widths = pack(&self.runs, 0, &mut body);
        let count = |records: &Records| U32::new(records.len() as u32);
        header.keyset_count = count(&self.keysets);
        header.part_count = count(&self.parts);
        header.pattern_count = count(&self.patterns);
        header.run_count = count(&self.runs);
        body.extend_from_slice(&self.rows);
        let end = size_of::<RemapHeader>() + body.len();
        let checks = end.div_ceil(8192) * 4;
        header.file_len = U64::new((end + checks) as u64);
        let mut file = [header.as_bytes(), &body, &vec![0; checks]].concat();
        reseal_all(&mut file);
        file
    }
}

/// Appends records whose first field is `more` bits wider than needed. Returns the widths of the fields.
fn pack<const N: usize>(records: &Records, wider: u32, body: &mut Vec<u8>) -> [u8; N] {
    let mut widths = [0; N];
    for record in records {
        widths.iter_mut().zip(record).for_each(|(most, &field)| *most = width(field).max(*most));
    }
    widths[0] += wider;
    let mut writer = BitWriter::new();
    for record in records {
        record.iter().zip(widths).for_each(|(&field, width)| writer.push(field, width));
    }
    let bytes = writer.finish();
    // Without the closing bytes, which only the last array has.
    body.extend_from_slice(&bytes[..bytes.len() - 8]);
    widths.map(|width| width as u8)
}
