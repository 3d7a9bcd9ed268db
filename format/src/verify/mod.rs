//! Every rule of the spec.
