//! Blocks of an object store, as those of a folder.

use std::path::{Path, PathBuf};

use chronoxide::{Blocks, CompactOptions, ErrorKind, Layout, OpenOptions, WriteOptions, compact};
use chronoxide_object_server::{BUCKET, Server};
use chronoxide_reader::SectionKind;
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::golden::goldens;

use super::{Fixture, TestResult};

#[test]
fn a_location_is_queried_like_a_folder() -> TestResult {
    let server = Server::s3s()?;
    let (folder, cache) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let settings = Server::settings(server.endpoint());
    let location = chronoxide_locations::Location::open_with(&format!("s3://{BUCKET}/set"), &settings)?;
    for golden in goldens() {
        location.create_bytes(&format!("{}.cx", golden.name), &golden.bytes)?;
        std::fs::write(folder.path().join(format!("{}.cx", golden.name)), &golden.bytes)?;
    }
    let options = OpenOptions::new().cache(cache.path());
    let options = settings.iter().fold(options, |options, (name, value)| options.store_setting(name, value));
    let url = format!("s3://{BUCKET}/set/");
    let local = Blocks::open(folder.path())?;
    // SAFETY: nothing else uses the cache.
    for remote in [options.open(&url)?, unsafe { options.clone().map() }.open(&url)?] {
        assert!(remote.is_folder());
        let ids =
            |blocks: &Blocks| blocks.iter().map(|block| Ok(block?.id)).collect::<Result<Vec<_>, chronoxide::Error>>();
        assert_eq!(ids(&remote)?, ids(&local)?);
        assert!(remote.len() > 2);
        assert_eq!(remote.query("{}")?.count()?, local.query("{}")?.count()?);
        assert_eq!(remote.query("{}")?.label_names()?, local.query("{}")?.label_names()?);
        for block in remote.iter() {
            let block = block?;
            assert!(block.url.is_some_and(|found| found.starts_with(&url)), "{block:?}");
            assert_eq!(block.path, None);
        }
        remote.verify()?;
    }
    let before = options.open(&url)?;
    let one = format!("{url}plain-bitpacked.cx");
    let single = options.open(&one)?;
    assert_eq!((single.len(), single.query("up")?.count()? > 0), (1, true));
    assert_eq!(single.iter().next().expect("a block")?.url, Some(&*one));
    // The key of a URL is escaped.
    location.create_bytes("a b.cx", &std::fs::read(folder.path().join("unicode.cx"))?)?;
    assert_eq!(options.open(format!("{url}a%20b.cx"))?.len(), 1);
    let error = options.open(format!("{url}none.cx")).expect_err("there is no such object");
    assert!(error.kind() == ErrorKind::Io && error.to_string().contains("none.cx"), "{error}");
    let error = options.open("ftp://host/blocks/").expect_err("no store has this scheme");
    assert_eq!(error.kind(), ErrorKind::Usage);

    location.create_bytes("damaged.cx", &[7; 5000])?;
    let error = before.refresh().expect_err("an object is not a block");
    assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains("damaged.cx"), "{error}");
    let options = options.skip_damaged(true);
    let rest = options.open(&url)?;
    assert_eq!((rest.len(), rest.damaged().len()), (before.len(), 1));
    // Damage behind a sound header is found when the object was fetched; the cache has a sound copy.
    let empty = tempfile::tempdir()?;
    let options = options.cache(empty.path());
    let mut late = std::fs::read(folder.path().join("many-chunks.cx"))?;
    let last = late.len() - 9000;
    late[last] ^= 1;
    location.delete(&["many-chunks.cx".to_owned()], &mut |_| {})?;
    location.create_bytes("late.cx", &late)?;
    let rest = options.open(&url)?;
    assert_eq!((rest.len(), rest.damaged().len()), (before.len() - 1, 2));
    let paths: Vec<_> = rest.damaged().iter().map(|error| error.path().map(Path::to_owned)).collect();
    assert_eq!(paths, ["damaged.cx", "late.cx"].map(|name| Some(PathBuf::from(format!("{url}{name}")))));
    Ok(())
}

#[test]
fn a_query_of_a_remote_block_fetches_what_it_reads() -> TestResult {
    let server = Server::s3s()?;
    let (folder, cache) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let settings = Server::settings(server.endpoint());
    let path = folder.path().join("large.cx");
    let mut writer = chronoxide::BlockWriter::with_options(WriteOptions::new().layout(Layout::BitPacked));
    for series in 0..60_000_u32 {
        // Values that share nothing, and are long.
        let id = format!("{:032x}", u128::from(series).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
        writer.insert([("__name__", "up"), ("id", &id), ("part", ["a", "b"][usize::from(series > 59_990)])])?;
    }
    writer.finish(&path)?;
    let location = chronoxide_locations::Location::open_with(&format!("s3://{BUCKET}/one"), &settings)?;
    location.create_bytes("large.cx", &std::fs::read(&path)?)?;
    let options = settings
        .iter()
        .fold(OpenOptions::new().cache(cache.path()), |options, (name, value)| options.store_setting(name, value));
    let url = format!("s3://{BUCKET}/one/large.cx");
    let read = |blocks: &Blocks| {
        let mut found = Vec::new();
        let mut rows = blocks.query(r#"{part="b"}"#)?.distinct_series()?;
        while let Some(series) = rows.next_ids()? {
            found.extend(series);
        }
        Ok::<_, chronoxide::Error>(found)
    };
    let mut runs = 0;
    let sparse = options.open_for(&url, |blocks| {
        runs += 1;
        blocks.query(r#"{part="b"}"#)?.count().map(drop)
    })?;
    assert!(runs > 1, "the first run misses chunks");
    assert_eq!(sparse.query(r#"{part="b"}"#)?.count()?, 9);
    let error = sparse.verify().expect_err("most chunks were not fetched");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, Some(std::path::Path::new(&url))));
    assert_eq!(std::fs::read_dir(cache.path())?.count(), 0, "nothing is copied");
    let whole = options.open_for(&url, |blocks| read(blocks).map(drop))?;
    assert_eq!(read(&whole)?, read(&Blocks::open(&path)?)?);
    let error = options.open_for(&url, |blocks| blocks.query("{").map(drop)).expect_err("no selector");
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert_eq!(options.open_for(&path, |_| Ok(()))?.query("{}")?.count()?, 60_000);
    Ok(())
}

/// Blocks that a merge replaced are hidden, and archives that cannot be decoded are damaged, as in a folder.
#[test]
fn replaced_and_damaged_blocks_of_a_location_are_those_of_a_folder() -> TestResult {
    let (server, fixture, cache) = (Server::s3s()?, Fixture::new()?, tempfile::tempdir()?);
    let folder = fixture.folder.path();
    compact(&fixture.paths, folder.join("all.cx"), &CompactOptions::new())?;
    let settings = Server::settings(server.endpoint());
    let location = chronoxide_locations::Location::open_with(&format!("s3://{BUCKET}/hidden"), &settings)?;
    for name in ["a.cx", "all.cx", "b.cx"] {
        location.create_bytes(name, &std::fs::read(folder.join(name))?)?;
    }
    let options = settings
        .iter()
        .fold(OpenOptions::new().cache(cache.path()), |options, (name, value)| options.store_setting(name, value));
    let url = format!("s3://{BUCKET}/hidden/");
    for blocks in [fixture.blocks()?, options.open(&url)?] {
        assert_eq!((blocks.len(), blocks.replaced()), (1, 2));
        assert_eq!(super::read(&blocks.query("{}")?)?, fixture.all);
    }

    let archive = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden/archive-many.cx");
    let mut editor = BlockEditor::open(&std::fs::read(archive)?);
    let packed = editor.section(SectionKind::PackedArena);
    let middle = packed.len() / 2;
    packed[middle..].fill(0xff);
    std::fs::write(folder.join("archive.cx"), editor.close())?;
    // A store would not give it: copies are verified.
    let error = OpenOptions::new().open(folder).expect_err("its strings cannot be decoded");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, Some(&*folder.join("archive.cx"))));
    let rest = OpenOptions::new().skip_damaged(true).open(folder)?;
    assert_eq!((rest.len(), rest.replaced(), rest.damaged().len()), (1, 2, 1));
    assert_eq!(rest.damaged()[0].path(), Some(&*folder.join("archive.cx")));
    assert_eq!(super::read(&rest.query("{}")?)?, fixture.all);
    Ok(())
}

/// Copies that were damaged in the cache are not left out unnoticed.
#[test]
fn damaged_copies_are_errors_or_fetched_again() -> TestResult {
    let (server, fixture, cache) = (Server::s3s()?, Fixture::new()?, tempfile::tempdir()?);
    let settings = Server::settings(server.endpoint());
    let location = chronoxide_locations::Location::open_with(&format!("s3://{BUCKET}/copies"), &settings)?;
    let archive = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden/archive-many.cx");
    location.create_bytes("a.cx", &std::fs::read(&fixture.paths[0])?)?;
    location.create_bytes("archive.cx", &std::fs::read(archive)?)?;
    let options = settings
        .iter()
        .fold(OpenOptions::new().cache(cache.path()), |options, (name, value)| options.store_setting(name, value));
    let url = format!("s3://{BUCKET}/copies/");
    let series = options.open(&url)?.query("{}")?.count()?;
    let copies =
        std::fs::read_dir(cache.path())?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    let copies: Vec<_> = copies.into_iter().filter(|path| path.is_file()).collect();
    assert!(copies.len() >= 2, "{copies:?}");
    for path in copies {
        let sound = std::fs::read(&path)?;
        for at in [0, sound.len() / 2, sound.len() - 1] {
            let mut bytes = sound.clone();
            bytes[at] ^= 1;
            std::fs::remove_file(&path)?;
            std::fs::write(&path, &bytes)?;
            match options.open(&url).and_then(|blocks| blocks.query("{}")?.count()) {
                Ok(count) => assert_eq!(count, series, "{path:?}, byte {at}"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}"),
            }
            if let Ok(rest) = options.clone().skip_damaged(true).open(&url) {
                assert_eq!(rest.len() + rest.damaged().len(), 2, "{path:?}, byte {at}");
            }
            std::fs::write(&path, &sound)?;
        }
    }
    Ok(())
}
