//! Every rule of the spec (its section 15).
//!
//! Verification reads the whole block once, in this order: checksums, catalogue, symbols, dictionaries and inner
//! tables, pools, keysets, meta, metrics, series columns. Later checks rely on earlier ones. Each row is unpacked once,
//! for its rules and for its part of the content's fingerprint. Memory is one bit per symbol, row of a dictionary or
//! inner table, list and text, and one fingerprint per list and per row of these tables; the length of the block bounds
//! all of these.

mod catalogue;
mod inner;
mod join;
mod keyset;
mod meta;
mod metrics;
mod piece;
mod pool;
mod rows;
mod symbol;
mod table;
mod uses;
mod values;

pub(crate) use catalogue::widest;
use inner::Inner;
pub use join::{InTurn, Join};

use crate::error::{Place, corrupt, corrupt_at};
use crate::identity::Fingerprint;
use crate::view::BlockView;
use crate::{Result, Rule, RuleClass};

/// Counts and fingerprint of a block's content (spec, section 11), computed from its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentFingerprint {
    /// Series.
    pub series_count: u64,
    /// Labels of all series together.
    pub label_count: u64,
    /// The sum over all series.
    pub fingerprint: Fingerprint,
}

impl BlockView<'_> {
    /// Checks every rule of the spec: the bytes are exactly those that a writer makes of the block's content and plan.
    /// Returns the counts and fingerprint of the content.
    ///
    /// An arena that is packed must be decoded before: its bytes are judged, and the form of the frame. How the frame
    /// was compressed is not.
    ///
    /// If the block has [unknown `ro_compat` bits](BlockView::unknown_ro_compat), checks the rules of class R only:
    /// the canonical form of such a block is not known. If rules of both classes are broken, one of class R is
    /// reported.
    ///
    /// Costs one pass over the block, a hash of all its bytes, one per dictionary entry, and at most one product per
    /// column of each row of each table. Further series of a prefix cost nothing more.
    ///
    /// # Errors
    /// `Corrupt` with the first violated rule, its place and its values.
    pub fn verify(&self) -> Result<ContentFingerprint> {
        self.verify_on(&InTurn)
    }

    /// Like [`BlockView::verify`], but verifies keysets in pieces on the threads of `join`.
    ///
    /// # Errors
    /// Returns the error of [`BlockView::verify`], on any number of threads: a damaged block is verified again in
    /// order.
    pub fn verify_on(&self, join: &impl Join) -> Result<ContentFingerprint> {
        // Verification reads each byte anew: what is kept may come from other bytes.
        let view = self.without_paths();
        let (content, id) = join.join(|| view.verify_all(join), || view.check_id());
        match content.and_then(|content| id.map(|()| content)) {
            // If several rules are broken, pieces may have met another one first.
            Err(error) if join.pieces() > 1 => self.verify().and(Err(error)),
            // A rule of class R may be broken behind the place at which verification ended.
            Err(error) if error.rule().class() == RuleClass::Canonical => {
                self.only_reading().verify_on(join).and(Err(error))
            }
            verified => verified,
        }
    }

    /// Checks all rules except that of the block id.
    fn verify_all(&self, join: &impl Join) -> Result<ContentFingerprint> {
        let content = self.verify_content(join)?;
        meta::verify(self, &content)?;
        metrics::verify(self)?;
        values::verify(self)?;
        Ok(content)
    }

    /// Checks all rules except those of the meta section, the metric metadata and the block id.
    ///
    /// # Errors
    /// Returns the first violation.
    pub fn verify_content(&self, join: &impl Join) -> Result<ContentFingerprint> {
        let view = &self.without_paths();
        view.frame().check_all(view.bytes())?;
        if view.packed()?.is_some() {
            view.symbols().expect_arena()?;
        }
        catalogue::verify(view)?;
        let inner = Inner::verify(view)?;
        piece::verify(view, inner, join)
    }
}

/// Refuses what breaks a rule that is not about a number.
#[inline]
fn refuse_if(is_broken: bool, rule: Rule, place: Place) -> Result<()> {
    if is_broken { Err(corrupt_at(rule, place)) } else { Ok(()) }
}

/// Refuses a value that is not the expected one.
fn expect(rule: Rule, place: Place, found: u64, expected: u64) -> Result<()> {
    if found == expected { Ok(()) } else { Err(corrupt(rule, place, found, expected)) }
}

/// Refuses a value that is not below the bound.
fn expect_below(rule: Rule, place: Place, found: u64, bound: u64) -> Result<()> {
    if found < bound { Ok(()) } else { Err(corrupt(rule, place, found, bound)) }
}
