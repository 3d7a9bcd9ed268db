//! The block file format: on-disk structs, bit streams, views, builders and verification.

pub mod policy;
