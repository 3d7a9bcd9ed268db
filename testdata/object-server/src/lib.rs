//! S3 servers on loopback for tests, and a proxy that injects faults.
//!
//! A [`Server`] is an S3 server in this process (s3s-fs, on a temporary folder) or a child process (moto, in memory):
//! two implementations, so that tests do not rely on the habits of one. A [`Proxy`] stands between a client and a
//! server, and makes requests fail as real networks and stores do.
//!
//! | module | contents |
//! |---|---|
//! | `server` | [`Server`]: s3s-fs in this process, or moto as a child process |
//! | `proxy` | [`Proxy`]: forwards requests, counts them, and injects faults |
//! | `fault` | [`Fault`]: what can happen to a request, and when |
//! | `at_once` | [`at_once`]: cases that wait for servers most of the time |
//! | `message` | HTTP messages, as far as the proxy must know them |

mod at_once;
mod fault;
mod message;
mod proxy;
mod server;

pub use at_once::at_once;
pub use fault::{FAULTS, Fault, FaultPlan, every, nth, random};
pub use proxy::{Proxy, Request};
pub use server::{BUCKET, Server};
