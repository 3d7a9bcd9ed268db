//! The rules of the spec, by id (spec, section 15).
//!
//! A test compares the ids with the spec in both directions, and each rule that a reader can observe with the broken
//! golden file of the same name.

use std::fmt;

use crate::layout::SectionKind;

macro_rules! rules {
    ($($section:expr => { $($name:ident $id:literal $text:literal)* })*) => {
        /// A rule of the spec.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum Rule {
            $($(#[doc = concat!("`", $id, "`: ", $text)] $name,)*)*
        }

        impl Rule {
            /// All rules, in the order of the spec.
            pub const ALL: &'static [Self] = &[$($(Self::$name,)*)*];

            /// Returns the id of the rule in the spec.
            pub const fn id(self) -> &'static str {
                match self { $($(Self::$name => $id,)*)* }
            }

            /// Returns the section of the file that the rule is about; none for header, directory and block.
            pub const fn section(self) -> Option<SectionKind> {
                match self { $($(Self::$name => $section,)*)* }
            }
        }

        impl fmt::Display for Rule {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($(Self::$name => $text,)*)* })
            }
        }
    };
}

rules! {
    None => {
        Magic "magic" "the file begins with the magic"
        Version "version" "the version is known"
        IncompatFeatures "incompat-features" "every incompat feature is known"
        HeaderChecksum "header-checksum" "the header's checksum is right"
        FileLen "file-len" "the file is as long as its header says"
        DirectoryExtent "directory-extent" "the directory is within the file and not too long"
        DirectoryChecksum "directory-checksum" "the directory's checksum is right"
        SectionOrder "section-order" "sections are in the order of kind and id"
        SectionExtent "section-extent" "sections follow one another from the directory to the end of the file"
        SectionRequired "section-required" "each required section is present, and each known section has id 0"
        SectionUnknown "section-unknown" "required sections are known"
    }
    Some(SectionKind::Checks) => {
        ChecksLength "checks-length" "the section has one checksum per chunk"
        ChecksChecksum "checks-checksum" "the checksum of the checks section is right"
    }
    None => {
        ChunkChecksum "chunk-checksum" "the checksum of each chunk is right"
    }
    Some(SectionKind::Catalogue) => {
        CatalogueHeader "catalogue-header" "the section holds its header, and no width is too large"
        CatalogueLength "catalogue-length" "the section is as long as its header implies"
        CatalogueWidths "catalogue-widths" "each width is the smallest that fits the field's largest value"
        CataloguePadding "catalogue-padding" "unused bits are zero"
    }
    Some(SectionKind::Symbols) => {
        SymbolsHeader "symbols-header" "the section holds its header, and no width is too large"
        SymbolsLength "symbols-length" "the section is as long as its header implies"
        SymbolsStarts "symbols-starts" "symbols fill the arena, none empty or too long"
        SymbolsWidths "symbols-widths" "widths are the smallest that fit the largest base and difference"
        SymbolsPadding "symbols-padding" "unused bits are zero"
    }
    Some(SectionKind::Arena) => {
        SymbolsOrder "symbols-order" "symbols are in byte order"
        SymbolsUtf8 "symbols-utf8" "symbols are UTF-8"
        SymbolsUsed "symbols-used" "each symbol is a name or a value"
    }
    Some(SectionKind::Catalogue) => {
        TableColumns "table-columns" "each table has 1 to 512 columns"
        TableRows "table-rows" "each table has rows"
    }
    Some(SectionKind::Rows) => {
        TableExtent "table-extent" "fields are within their rows, and rows within the section"
    }
    Some(SectionKind::Catalogue) => {
        ColumnDomain "column-domain" "domains are earlier tables, or the arena in dictionaries"
    }
    Some(SectionKind::Rows) => {
        ColumnCode "column-code" "codes are below the count of their domain"
    }
    Some(SectionKind::Catalogue) => {
        ColumnWidth "column-width" "base and width match the column's codes"
        RowsOffset "rows-offset" "the rows of tables follow one another"
    }
    Some(SectionKind::Rows) => {
        RowsPadding "rows-padding" "unused bits are zero"
        RowsOrder "rows-order" "rows increase"
    }
    Some(SectionKind::Catalogue) => {
        LeavesWritten "leaves-written" "leaves are written out where they must be"
        LeavesOrder "leaves-order" "leaves are in key order, each once, at most 512"
        ColumnsOrder "columns-order" "columns are in the order of their first keys, lists last"
        TableDepth "table-depth" "tables are at most 4 deep"
        MapNeeded "map-needed" "a map omits rows of its table, which is not a map"
    }
    Some(SectionKind::Rows) => {
        RowsUsed "rows-used" "each row of a dictionary or inner table is used"
    }
    Some(SectionKind::Catalogue) => {
        KeysOrder "keys-order" "keys are in the order of their names"
        PoolTable "pool-table" "pools are in the order of their tables, which are not tables of keysets"
    }
    Some(SectionKind::Members) => {
        PoolLists "pool-lists" "pools have lists and lists have members"
        MembersExtent "members-extent" "pools and anchors follow one another in the section"
        ListMembers "list-members" "members of a list increase and are rows of its table"
        ListOrder "list-order" "lists increase"
        ListUsed "list-used" "each list is used"
    }
    Some(SectionKind::Catalogue) => {
        ListColumn "list-column" "only the last of several columns of a keyset's table holds lists"
    }
    Some(SectionKind::Members) => {
        Anchors "anchors" "anchors count the series before them"
        MembersPadding "members-padding" "unused bits are zero"
    }
    Some(SectionKind::Catalogue) => {
        KeysetSeries "keyset-series" "keysets count their series"
        KeysetOrder "keyset-order" "keysets increase"
    }
    Some(SectionKind::Meta) => {
        MetaHeader "meta-header" "the section holds its header and is not too long"
        MetaLength "meta-length" "the section is as long as its content implies"
        MetaValues "meta-values" "row form and flags are known, reserved bytes zero"
        MetaTime "meta-time" "times and windows start before they end, or are zero where unknown"
        MetaJob "meta-job" "the job's outputs are numbered"
        MetaParents "meta-parents" "parents and ancestors increase and differ"
        MetaPairs "meta-pairs" "external labels and annotations increase and are text"
        MetaPolicy "meta-policy" "the limits of the label policy are valid"
    }
    Some(SectionKind::Arena) => {
        PolicyKept "policy-kept" "names and values are no longer than the label policy allows"
    }
    Some(SectionKind::Meta) => {
        MetaCounts "meta-counts" "the counts of series and labels are right"
        Fingerprint "fingerprint" "the fingerprint matches the content"
    }
    Some(SectionKind::MetricMetadata) => {
        MetricHeader "metric-header" "the section holds its header and has rows, and no width is too large"
        MetricLength "metric-length" "the section is as long as its header and its texts imply"
        MetricWidths "metric-widths" "each width is the smallest that fits the field's largest value"
        MetricPadding "metric-padding" "unused bits are zero"
        MetricTextEnds "metric-text-ends" "no text is empty or too long"
        MetricTextOrder "metric-text-order" "texts are in byte order"
        MetricTextUtf8 "metric-text-utf8" "texts are UTF-8"
        MetricTextUsed "metric-text-used" "each text is a name, a unit or a description"
        MetricValues "metric-values" "names, units and descriptions are texts, no name is empty, and the other values are known"
        MetricOrder "metric-order" "rows increase"
    }
    None => {
        BlockId "block-id" "the block id matches meta, catalogue and metric metadata"
    }
}
