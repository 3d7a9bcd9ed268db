//! Chooses shared tables and lists for the rows of a block.
//!
//! All series of a pod have the same pod labels, and all pods of a service export the same metrics. A block stores
//! such repetitions once: a row of a *shared table* replaces the labels of a pod, and a *list* replaces the series that
//! have the rest of a row in common (`spec/FORMAT.md`, sections 7 and 8). The input does not say which columns
//! repeat: the planner learns it from samples of the rows, and from the origins of labels if known.
//! Then all rows are factored, and parts that take more bytes than plain rows are dropped. Keysets with the same keys
//! in a table share that table.
//!
//! | module | contents |
//! |---|---|
//! | `content` | [`Content`], the rows of all keysets |
//! | `plan` | [`Plan`], the shared tables and the parts of each keyset, without rows |
//! | `planning` | [`plan()`], from content to a plan that pays |
//! | `planner` | [`Planner`], for content after content |
//! | `learn` | learning of a plan from samples |
//! | `factor` | [`Factored`], rows by a plan: tables, lists, maps and their bytes |
//! | `threads` | [`Threads`] that work on keysets |
//! | `write` | writing of factored content into a block builder |
//! | `layout` | [`Layout`], the layouts of a block |
//!
//! Planning is a local search and need not find the optimum. It makes tables of dictionaries, no tables of tables, and
//! maps where they save bits. It uses no files or strings: all input is codes. Plans do not depend on the number of
//! threads.
//!
//! ```
//! use chronoxide_planner::{Content, KeysetRows, Part, plan};
//!
//! // Twenty pods (keys 1 to 3: name, address, node), each with the same four metrics (key 0).
//! let pod = |pod: u32| [pod, 19 - pod, pod / 5];
//! let rows = (0..4).flat_map(|metric| (0..20).map(move |number| (metric, pod(number))));
//! let content = Content {
//!     value_counts: vec![4, 20, 20, 4],
//!     origins: Vec::new(),
//!     keysets: vec![KeysetRows {
//!         keys: vec![0, 1, 2, 3],
//!         rows: rows.flat_map(|(metric, [name, address, node])| [metric, name, address, node]).collect(),
//!     }],
//! };
//! let (plan, factored) = plan(&content);
//!
//! // The labels of a pod are a table, and each metric has the list of all pods.
//! assert_eq!(plan.tables[0].parts, [Part::Key(1), Part::Key(2), Part::Key(3)]);
//! assert_eq!((&plan.keysets[0].prefix[..], plan.keysets[0].list), (&[Part::Key(0)][..], Some(Part::Table(0))));
//! assert_eq!(factored.tables[0].rows[..6], [0, 19, 0, 1, 18, 0]);
//! assert!(factored.pools[0].lists.list(0).iter().eq(0..20));
//! assert_eq!(factored.keysets[0].rows, [0, 0, /* second metric */ 1, 0, 2, 0, 3, 0]);
//! ```

// The content that tests generate is shared with the tests in `tests/`.
#[cfg(test)]
extern crate self as chronoxide_planner;

mod content;
mod factor;
mod layout;
mod learn;
mod plan;
mod planner;
mod planning;
mod threads;
mod write;

pub use content::{Content, KeysetRows, Origin};
pub use factor::{
    ColumnCodes, Factored, FactoredKeyset, FactoredPool, FactoredTable, InternedLists, InternedRows, List, Lists,
};
pub use layout::Layout;
pub use plan::{KeysetPlan, Part, Plan, TablePlan};
pub use planner::Planner;
pub use planning::{bytes, factor, plan};
pub use threads::{ThreadLimit, Threads};

/// Version of the planner, which blocks record.
pub const VERSION: u32 = 4;
