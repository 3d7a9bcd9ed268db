//! [`Fault`]: what can happen to a request, and when.

use std::time::Duration;

use crate::Request;

/// Event that replaces the plain answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The answer has this status, and the server sees nothing.
    Status(u16),
    /// The answer is 503 with the code `SlowDown`, and the server sees nothing.
    SlowDown,
    /// The connection is closed before any answer, and the server sees nothing.
    Refuse,
    /// The server carries out the request, and the connection is closed without an answer.
    LoseAnswer,
    /// The connection is closed after this number of bytes of the body, although more were announced.
    CutBody(usize),
    /// The body has only this number of bytes, and no more are announced.
    TruncateBody(usize),
    /// A listing is answered with an earlier answer to the same request, if there was one.
    StaleList,
    /// The answer is late.
    Delay(Duration),
    /// A bit of this byte of the body is flipped.
    FlipByte(usize),
}

/// Faults that a client must survive, but for late answers.
pub const FAULTS: [Fault; 8] = [
    Fault::Status(500),
    Fault::SlowDown,
    Fault::Refuse,
    Fault::LoseAnswer,
    Fault::CutBody(100),
    Fault::TruncateBody(100),
    Fault::StaleList,
    Fault::FlipByte(700),
];

/// Chooses the fault of a request, by its number since the plan was set (from 0) and by itself.
pub type FaultPlan = Box<dyn Fn(u64, &Request) -> Option<Fault> + Send + Sync>;

/// Injects a fault into every `n`-th request.
#[must_use]
pub fn every(n: u64, fault: Fault) -> FaultPlan {
    Box::new(move |number, _| (number % n == n - 1).then_some(fault))
}

/// Injects a fault into request `n` only, from 0.
#[must_use]
pub fn nth(n: u64, fault: Fault) -> FaultPlan {
    Box::new(move |number, _| (number == n).then_some(fault))
}

/// Injects one of several faults into a share of the requests, in percent, by a seed.
#[must_use]
pub fn random(seed: u64, percent: u64, faults: Vec<Fault>) -> FaultPlan {
    Box::new(move |number, _| {
        let draw = mix(seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let place = usize::try_from((draw >> 32) % faults.len().max(1) as u64).unwrap_or_default();
        (draw % 100 < percent).then(|| faults.get(place).copied()).flatten()
    })
}

/// The finalizer of SplitMix64.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}
