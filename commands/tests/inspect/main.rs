//! The command `chronoxide-inspect`.

mod cardinality;
mod columns;
mod command;
mod diff;
mod export;
mod export_columns;
mod failures;
mod locations;
mod mistakes;
mod page;
mod places;
mod plan;
mod query;
mod remap;
mod report_command;
mod shares;
mod support;
mod system_limits;
mod tables;
mod terminal_safety;
mod top;
mod tsdb_index;
mod usage;
mod written;
