//! Blocks of an object store, as those of a folder.

use chronoxide::{Blocks, ErrorKind, OpenOptions};
use chronoxide_object_server::{BUCKET, Server};
use chronoxide_testkit::golden::goldens;

use super::TestResult;

#[test]
fn a_location_is_queried_like_a_folder() -> TestResult {
    let server = Server::s3s()?;
    let (folder, cache) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let settings = Server::settings(server.endpoint());
    let location = chronoxide_store::Location::open_with(&format!("s3://{BUCKET}/set"), &settings)?;
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
            assert!(block.path.is_some_and(|path| path.starts_with(cache.path())), "{block:?}");
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
    let rest = options.skip_damaged(true).open(&url)?;
    assert_eq!((rest.len(), rest.damaged().len()), (before.len(), 1));
    Ok(())
}
