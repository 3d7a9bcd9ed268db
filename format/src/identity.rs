//! Fingerprints of content and ids of blocks (spec, section 11).

use std::fmt;
use std::hash::Hasher;
use std::ops::{Add, Mul};

use siphasher::sip::SipHasher24;

use crate::number::{length, low64};

/// SipHash-2-4 with a fixed key.
pub(crate) fn sip(key: &[u8; 16], parts: &[&[u8]]) -> u64 {
    let mut hasher = SipHasher24::new_with_key(key);
    for part in parts {
        hasher.write(part);
    }
    hasher.finish()
}

/// 2^61 - 1, a prime.
const P: u64 = (1 << 61) - 1;

/// A number modulo 2^61 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Residue(u64);

impl Residue {
    /// Reduces a product of two residues. Both halves are below 2^61.
    #[inline]
    fn from_product(n: u128) -> Self {
        let sum = (low64(n) & P) + low64(n >> 61);
        Self(if sum >= P { sum - P } else { sum })
    }
}

impl Residue {
    /// Returns the number whose product with this one is 1, by Fermat's little theorem; 0 for 0. Costs some 120
    /// multiplications.
    fn inverse(self) -> Self {
        let (mut power, mut product) = (self, Self(1));
        let mut exponent = P - 2;
        while exponent > 0 {
            if exponent & 1 == 1 {
                product = product * power;
            }
            power = power * power;
            exponent >>= 1;
        }
        product
    }
}

impl Add for Residue {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let sum = self.0 + other.0;
        Self(if sum >= P { sum - P } else { sum })
    }
}

impl Mul for Residue {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self::from_product(u128::from(self.0) * u128::from(other.0))
    }
}

/// Hashes the labels with one name: the name is hashed once, not once per value.
#[derive(Clone, Debug)]
pub struct LabelHasher {
    halves: [SipHasher24; 2],
}

impl LabelHasher {
    /// Begins with a label name.
    #[must_use]
    pub fn new(name: &[u8]) -> Self {
        let halves = [b"chronoxide.fpr.1", b"chronoxide.fpr.2"].map(|key| {
            let mut hasher = SipHasher24::new_with_key(key);
            hasher.write(&length(name.len()).to_le_bytes());
            hasher.write(name);
            hasher
        });
        Self { halves }
    }

    /// Returns the fingerprint of the label with this value. The two numbers are independent of each other: labels that
    /// share one by chance do not share the other.
    #[must_use]
    pub fn label(&self, value: &[u8]) -> Fingerprint {
        let [first, second] = self.halves.each_ref().map(|hasher| {
            let mut hasher = *hasher;
            hasher.write(value);
            Residue(1 + hasher.finish() % (P - 1))
        });
        Fingerprint { first, second }
    }
}

/// The fingerprint of a label, a series or a set of series: a sum of products, so that it can be computed table by
/// table.
///
/// The fingerprint of a series is the product of its labels' fingerprints; that of a set is the sum of its series'
/// fingerprints.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    first: Residue,
    second: Residue,
}

impl Fingerprint {
    /// Fingerprint of the empty set: neutral in sums.
    pub const ZERO: Self = Self { first: Residue(0), second: Residue(0) };
    /// Fingerprint of a series without labels: neutral in products.
    pub const ONE: Self = Self { first: Residue(1), second: Residue(1) };

    /// Returns the fingerprint with these two stored numbers, or `None` if one of them is not below 2^61 - 1.
    #[must_use]
    pub fn from_parts([first, second]: [u64; 2]) -> Option<Self> {
        (first < P && second < P).then_some(Self { first: Residue(first), second: Residue(second) })
    }

    /// Returns the sum of `count` copies.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        let count = Residue(count % P);
        Self { first: self.first * count, second: self.second * count }
    }

    /// Returns the fingerprint whose product with this one is [`Fingerprint::ONE`]: it takes a label out of the
    /// fingerprint of a series. Fingerprints of labels and series have one; [`Fingerprint::ZERO`] gives itself.
    #[must_use]
    pub fn inverse(self) -> Self {
        Self { first: self.first.inverse(), second: self.second.inverse() }
    }

    /// Returns the two numbers that are stored.
    #[must_use]
    pub const fn to_parts(self) -> [u64; 2] {
        [self.first.0, self.second.0]
    }

    /// Returns the two numbers as bytes: hexadecimal digits of these are those of the text form, without the space.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        let [first, second] = self.to_parts();
        (u128::from(first) << 64 | u128::from(second)).to_be_bytes()
    }
}

impl Add for Fingerprint {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { first: self.first + other.first, second: self.second + other.second }
    }
}

impl std::iter::Sum for Fingerprint {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, Add::add)
    }
}

impl Mul for Fingerprint {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self { first: self.first * other.first, second: self.second * other.second }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x} {:016x}", self.first.0, self.second.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// The id of a block. It is derived from all bytes of the file, so that files with one id are the same bytes, and sorts
/// by time. Its text form is a ULID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BlockId(pub [u8; 16]);

impl BlockId {
    /// Returns the first 8 bytes as a big-endian number, as shown in errors.
    pub(crate) fn prefix(self) -> u64 {
        u64::from_be_bytes(self.0.first_chunk().copied().unwrap_or_default())
    }
}

/// Hash of the bytes of a section, as input of the id of its block. Costs about a second per GB.
#[derive(Clone, Copy, Debug)]
pub struct SectionHasher {
    sip: SipHasher24,
    len: u64,
}

impl Default for SectionHasher {
    fn default() -> Self {
        Self { sip: SipHasher24::new_with_key(b"chronoxide.sec.0"), len: 0 }
    }
}

impl SectionHasher {
    /// Adds bytes of the section.
    pub fn update(&mut self, bytes: &[u8]) {
        self.sip.write(bytes);
        self.len += length(bytes.len());
    }

    /// Returns the number of bytes that were added.
    pub(crate) const fn byte_len(&self) -> u64 {
        self.len
    }
}

/// Derives the id of a block from its parts, in the order of the spec (section 11).
#[derive(Clone, Debug)]
pub struct BlockIdHasher {
    halves: [SipHasher24; 2],
}

impl BlockIdHasher {
    /// Begins with the version and the feature words, which are bytes 8 to 23 of the header.
    #[must_use]
    pub fn new(version_and_features: [u8; 16]) -> Self {
        let halves = [b"chronoxide.bid.1", b"chronoxide.bid.2"].map(SipHasher24::new_with_key);
        let mut hasher = Self { halves };
        hasher.write(&version_and_features);
        hasher
    }

    /// Adds a section. Sections must be added in the order of the directory.
    pub fn add(&mut self, kind: u32, id: u32, section: &SectionHasher) {
        self.write(&kind.to_le_bytes());
        self.write(&id.to_le_bytes());
        self.write(&section.len.to_le_bytes());
        self.write(&section.sip.finish().to_le_bytes());
    }

    fn write(&mut self, bytes: &[u8]) {
        for half in &mut self.halves {
            half.write(bytes);
        }
    }

    /// Returns the id of a block whose data begin at `time_start`, in nanoseconds since 1970; `None` if unknown.
    #[must_use]
    pub fn finish(&self, time_start: Option<i64>) -> BlockId {
        let millis = time_start.and_then(|nanos| u64::try_from(nanos / 1_000_000).ok()).unwrap_or(0);
        let [first, second] = self.halves.each_ref().map(Hasher::finish);
        let id = (u128::from(millis) << 80) | (u128::from(first) << 16) | u128::from(second >> 48);
        BlockId(id.to_be_bytes())
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(ulid::Ulid::from_bytes(self.0).array_to_str(&mut [0; ulid::ULID_LEN]))
    }
}

/// Text that is not the id of a block: an id has 26 characters of Crockford's base 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid block id: expected 26 characters such as 01ARZ3NDEKTSV4RRFFQ69G5FAV")]
pub struct BlockIdError;

impl std::str::FromStr for BlockId {
    type Err = BlockIdError;

    fn from_str(text: &str) -> Result<Self, BlockIdError> {
        ulid::Ulid::from_string(text).map(|ulid| Self(ulid.to_bytes())).map_err(|_| BlockIdError)
    }
}

impl fmt::Debug for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockId({self})")
    }
}

/// Returns the id of a job, derived from its input blocks and a text that describes its options. Equal jobs have equal
/// ids on any machine.
#[must_use]
pub fn job_id(parents: &[BlockId], what: &str) -> [u8; 16] {
    let mut text = Vec::new();
    for parent in parents {
        text.extend_from_slice(&parent.0);
    }
    let half = |key| u128::from(sip(key, &[&text, what.as_bytes()]));
    ((half(b"chronoxide.job.1") << 64) | half(b"chronoxide.job.2")).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn siphash_gives_the_vector_of_its_authors() {
        let key: [u8; 16] = std::array::from_fn(|i| i as u8);
        let data: Vec<u8> = (0..15).collect();
        // Appendix A of the SipHash paper.
        assert_eq!(sip(&key, &[&data]), 0xa129_ca61_49be_45e5);
        assert_eq!(sip(&key, &[&data[..7], &data[7..]]), 0xa129_ca61_49be_45e5, "parts do not matter");
    }

    #[test]
    fn block_ids_print_as_ulids_and_sort_by_time() {
        // The ULID specification's first example has this time and this text.
        let time = 1_469_918_176_385_000_000;
        let id = BlockIdHasher::new([0; 16]).finish(Some(time));
        assert_eq!(id.to_string()[..10], *"01ARYZ6S41");
        assert_eq!(id.to_string().len(), 26);
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "01ARYZ6S41", "01ARYZ6S410000000000000000U", "01ARYZ6S41000000000000000/"] {
            assert_eq!(text.parse::<BlockId>(), Err(BlockIdError), "{text}");
        }
        let empty = BlockIdHasher::new([0; 16]);
        assert!(id < empty.finish(Some(time + 1_000_000)));
        assert_eq!(empty.finish(Some(-5)), empty.finish(None));
    }

    #[test]
    fn each_part_of_a_block_changes_its_id() {
        let with = |sections: &[(u32, u32, &[u8])]| {
            let mut hasher = BlockIdHasher::new([0; 16]);
            for &(kind, id, bytes) in sections {
                let mut section = SectionHasher::default();
                // Pieces do not matter.
                let (first, second) = bytes.split_at(bytes.len() / 2);
                section.update(first);
                section.update(second);
                hasher.add(kind, id, &section);
            }
            hasher.finish(None)
        };
        let ids = [
            with(&[]),
            BlockIdHasher::new([1; 16]).finish(None),
            with(&[(7, 0, b"")]),
            with(&[(7, 0, b"x")]),
            with(&[(8, 0, b"x")]),
            with(&[(7, 1, b"x")]),
            with(&[(7, 0, b"x"), (8, 0, b"y")]),
            with(&[(7, 0, b"y"), (8, 0, b"x")]),
        ];
        let distinct: std::collections::BTreeSet<BlockId> = ids.into_iter().collect();
        assert_eq!(distinct.len(), ids.len());
    }

    fn label(name: &str, value: &str) -> Fingerprint {
        LabelHasher::new(name.as_bytes()).label(value.as_bytes())
    }

    #[test]
    fn a_name_is_not_a_value() {
        let labels = [label("a", "b"), label("b", "a"), label("ab", ""), label("", "ab"), label("a", "bc")];
        let distinct: std::collections::BTreeSet<[u64; 2]> = labels.iter().map(|label| label.to_parts()).collect();
        assert_eq!(distinct.len(), labels.len());
    }

    /// The oracle is the formula of the spec, with the hash of the whole input at once.
    #[test]
    fn the_numbers_of_a_label_are_the_spec_s() {
        let input = [&4_u64.to_le_bytes()[..], b"path", b"/api/v1/query"].concat();
        let numbers = [b"chronoxide.fpr.1", b"chronoxide.fpr.2"].map(|key| 1 + sip(key, &[&input]) % (P - 1));
        assert_eq!(label("path", "/api/v1/query").to_parts(), numbers);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The oracle is arithmetic of 128 bits with the remainder operator.
        #[test]
        fn residues_are_numbers_modulo_p(a in 0..P, b in 0..P) {
            let modulo = |n: u128| u64::try_from(n % u128::from(P)).unwrap();
            prop_assert_eq!((Residue(a) + Residue(b)).0, modulo(u128::from(a) + u128::from(b)));
            prop_assert_eq!((Residue(a) * Residue(b)).0, modulo(u128::from(a) * u128::from(b)));
        }

        #[test]
        fn many_times_is_the_sum_of_as_many(count in 0_u64..20, name: String) {
            let one = label(&name, "v");
            prop_assert_eq!(one.times(count), (0..count).map(|_| one).sum());
        }

        #[test]
        fn a_fingerprint_factorises(labels in prop::collection::vec(".{1,5}", 3..6)) {
            let label = |i: usize| label("k", &labels[i]);
            let listed = label(0) * label(1) + label(0) * label(2);
            prop_assert_eq!(listed, label(0) * (label(1) + label(2)));
        }
    }

    #[test]
    fn the_inverse_takes_a_label_out_of_a_product() {
        // 2 * 2^60 = 2^61, which is 1 modulo 2^61 - 1; 3 * 1537228672809129301 = 2^62 - 1, which is 1 too.
        let two_and_three = Fingerprint::from_parts([2, 3]).unwrap();
        assert_eq!(two_and_three.inverse().to_parts(), [1 << 60, 1_537_228_672_809_129_301]);
        let pod = |value| label("pod", value);
        assert_eq!(pod("a") * pod("b") * pod("a").inverse(), pod("b"));
        assert_eq!(Fingerprint::ONE.inverse(), Fingerprint::ONE);
        assert_eq!(Fingerprint::ZERO.inverse(), Fingerprint::ZERO);
    }
}
