//! Selectors: from text, or from matchers.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use blocks::{Operator, Selector};

use crate::error::{CxError, Failure, guard, guard_value};
use crate::pointer::{self, give};
use crate::status::CxStatus;

/// Comparison of a matcher: one of CX_OPERATOR_....
pub type CxOperator = i32;

/// `=`
pub const CX_OPERATOR_EQUAL: CxOperator = 0;
/// `!=`
pub const CX_OPERATOR_NOT_EQUAL: CxOperator = 1;
/// `=~`
pub const CX_OPERATOR_MATCHES: CxOperator = 2;
/// `!~`
pub const CX_OPERATOR_NOT_MATCHES: CxOperator = 3;

/// A condition on the value of a label. An absent label has the empty value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CxMatcher {
    /// First byte of the label's name.
    pub name: *const c_char,
    /// Length of the name in bytes.
    pub name_len: usize,
    /// Comparison: one of CX_OPERATOR_....
    pub op: CxOperator,
    /// First byte of the value, or of a regular expression in the syntax of RE2, which must match the whole value.
    pub value: *const c_char,
    /// Length of the value in bytes.
    pub value_len: usize,
}

/// Matchers, with compiled regular expressions. It does not change: several threads may use one handle at once.
pub struct CxSelector {
    pub(crate) selector: Selector,
}

/// Parses a PromQL selector, such as `up{job="api",pod=~"web-.*"}`.
///
/// Unlike PromQL, accepts selectors whose matchers all match the empty value, such as `{}`, which selects all series.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_selector_parse(
    text: *const c_char,
    len: usize,
    selector: Option<&mut MaybeUninit<*mut CxSelector>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(selector, "selector", || {
            // SAFETY: the caller's contract.
            let text = unsafe { pointer::text(text, len, "selector text") }?;
            Ok(CxSelector { selector: text.parse()? })
        })
    })
}

/// Makes a selector of matchers. Without matchers, it selects all series.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_selector_new(
    matchers: *const CxMatcher,
    count: usize,
    selector: Option<&mut MaybeUninit<*mut CxSelector>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(selector, "selector", || {
            // SAFETY: the caller's contract.
            let matchers = unsafe { pointer::array(matchers, count, "matchers") }?;
            let matchers = matchers.iter().map(|matcher| {
                // SAFETY: the caller's contract includes what the matchers point to.
                unsafe { matcher.parts() }
            });
            let matchers = matchers.collect::<Result<Vec<_>, _>>()?;
            Ok(CxSelector { selector: Selector::from_matchers(matchers)? })
        })
    })
}

/// Frees a selector, or does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_selector_free(selector: Option<Box<CxSelector>>) {
    guard_value(|| drop(selector));
}

impl CxMatcher {
    /// Returns name, operator and value.
    ///
    /// # Safety
    /// Name and value point to their bytes, which do not change during `'a`.
    unsafe fn parts<'a>(&self) -> Result<(&'a str, Operator, &'a str), Failure> {
        // SAFETY: this function's contract.
        let (name, value) = unsafe {
            (
                pointer::text(self.name, self.name_len, "matcher name")?,
                pointer::text(self.value, self.value_len, "matcher value")?,
            )
        };
        let operator = match self.op {
            CX_OPERATOR_EQUAL => Operator::Equal,
            CX_OPERATOR_NOT_EQUAL => Operator::NotEqual,
            CX_OPERATOR_MATCHES => Operator::Matches,
            CX_OPERATOR_NOT_MATCHES => Operator::MatchesNot,
            other => return Err(Failure::usage(format!("matcher of {name}: {other} is not one of CX_OPERATOR_..."))),
        };
        Ok((name, operator, value))
    }
}
