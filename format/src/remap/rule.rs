//! The rules of the remap spec, by id (remap spec, section 7). A test compares the ids with the spec in both
//! directions.

use std::fmt;

macro_rules! rules {
    ($($name:ident $id:literal $text:literal)*) => {
        /// A rule of the remap spec.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum RemapRule {
            $(#[doc = concat!("`", $id, "`: ", $text)] $name,)*
        }

        impl RemapRule {
            /// All rules, in the order of the spec.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the id of the rule in the spec.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }
        }

        impl fmt::Display for RemapRule {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $text,)* })
            }
        }
    };
}

rules! {
    Magic "magic" "the file begins with the magic"
    Version "version" "the version is known"
    IncompatFeatures "incompat-features" "every incompat feature is known"
    HeaderChecksum "header-checksum" "the header's checksum is right"
    FileLen "file-len" "the file is as long as its header says"
    Header "header" "no width or count of the header is too large"
    Length "length" "the file is as long as its counts imply"
    ChecksChecksum "checks-checksum" "the checksum of the checks is right"
    ChunkChecksum "chunk-checksum" "the checksum of each chunk is right"
    Outputs "outputs" "series of outputs add up, to no more than can be numbered"
    RecordWidths "record-widths" "each width is that of the field's largest value"
    Padding "padding" "unused bits are zero"
    Groups "groups" "groups say what comes before their keysets"
    Keysets "keysets" "keysets have series and parts that add up"
    KeysetRows "keyset-rows" "the rows of a keyset start where those before it end"
    RowLengths "row-lengths" "the series of a keyset's rows add up"
    RowFields "row-fields" "fields of rows are as wide as the largest needs, and the smallest is 0"
    Patterns "patterns" "patterns have members and runs, and stand in the order of their first use"
    Runs "runs" "runs begin at 0, increase, and none only continues the one before it"
    Targets "targets" "each series is mapped to a series of an output"
}
