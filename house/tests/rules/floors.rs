//! Checks that the rooms of a crate have floors: the modules of a folder use those before them, and none after them.

use std::collections::BTreeMap;
use std::path::Path;

use regex::Regex;

use crate::files::{File, files};

/// A folder, the path of its module, and its modules from the lowest floor to the highest.
struct Rooms {
    folder: &'static str,
    module: &'static str,
    floors: &'static [&'static str],
}

const ROOMS: [Rooms; 2] = [
    Rooms { folder: "format/src/view", module: "crate::view", floors: &["catalogue", "labels", "find"] },
    Rooms {
        folder: "select/src",
        module: "crate",
        floors: &["error", "limits", "ranges", "selection", "matchers", "rows", "conditions", "results", "block_set"],
    },
];

impl Rooms {
    /// Returns the floor of a file of the folder, or `None` if it is the folder's own module or of another folder.
    fn floor_of(&self, file: &File) -> Option<usize> {
        let path = file.path.strip_prefix(self.folder).ok()?;
        self.floor(Path::new(path.components().next()?.as_os_str()).file_stem()?.to_str()?)
    }

    fn floor(&self, name: &str) -> Option<usize> {
        self.floors.iter().position(|floor| *floor == name)
    }

    /// Returns the floor of each name that the folder's own module passes on.
    fn passed_on(&self, files: &[File]) -> BTreeMap<String, usize> {
        let statement = Regex::new(r"pub(?:\(crate\))? use (\w+)::(?:\{([^}]*)\}|(\w+));").unwrap();
        let own = ["mod.rs", "lib.rs"].map(|name| Path::new(self.folder).join(name));
        let module = files.iter().find(|file| own.contains(&file.path)).expect("the folder's module");
        let mut names = BTreeMap::new();
        for found in statement.captures_iter(&module.text) {
            let Some(floor) = self.floor(&found[1]) else { continue };
            let list = found.get(2).or_else(|| found.get(3)).map_or("", |list| list.as_str());
            names.extend(list.split(',').map(|name| (name.trim().to_owned(), floor)));
        }
        names
    }

    /// Returns the names that a file takes from the folder's module, in paths and in lists of imports.
    fn used_names(&self, file: &File) -> Vec<String> {
        let path = Regex::new(&format!(r"\b{}::(?:(\w+)|\{{([^;]*)\}};)", self.module)).unwrap();
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let code = file.text.lines().filter(is_code).collect::<Vec<_>>().join("\n");
        let lists = path.captures_iter(&code).filter_map(|found| found.get(1).or_else(|| found.get(2)));
        let names = lists.flat_map(|list| list.as_str().split(','));
        names.map(|name| name.trim().split("::").next().unwrap_or_default().to_owned()).collect()
    }
}

#[test]
fn floors_use_only_floors_below() {
    let files = files();
    for rooms in &ROOMS {
        let passed_on = rooms.passed_on(&files);
        let mut count = 0;
        for file in &files {
            let Some(floor) = rooms.floor_of(file) else { continue };
            for name in rooms.used_names(file) {
                let Some(used) = rooms.floor(&name).or_else(|| passed_on.get(&name).copied()) else { continue };
                assert!(used <= floor, "{} uses {name} of {}", file.path.display(), rooms.floors[used]);
                count += 1;
            }
        }
        assert!(count >= 5, "only {count} uses in {}", rooms.folder);
    }
}
