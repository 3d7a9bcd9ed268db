//! A target without a folder. The test has its own process, because it changes the current folder.

mod support;

use std::env;
use std::path::Path;

use chronoxide_publish::{Disk, Existing};
use support::{content_of, publish_bytes, temporaries};

#[test]
fn a_target_without_a_folder_goes_to_the_current_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = env::current_dir().expect("there is one");
    env::set_current_dir(folder.path()).expect("it is there");
    for existing in [Existing::Refuse, Existing::Replace] {
        publish_bytes(&Disk, Path::new("week.cx"), existing, b"new").expect("no fault");
        assert!(publish_bytes(&Disk, Path::new("week.cx"), Existing::Refuse, b"x").is_err());
        let target = folder.path().join("week.cx");
        assert_eq!(content_of(&target), Some(b"new".to_vec()));
        assert!(temporaries(folder.path(), &target).is_empty());
    }
    env::set_current_dir(before).expect("it is there");
}
