//! The rules of the spec, by id (spec, section 15, and the lists of ARCHIVE.md, METRICS.md and COLUMNS.md).
//!
//! A test compares the ids with the spec in both directions, and each rule that a reader can observe with the broken
//! golden file of the same name.

use std::fmt;

use crate::layout::SectionKind;

/// Class of a rule: whether reading depends on it (spec, section 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleClass {
    /// Class R: if the rule is broken, a reader can give a wrong answer, or its work is not bounded by the length of
    /// the file.
    Reading,
    /// Class C: a block that breaks the rule has the same meaning; the rule only fixes one encoding. Reading does not
    /// depend on these rules.
    Canonical,
}

impl RuleClass {
    /// Returns the letter of the class in the spec.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::Reading => 'R',
            Self::Canonical => 'C',
        }
    }
}

macro_rules! rules {
    ($($section:expr => { $($class:ident $name:ident $id:literal $text:literal)* })*) => {
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

            /// Returns the class of the rule.
            pub const fn class(self) -> RuleClass {
                match self { $($(Self::$name => RuleClass::$class,)*)* }
            }

            /// Returns the section of the file that the rule is about; or `None` for header, directory and block.
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
        Reading Magic "magic" "the file begins with the magic"
        Reading Version "version" "the version is known"
        Reading IncompatFeatures "incompat-features" "every incompat feature is known"
        Reading HeaderChecksum "header-checksum" "the header's checksum is right"
        Reading FileLen "file-len" "the file is as long as its header says"
        Reading DirectoryExtent "directory-extent" "directory and first section are within the file and not too long"
        Reading FrontChecksum "front-checksum" "the checksum of directory and first section is right"
        Reading SectionOrder "section-order" "sections are in the order of kind and id"
        Reading SectionExtent "section-extent" "sections follow one another from the directory on and lie inside the file"
        Reading SectionRequired "section-required" "each required section is present, with id 0, and one arena"
        Reading SectionUnknown "section-unknown" "required sections are known"
        Reading ChecksLength "checks-length" "the file ends in one checksum per chunk"
        Reading ChecksChecksum "checks-checksum" "the checksum of the checks is right"
        Reading ChunkChecksum "chunk-checksum" "the checksum of each chunk is right"
    }
    Some(SectionKind::Catalogue) => {
        Reading CatalogueHeader "catalogue-header" "the section holds its header, and no width is too large"
        Reading CatalogueLength "catalogue-length" "the section is as long as its header implies"
        Canonical CatalogueWidths "catalogue-widths" "each width is the smallest that fits the field's largest value"
        Canonical CataloguePadding "catalogue-padding" "unused bits are zero"
    }
    Some(SectionKind::Symbols) => {
        Reading SymbolsHeader "symbols-header" "the section holds its header, and no width is too large"
        Reading SymbolsLength "symbols-length" "the section is as long as its header implies"
        Reading SymbolsStarts "symbols-starts" "symbols fill the arena, none empty or too long"
        Canonical SymbolsWidths "symbols-widths" "widths are the smallest that fit the largest base and difference"
        Canonical SymbolsPadding "symbols-padding" "unused bits and the reserved bytes are zero"
    }
    Some(SectionKind::Arena) => {
        Reading SymbolsOrder "symbols-order" "symbols are in byte order"
        Reading SymbolsUtf8 "symbols-utf8" "symbols are UTF-8"
        Canonical SymbolsUsed "symbols-used" "each symbol is a name or a value"
    }
    Some(SectionKind::Catalogue) => {
        Reading TableColumns "table-columns" "each table has 1 to 1023 columns"
        Reading TableRows "table-rows" "each table has rows"
    }
    Some(SectionKind::Rows) => {
        Reading TableExtent "table-extent" "fields are within their rows, and rows within the section"
    }
    Some(SectionKind::Catalogue) => {
        Reading ColumnDomain "column-domain" "domains are earlier tables, pools, or the arena in dictionaries"
    }
    Some(SectionKind::Rows) => {
        Reading ColumnCode "column-code" "codes are below the count of their domain"
    }
    Some(SectionKind::Catalogue) => {
        Canonical ColumnWidth "column-width" "base and width match the column's codes"
        Reading RowsOffset "rows-offset" "the rows of tables follow one another"
    }
    Some(SectionKind::Rows) => {
        Canonical RowsPadding "rows-padding" "unused bits are zero"
        Reading RowsOrder "rows-order" "rows increase"
    }
    Some(SectionKind::Catalogue) => {
        Reading LeavesWritten "leaves-written" "leaves are written out where they must be"
        Canonical LeavesNeeded "leaves-needed" "leaves are not written out where they need not be"
        Reading LeavesOrder "leaves-order" "leaves are in key order, each once, at most 1023"
        Canonical ColumnsOrder "columns-order" "columns are in the order of their first keys, lists last"
        Reading TableDepth "table-depth" "tables are at most 10 deep"
    }
    Some(SectionKind::Rows) => {
        Canonical RowsUsed "rows-used" "each row of an inner table is used"
        Reading ValuesUsed "values-used" "each value of a dictionary is in a series"
    }
    Some(SectionKind::Catalogue) => {
        Reading KeysOrder "keys-order" "keys are in the order of their names"
        Reading PoolTable "pool-table" "pools are over dictionaries and inner tables"
        Canonical PoolOrder "pool-order" "pools are in the order of their tables"
    }
    Some(SectionKind::Members) => {
        Reading PoolLists "pool-lists" "pools have lists and lists have members"
        Reading MembersExtent "members-extent" "pools and anchors follow one another in the section"
        Reading ListMembers "list-members" "members of a list increase and are rows of its table"
        Reading ListUpper "list-upper" "low bits are at most 32, and upper bits have a one per member and are few enough"
        Canonical ListOrder "list-order" "lists increase"
        Canonical ListUsed "list-used" "each list is used"
    }
    Some(SectionKind::Catalogue) => {
        Reading ListColumn "list-column" "only the last of several columns of a keyset's table holds lists"
    }
    Some(SectionKind::Members) => {
        Reading Anchors "anchors" "anchors count the series before them"
        Canonical MembersPadding "members-padding" "unused bits are zero"
    }
    Some(SectionKind::Catalogue) => {
        Reading KeysetSeries "keyset-series" "keysets count their series"
        Reading KeysetOrder "keyset-order" "keysets increase"
    }
    Some(SectionKind::Meta) => {
        Reading MetaLength "meta-length" "the section holds its header and is as long as its content implies"
        Canonical MetaPadding "meta-padding" "the row form is known, and unknown flags and the reserved bytes are zero"
        Reading MetaTime "meta-time" "times and windows start before they end, or are zero where unknown"
        Reading MetaJob "meta-job" "the job's outputs are numbered"
        Canonical MetaParents "meta-parents" "parents and ancestors increase and differ"
        Reading MetaPairs "meta-pairs" "external labels and annotations increase and are text"
        Reading MetaPolicy "meta-policy" "the limits of the label policy are valid"
    }
    Some(SectionKind::Arena) => {
        Reading PolicyKept "policy-kept" "names and values are no longer than the label policy allows"
    }
    Some(SectionKind::Meta) => {
        Reading MetaCounts "meta-counts" "the counts of series and labels are right"
        Reading Fingerprint "fingerprint" "the fingerprint matches the content"
    }
    None => {
        Reading BlockId "block-id" "the block id matches the bytes of the block"
    }
    Some(SectionKind::PackedArena) => {
        Reading PackedHeader "packed-header" "the section holds its header, and its content is not too long for its frame"
        Reading PackedFrame "packed-frame" "the frame is one zstd frame without forbidden features, and sound"
        Reading PackedLength "packed-length" "the frame decodes to as many bytes as the header and the symbols say"
    }
    Some(SectionKind::MetricMetadata) => {
        Reading MetricHeader "metric-header" "the section holds its header and has rows, and no width is too large"
        Reading MetricLength "metric-length" "the section is as long as its header and its texts imply"
        Canonical MetricWidths "metric-widths" "each width is the smallest that fits the field's largest value"
        Canonical MetricPadding "metric-padding" "unused bits and the reserved byte are zero"
        Reading MetricTextEnds "metric-text-ends" "no text is empty or too long"
        Reading MetricTextOrder "metric-text-order" "texts are in byte order"
        Reading MetricTextUtf8 "metric-text-utf8" "texts are UTF-8"
        Canonical MetricTextUsed "metric-text-used" "each text is a name, a unit or a description"
        Reading MetricValues "metric-values" "names, units and descriptions are texts, and no name is empty"
        Reading MetricOrder "metric-order" "rows increase"
    }
    Some(SectionKind::SeriesColumn) => {
        Reading ValueHeader "value-header" "the section holds its headers, and type, way, unit and widths are allowed"
        Reading ValueName "value-name" "names are UTF-8 and in order, and ids count from 0"
        Reading ValueCount "value-count" "there are as many values as series"
        Reading ValueLength "value-length" "the section is as long as its headers and its texts imply"
        Reading ValueGroups "value-groups" "groups follow one another, and exceptions are rows of their group in order"
        Reading ValueRange "value-range" "numbers stand for values of the type"
        Reading ValueTexts "value-texts" "texts fill the rest of the section, none too long"
        Canonical ValueWidths "value-widths" "each width is the smallest that fits the field's largest value"
        Canonical ValuePadding "value-padding" "unused bits and fields, and the reserved bytes, are zero"
        Canonical ValueTextsUsed "value-texts-used" "each text is used, in the order of refs"
    }
}
