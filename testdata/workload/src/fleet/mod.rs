//! Services, and the pods that they run as.
//!
//! A [`Fleet`](plan::Fleet) is a list of services and an order of pods. Everything else is worked out from coordinates
//! whenever it is needed: a pod is the place of its service, its slot, and the window in which it was started.

pub(crate) mod place;
pub(crate) mod plan;
pub(crate) mod pod;
pub(crate) mod profile;
pub(crate) mod service;
