//! Types of series columns, and ways to merge them (COLUMNS.md).

use std::fmt;

/// Column of the first time of each series, in nanoseconds since 1970 (REGISTRY.md).
pub const FIRST_TIME: &str = "chronoxide.first_time";

/// Column of the last time of each series, in nanoseconds since 1970 (REGISTRY.md).
pub const LAST_TIME: &str = "chronoxide.last_time";

/// Keys of the metadata of Arrow fields whose values are those of a series column: tables that hold them keep what
/// their type does not say.
pub mod field_key {
    /// Name of the series column, which a label of the same name displaces as the name of the field.
    pub const NAME: &str = "chronoxide.column";
    /// Way to merge: a [name](super::ColumnMerge::name).
    pub const MERGE: &str = "chronoxide.merge";
    /// Unit, in decimal digits.
    pub const UNIT: &str = "chronoxide.unit";
}

/// Declares an enum of numbers of the format, with a word for each.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident $code:literal $word:literal)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All values, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the number in a block.
            #[must_use]
            pub const fn code(self) -> u8 {
                match self {
                    $(Self::$variant => $code,)*
                }
            }

            /// Returns the value with this number, or `None` if no value has it.
            #[must_use]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns the value with this word, or `None` if no value has it.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }

            /// Returns the word in dumps.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

codes! {
    /// Type of the values of a series column.
    ValueType {
        /// Signed numbers of 64 bits.
        I64 1 "i64"
        /// Unsigned numbers of 64 bits.
        U64 2 "u64"
        /// Bytes.
        Bytes 3 "bytes"
    }
}

codes! {
    /// Way to combine the values of series that become one.
    ColumnMerge {
        /// The column is left out.
        Drop 0 "drop"
        /// The value that all have.
        Same 1 "same"
        /// The least value.
        Min 2 "min"
        /// The greatest value.
        Max 3 "max"
        /// The sum of the values.
        Sum 4 "sum"
        /// Each bit that a value has.
        Or 5 "or"
        /// The value of the newest block.
        Newest 6 "newest"
    }
}

impl ValueType {
    /// Returns true if values of this type can be multiples of a unit.
    #[must_use]
    pub const fn allows_unit(self, unit: u64) -> bool {
        match self {
            Self::Bytes => unit == 1,
            Self::I64 => unit >= 1 && unit <= i64::MAX.cast_unsigned(),
            Self::U64 => unit >= 1,
        }
    }
}

impl ColumnMerge {
    /// Returns true if values of this type can be combined so.
    #[must_use]
    pub const fn allows(self, value_type: ValueType) -> bool {
        match self {
            Self::Sum => matches!(value_type, ValueType::I64 | ValueType::U64),
            Self::Or => matches!(value_type, ValueType::U64),
            Self::Drop | Self::Same | Self::Min | Self::Max | Self::Newest => true,
        }
    }
}

impl ColumnMerge {
    /// Returns the unit of values that are combined from multiples of `unit`: a number that has the bits of several
    /// multiples is one of a power of two only.
    #[must_use]
    pub const fn combined_unit(self, unit: u64) -> u64 {
        match self {
            Self::Or if unit > 0 => 1 << unit.trailing_zeros(),
            _ => unit,
        }
    }

    /// Returns the unit of values that are combined from multiples of two units.
    #[must_use]
    pub const fn common_unit(self, unit: u64, other: u64) -> u64 {
        let (mut divisor, mut rest) = (unit, other);
        while let Some(left) = divisor.checked_rem(rest) {
            (divisor, rest) = (rest, left);
        }
        self.combined_unit(divisor)
    }

    /// Combines two values of one type; `newer` is that of the newer block. Returns `None` for different values that
    /// must be the same, and for a sum that the type does not hold.
    #[must_use]
    #[inline]
    pub fn combine<'a>(self, value: Value<'a>, newer: Value<'a>) -> Option<Value<'a>> {
        match (self, value, newer) {
            (Self::Same, value, newer) => (value == newer).then_some(value),
            (Self::Min, value, newer) => Some(value.min(newer)),
            (Self::Max, value, newer) => Some(value.max(newer)),
            (Self::Sum, Value::I64(value), Value::I64(newer)) => value.checked_add(newer).map(Value::I64),
            (Self::Sum, Value::U64(value), Value::U64(newer)) => value.checked_add(newer).map(Value::U64),
            (Self::Or, Value::U64(value), Value::U64(newer)) => Some(Value::U64(value | newer)),
            (Self::Drop | Self::Newest, _, newer) => Some(newer),
            (Self::Sum | Self::Or, ..) => None,
        }
    }
}

/// A value of a series column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Value<'a> {
    /// A signed number.
    I64(i64),
    /// An unsigned number.
    U64(u64),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl Value<'_> {
    /// Returns the type of the value.
    #[must_use]
    pub const fn value_type(&self) -> ValueType {
        match self {
            Self::I64(_) => ValueType::I64,
            Self::U64(_) => ValueType::U64,
            Self::Bytes(_) => ValueType::Bytes,
        }
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::I64(number)
    }
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Self::U64(number)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Bytes(text.as_bytes())
    }
}

impl fmt::Display for Value<'_> {
    /// Writes a number, or bytes as hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::I64(number) => number.fmt(f),
            Self::U64(number) => number.fmt(f),
            Self::Bytes(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_combined_as_the_way_says() {
        use ColumnMerge::{Drop, Max, Min, Newest, Or, Same, Sum};
        let (i, u) = (Value::I64, Value::U64);
        for (merge, old, newer, expected) in [
            (Same, i(-3), i(-3), Some(i(-3))),
            (Same, i(-3), i(3), None),
            (Same, Value::Bytes(b"a"), Value::Bytes(b"a"), Some(Value::Bytes(b"a"))),
            (Min, i(-3), i(2), Some(i(-3))),
            (Max, i(-3), i(2), Some(i(2))),
            (Min, Value::Bytes(b"b"), Value::Bytes(b"a"), Some(Value::Bytes(b"a"))),
            (Sum, i(-3), i(2), Some(i(-1))),
            (Sum, i(i64::MIN), i(-1), None),
            (Sum, u(3), u(2), Some(u(5))),
            (Sum, u(u64::MAX), u(1), None),
            (Sum, Value::Bytes(b"a"), Value::Bytes(b"a"), None),
            (Or, u(5), u(3), Some(u(7))),
            (Or, i(5), i(3), None),
            (Drop, u(1), u(2), Some(u(2))),
            (Newest, u(2), u(1), Some(u(1))),
        ] {
            assert_eq!(merge.combine(old, newer), expected, "{merge} of {old:?} and {newer:?}");
        }
        for merge in ColumnMerge::ALL {
            assert_eq!(ColumnMerge::from_name(&merge.to_string()), Some(*merge));
            assert_eq!(ColumnMerge::from_code(merge.code()), Some(*merge));
        }
        assert_eq!(ColumnMerge::from_name("none"), None);
    }
}
