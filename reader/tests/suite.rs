//! Tests that share a program: see CONTRIBUTING.md.

mod block;
mod examples;
mod folder;
mod lineage;
mod public_surface;
mod remap;
