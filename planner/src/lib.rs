//! Chooses how the rows of a block are factored: which columns of its keysets stand in shared tables, and which in lists.
//!
//! The labels of a pod are the same on all its series, and the points of one pod are those of the next. A block says such things once: a
//! row of a *shared table* stands for the labels of a pod, and a *list* for the series that have the rest of a row in common (`spec/FORMAT.md`, sections 7 and
//! 8). Which columns these are is no part of the content. It is learned from samples of the rows, and from where labels come from if the input says so;
//! then all rows are factored, and what takes more bytes than plain rows is dropped. Keysets with the same keys in a table share that table.
//!
//! | module | what is in it |
//! |---|---|
//! | `content` | [`Content`], what is planned: the rows of all keysets |
//! | `plan` | [`Plan`], which tables there are and what each keyset is made of; it has no rows |
//! | `planning` | [`plan()`], from content to a plan that pays |
//! | `learn` | a plan from samples: entities, groups of columns, and what each way would cost |
//! | `factor` | [`Factored`], the rows by a plan: tables, lists, maps, and the bytes that they take |
//! | `write` | the same into a builder of blocks |
//! | `layout` | [`Layout`], how rows are laid out |
//!
//! Planning is greedy and knows no optimum. It makes tables of dictionaries only, no tables of tables, and maps where they save bits. It opens no file,
//! starts no thread and does not see a string: everything is codes.
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
//! // What describes a pod is a table, and each metric has the list of all pods.
//! assert_eq!(plan.tables[0].parts, [Part::Key(1), Part::Key(2), Part::Key(3)]);
//! assert_eq!((&plan.keysets[0].prefix[..], plan.keysets[0].list), (&[Part::Key(0)][..], Some(Part::Table(0))));
//! assert_eq!(factored.tables[0].rows[..6], [0, 19, 0, 1, 18, 0]);
//! assert_eq!(factored.pools[0].lists, [(0..20).collect::<Vec<u32>>()]);
//! assert_eq!(factored.keysets[0].rows, [0, 0, /* second metric */ 1, 0, 2, 0, 3, 0]);
//! ```

// The content that tests make is shared with those in `tests/`.
#[cfg(test)]
extern crate self as chronoxide_planner;

mod content;
mod factor;
mod layout;
mod learn;
mod plan;
mod planning;
mod write;

pub use content::{Content, KeysetRows, Origin};
pub use factor::{ColumnCodes, Factored, FactoredKeyset, FactoredPool, FactoredTable, InternedLists, InternedRows};
pub use layout::Layout;
pub use plan::{KeysetPlan, Part, Plan, TablePlan};
pub use planning::{factor, plan};

/// The version of the planner, which blocks record.
pub const VERSION: u32 = 1;
