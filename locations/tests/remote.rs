//! Object stores: two servers on loopback, and faults between them and the client.

use std::sync::LazyLock;
use std::time::Duration;

use chronoxide_format::layout::RowForm;
use chronoxide_format::write::BlockMeta;
use chronoxide_locations::{
    Cache, Created, Listing, Location, LocationError, MANIFEST_KEY, MAX_READ_LEN, Manifest, Object, RangedRead,
    SparseBlock,
};
use chronoxide_object_server::{BUCKET, Fault, Proxy, Request, Server, at_once, every, nth};
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::requirement::skip_or_fail;
use chronoxide_testkit::sweep;

/// Longer than a part of an upload.
const LARGE: usize = (8 << 20) * 2 + 12_345;

fn servers() -> Vec<Server> {
    let mut servers = vec![Server::s3s().unwrap()];
    match Server::moto() {
        Ok(moto) => servers.push(moto),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => skip_or_fail("moto_server", error),
        Err(error) => panic!("{error}"),
    }
    servers
}

fn open(endpoint: &str, prefix: &str) -> Location {
    Location::open_with(&format!("s3://{BUCKET}/{prefix}"), &Server::settings(endpoint)).unwrap()
}

fn large() -> &'static [u8] {
    static BYTES: LazyLock<Vec<u8>> =
        LazyLock::new(|| (0..LARGE).map(|place| (place * 7 + place / 251) as u8).collect());
    &BYTES
}

/// Returns a file of [`large`], and the folder that holds it.
fn large_file() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, large()).unwrap();
    (folder, file)
}

fn keys(objects: &[Object]) -> Vec<&str> {
    objects.iter().map(|object| object.key.as_str()).collect()
}

fn read_ranges(
    location: &Location,
    key: &str,
    ranges: Vec<std::ops::Range<u64>>,
) -> Result<Vec<Vec<u8>>, LocationError> {
    let mut read = Ok(Vec::new());
    location.read_ranges(vec![RangedRead { key: key.to_owned(), ranges }], &mut |_, result| {
        read = result.map(|parts| parts.iter().map(|part| part.to_vec()).collect());
        true
    });
    read
}

#[test]
fn objects_are_created_read_copied_and_deleted() {
    for server in servers() {
        let location = open(server.endpoint(), "some/prefix");
        assert!(location.list("", true).unwrap().is_empty());
        assert_eq!(location.create_bytes("a.txt", b"first").unwrap(), Created::New);
        assert_eq!(location.create_bytes("a.txt", b"first").unwrap(), Created::Found);
        let refused = location.create_bytes("a.txt", b"other").unwrap_err();
        assert!(matches!(refused, LocationError::Occupied { .. }), "{refused}");
        assert_eq!(location.read("a.txt").unwrap(), b"first");
        location.replace("a.txt", b"second").unwrap();
        location.create_bytes("deep/b.txt", b"b").unwrap();
        // Same prefix, but not below the location.
        open(server.endpoint(), "some/prefixes").create_bytes("c.txt", b"c").unwrap();
        assert_eq!(keys(&location.list("", false).unwrap()), ["a.txt"]);
        assert_eq!(keys(&location.list("", true).unwrap()), ["a.txt", "deep/b.txt"]);
        assert_eq!(keys(&location.list("deep/", true).unwrap()), ["deep/b.txt"]);
        assert!(location.list("none/", true).unwrap().is_empty());
        assert_eq!(location.find("a.txt").unwrap().unwrap().byte_len, 6);
        assert_eq!(location.find("none").unwrap(), None);
        assert!(location.read("none").unwrap_err().is_missing());
        assert!(location.copy("none", "x").is_err());
        location.copy("a.txt", "copy.txt").unwrap();
        assert_eq!(location.read("copy.txt").unwrap(), b"second");
        let parts = read_ranges(&location, "a.txt", vec![0..3, 3..6, 2..2]).unwrap();
        assert_eq!(parts, [&b"sec"[..], b"ond", b""]);
        let mut deleted = Vec::new();
        let doomed = ["a.txt", "none", "deep/b.txt"].map(str::to_owned);
        location.delete(&doomed, &mut |key| deleted.push(key.to_owned())).unwrap();
        assert_eq!(keys(&location.list("", true).unwrap()), ["copy.txt"]);
    }
}

#[test]
fn large_files_are_uploaded_in_parts_and_read_again() {
    for server in servers() {
        let proxy = Proxy::start(server.endpoint()).unwrap();
        let location = open(proxy.endpoint(), "");
        let (_folder, file) = large_file();
        assert_eq!(location.create("large", &file).unwrap(), Created::New);
        let requests = proxy.take_requests();
        let parts = requests.iter().filter(|request| request.target.contains("partNumber=")).count();
        assert_eq!(parts, 3, "{requests:?}");
        let read: u64 = requests.iter().filter(|request| request.method == "GET").map(|request| request.received).sum();
        assert_eq!(read, LARGE as u64, "it is read again once");
        assert_eq!(location.create("large", &file).unwrap(), Created::Found);
        let mut found = Vec::new();
        location.download("large", LARGE as u64, &mut found).unwrap();
        assert!(found == large());
        std::fs::write(&file, &large()[1..]).unwrap();
        assert!(matches!(location.create("large", &file).unwrap_err(), LocationError::Occupied { .. }));
    }
}

/// The store refuses to complete an upload in parts because another process has created the object meanwhile.
#[test]
fn an_upload_in_parts_replaces_nothing() {
    let server = Server::s3s().unwrap();
    let proxy = Proxy::start(server.endpoint()).unwrap();
    let location = open(proxy.endpoint(), "race");
    let (_folder, file) = large_file();
    let other: Vec<u8> = large().iter().map(|byte| byte ^ 1).collect();
    for (key, theirs, is_equal) in [("same", large(), true), ("other", &other, false)] {
        let direct = open(server.endpoint(), "race");
        let bytes = theirs.to_vec();
        proxy.forget();
        proxy.inject(Box::new(move |_, request| {
            if request.method != "POST" || !request.target.contains("uploadId=") {
                return None;
            }
            // Without parts: the server has no conditions for these.
            direct.replace(key, &bytes).unwrap();
            Some(Fault::Status(412))
        }));
        match location.create(key, &file) {
            Ok(created) => assert!(is_equal && created == Created::Found),
            Err(error) => assert!(!is_equal && matches!(error, LocationError::Occupied { .. }), "{error}"),
        }
        proxy.calm();
        assert!(location.read(key).unwrap() == theirs, "{key} is what the other process wrote");
        let requests = proxy.take_requests();
        let completions: Vec<_> = requests.iter().filter(|request| request.status == 412).collect();
        assert_eq!(completions.len(), 1, "{requests:?}");
        assert!(completions[0].creates, "{requests:?}");
        assert!(requests.iter().any(|request| request.method == "DELETE" && request.target.contains("uploadId=")));
    }
    // For stores that refuse conditions.
    let mut settings = Server::settings(proxy.endpoint());
    settings.push(("AWS_CONDITIONAL_PUT".to_owned(), "disabled".to_owned()));
    let location = Location::open_with(&format!("s3://{BUCKET}/plain"), &settings).unwrap();
    assert_eq!(location.create("large", &file).unwrap(), Created::New);
    assert_eq!(location.create_bytes("small", b"small").unwrap(), Created::New);
    assert!(proxy.take_requests().iter().all(|request| !request.creates));
}

#[test]
fn a_missing_bucket_or_folder_is_no_empty_location() {
    let server = Server::s3s().unwrap();
    let bucket = Location::open_with("s3://no-such-bucket/blocks/", &Server::settings(server.endpoint())).unwrap();
    let folder = Location::open("file:///no/such/folder/").unwrap();
    for location in [bucket, folder] {
        let refused = location.list("", false).unwrap_err();
        assert!(matches!(refused, LocationError::NoLocation { .. }), "{refused}");
    }
    assert!(open(server.endpoint(), "nothing/yet").list("", false).unwrap().is_empty(), "a prefix needs no object");
}

/// Errors that no later attempt can mend say what to do, at once.
#[test]
fn refused_uploads_are_explained() {
    let server = Server::s3s().unwrap();
    let proxy = Proxy::start(server.endpoint()).unwrap();
    let location = open(proxy.endpoint(), "refused");
    let (_folder, file) = large_file();
    let is_completion = |request: &Request| request.method == "POST" && request.target.contains("uploadId=");
    proxy.inject(Box::new(move |_, request| is_completion(request).then_some(Fault::Status(501))));
    let refused = location.create("large", &file).unwrap_err();
    assert!(matches!(refused, LocationError::NoConditions { .. }), "{refused}");
    let requests = proxy.take_requests();
    assert_eq!(requests.iter().filter(|request| is_completion(request)).count(), 1);
    assert!(requests.iter().any(|request| request.method == "DELETE"), "no parts are left");

    proxy.inject(Box::new(|_, request| (request.method == "PUT").then_some(Fault::Status(409))));
    let refused = location.create_bytes("small", b"small").unwrap_err();
    assert!(matches!(refused, LocationError::Io { .. }), "{refused}");
    assert!(refused.to_string().ends_with("refused/small: cannot create"), "{refused}");

    proxy.inject(Box::new(|_, request| (request.method == "GET").then_some(Fault::Status(403))));
    let refused = location.create_bytes("secret", b"written, not read").unwrap_err();
    assert!(refused.to_string().contains("cannot read what was written (1 attempt)"), "{refused}");
    proxy.calm();
    assert_eq!(location.read("secret").unwrap(), b"written, not read");
}

/// Every operation succeeds although every second request fails, and gives what it gives without faults.
#[test]
fn faults_are_survived() {
    let faults = [
        Fault::Status(500),
        Fault::SlowDown,
        Fault::Refuse,
        Fault::LoseAnswer,
        Fault::CutBody(3),
        Fault::TruncateBody(3),
        Fault::Delay(Duration::from_millis(5)),
    ];
    let (_folder, file) = large_file();
    let servers = servers();
    // Each fault on one of the servers, by turns, unless all are asked for.
    let cases = faults
        .into_iter()
        .enumerate()
        .flat_map(|case| sweep::by_turns(&servers, case.0, servers.len()).map(move |server| (case, server)));
    at_once(cases, |((number, fault), server)| {
        let proxy = Proxy::start(server.endpoint()).unwrap();
        let location = open(proxy.endpoint(), &format!("fault-{number}"));
        proxy.inject(every(2, fault));
        location.create_bytes("small", b"some bytes").unwrap();
        location.create("large", &file).unwrap();
        location.copy("small", "copy").unwrap();
        assert_eq!(location.read("copy").unwrap(), b"some bytes", "{fault:?}");
        assert_eq!(read_ranges(&location, "small", vec![0..4, 5..10]).unwrap(), [&b"some"[..], b"bytes"]);
        assert_eq!(keys(&location.list("", true).unwrap()), ["copy", "large", "small"], "{fault:?}");
        location.delete(&["copy".to_owned()], &mut |_| {}).unwrap();
        proxy.calm();
        assert_eq!(keys(&location.list("", true).unwrap()), ["large", "small"], "{fault:?}");
        let mut found = Vec::new();
        location.download("large", LARGE as u64, &mut found).unwrap();
        assert!(found == large(), "{fault:?}");
        assert!(proxy.take_requests().iter().any(|request| request.fault == Some(fault)));
    });
}

#[test]
fn an_error_names_the_object_and_the_attempts() {
    let server = Server::s3s().unwrap();
    let proxy = Proxy::start(server.endpoint()).unwrap();
    let location = open(proxy.endpoint(), "p");
    proxy.inject(every(1, Fault::Status(400)));
    let error = location.read("key").unwrap_err();
    assert_eq!(error.to_string(), "s3://blocks/p/key: cannot find (1 attempt)", "a refused request is not tried again");
    assert_eq!(proxy.take_requests().len(), 1);
    let wrong = Server::settings(proxy.endpoint()).into_iter().map(|(name, value)| match name.as_str() {
        "AWS_SECRET_ACCESS_KEY" => (name, "wrong".to_owned()),
        _ => (name, value),
    });
    let stranger = Location::open_with("s3://blocks/p", &wrong.collect::<Vec<_>>()).unwrap();
    proxy.calm();
    let error = stranger.list("", true).unwrap_err();
    assert_eq!(error.to_string(), "s3://blocks/p/: cannot list (1 attempt)");
    for text in ["ftp://host/x", "s3://", "file://relative", "s3://b/x?y=1"] {
        assert!(matches!(Location::open(text), Err(LocationError::Location { .. })), "{text}");
    }
}

/// Puts all goldens into a location.
fn put_goldens(location: &Location) -> usize {
    let goldens = goldens();
    for golden in &goldens {
        location.create_bytes(&format!("{}.cx", golden.name), &golden.bytes).unwrap();
    }
    goldens.len()
}

#[test]
fn a_listing_reads_one_range_per_block_and_equals_that_of_a_folder() {
    for server in servers() {
        let proxy = Proxy::start(server.endpoint()).unwrap();
        let location = open(proxy.endpoint(), "goldens");
        let count = put_goldens(&location);
        proxy.forget();
        let listing = Listing::read(&location).unwrap();
        let gets = proxy.take_requests().into_iter().filter(|request| request.range.is_some()).count();
        assert_eq!(gets, count, "ranged reads of as many blocks");
        let folder = tempfile::tempdir().unwrap();
        let local = Location::open(&folder.path().display().to_string()).unwrap();
        put_goldens(&local);
        let of_folder = Listing::read(&local).unwrap();
        let facts = |listing: &Listing| -> Vec<_> {
            listing.all().iter().map(|block| (block.object.key.clone(), block.facts.clone())).collect()
        };
        assert_eq!(facts(&listing), facts(&of_folder));
        assert_eq!(facts(&listing).len(), count);

        Manifest::from_listing(&listing).write(&location).unwrap();
        proxy.forget();
        let again = Listing::read(&location).unwrap();
        assert_eq!((again.from_manifest, again.live), (count, listing.live));
        let requests = proxy.take_requests();
        assert_eq!(requests.iter().filter(|request| request.target.contains(".cx")).count(), 0, "{requests:?}");
    }
}

#[test]
fn a_manifest_of_any_length_is_not_read_into_memory() {
    let server = Server::s3s().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let remote = open(server.endpoint(), "huge");
    let local = Location::open(&folder.path().display().to_string()).unwrap();
    for (location, files) in [(remote, server.objects().unwrap().join("huge")), (local, folder.path().to_owned())] {
        let count = put_goldens(&location);
        let file = std::fs::File::create(files.join(MANIFEST_KEY)).unwrap();
        file.set_len(MAX_READ_LEN + 1).unwrap();
        let refused = location.read(MANIFEST_KEY).unwrap_err().to_string();
        assert!(refused.ends_with(": not valid: 268435457 bytes, more than 268435456"), "{refused}");
        let listing = Listing::read(&location).unwrap();
        assert_eq!((listing.from_manifest, listing.all().len()), (0, count));
    }
}

#[test]
fn a_sparse_block_answers_as_the_whole_block() {
    let server = Server::s3s().unwrap();
    let proxy = Proxy::start(server.endpoint()).unwrap();
    let location = open(proxy.endpoint(), "sparse");
    let labels = |pod: u64| -> Labelset {
        let label = |name: &str, value: String| (name.to_owned(), value);
        [
            label("__name__", "up".to_owned()),
            label("pod", format!("pod-{:016x}", pod.wrapping_mul(0x9E37_79B9_7F4A_7C15))),
        ]
        .into()
    };
    let series = (0..100_000).map(labels).collect();
    let block = build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap();
    location.create_bytes("block.cx", &block).unwrap();
    let whole = chronoxide_reader::Block::from_vec(block.clone(), chronoxide_reader::Checks::Eager).unwrap();
    proxy.forget();
    let object = location.find("block.cx").unwrap().unwrap();
    let mut sparse = SparseBlock::open(&location, &object).unwrap();
    for series in [0, 7, 99_999] {
        let labels = |view: &chronoxide_format::view::BlockView<'_>| {
            let series = view.series(chronoxide_reader::SeriesRef(series))?.expect("the block has it");
            series
                .labels()
                .map(|label| label.map(|label| (label.name.to_vec(), label.value.to_vec())))
                .collect::<Result<Vec<_>, _>>()
        };
        let expected: Vec<(Vec<u8>, Vec<u8>)> = labels(&whole.view()).unwrap();
        assert_eq!(sparse.query(labels).unwrap(), expected);
    }
    let (reads, bytes) = sparse.reads();
    assert!(bytes < block.len() as u64 / 2, "{bytes} of {} bytes in {reads} reads", block.len());
    assert_eq!(
        bytes,
        proxy
            .take_requests()
            .iter()
            .filter(|request| request.range.is_some())
            .map(|request| request.received)
            .sum::<u64>()
    );
}

#[test]
fn damage_on_the_way_is_read_again_and_damage_in_the_store_is_reported() {
    let server = Server::s3s().unwrap();
    let proxy = Proxy::start(server.endpoint()).unwrap();
    let location = open(proxy.endpoint(), "damage");
    let golden = &goldens()[0];
    location.create_bytes("block.cx", &golden.bytes).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path(), 1 << 20).unwrap();
    let listing = Listing::read(&location).unwrap();
    let wanted = listing.live[0].wanted();
    for place in [0, 20, golden.bytes.len() / 2, golden.bytes.len() - 1] {
        proxy.inject(nth(0, Fault::FlipByte(place)));
        let path = cache.fetch(&location, &wanted).unwrap();
        assert!(std::fs::read(&path).unwrap() == golden.bytes, "byte {place}");
        std::fs::remove_file(path).unwrap();
        proxy.inject(nth(1, Fault::FlipByte(place)));
        assert_eq!(Listing::read(&location).unwrap().live, listing.live, "byte {place}");
    }
    proxy.calm();
    let mut damaged = golden.bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    location.replace("block.cx", &damaged).unwrap();
    let error = cache.fetch(&location, &wanted).unwrap_err();
    assert!(
        matches!(&error, LocationError::Block { object, .. } if object == "s3://blocks/damage/block.cx"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().flatten().count(), 1, "a lock file only");
}

#[test]
fn a_cache_stays_below_its_maximum() {
    let server = Server::s3s().unwrap();
    let location = open(server.endpoint(), "cache");
    put_goldens(&location);
    let listing = Listing::read(&location).unwrap();
    // Some golden blocks are longer than all others together.
    let mut shorter = listing.all();
    shorter.sort_by_key(|block| block.object.byte_len);
    shorter.truncate(shorter.len() / 2);
    let largest = shorter.last().unwrap().object.byte_len;
    let all: u64 = shorter.iter().map(|block| block.object.byte_len).sum();
    assert!(all > 3 * largest, "{all} bytes, {largest} at most");
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path(), 2 * largest).unwrap();
    for block in shorter {
        let path = cache.fetch(&location, &block.wanted()).unwrap();
        assert_eq!(std::fs::metadata(path).unwrap().len(), block.object.byte_len);
        let total: u64 =
            std::fs::read_dir(folder.path()).unwrap().flatten().map(|file| file.metadata().unwrap().len()).sum();
        assert!(total <= 2 * largest, "{total}");
    }
    // Downloads at the same time, with room for their blocks alone.
    let live: u64 = listing.live.iter().map(|block| block.object.byte_len).sum();
    let cache = Cache::open(folder.path(), live).unwrap();
    let old = folder.path().join("old.cx");
    std::fs::write(&old, vec![0; usize::try_from(live).unwrap()]).unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    std::fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
    cache.fetch_all(&location, &listing.live).unwrap();
    let total: u64 =
        std::fs::read_dir(folder.path()).unwrap().flatten().map(|file| file.metadata().unwrap().len()).sum();
    assert_eq!(total, live);
}

#[test]
fn a_file_of_the_cache_that_is_damaged_or_another_block_is_downloaded_again() {
    let server = Server::s3s().unwrap();
    let location = open(server.endpoint(), "rot");
    put_goldens(&location);
    let listing = Listing::read(&location).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path(), 1 << 30).unwrap();
    for block in &listing.live {
        let wanted = block.wanted();
        let path = cache.fetch(&location, &wanted).unwrap();
        let sound = std::fs::read(&path).unwrap();
        for place in [0, 20, sound.len() / 2, sound.len() - 1] {
            let mut damaged = sound.clone();
            damaged[place] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert_eq!(cache.fetch_sound(&location, &wanted).unwrap(), path);
            assert!(std::fs::read(&path).unwrap() == sound, "{}: byte {place}", block.object.key);
        }
        // Another block of the same length. Its header alone is looked at.
        let mut other = sound.clone();
        other[30] ^= 1;
        std::fs::write(&path, &other).unwrap();
        cache.fetch(&location, &wanted).unwrap();
        assert!(std::fs::read(&path).unwrap() == sound, "{}", block.object.key);
    }
}

/// An object that is longer than its header says costs no memory of that length.
#[test]
fn an_object_with_another_length_is_not_a_block() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::open(&folder.path().display().to_string()).unwrap();
    location.create_bytes("long.cx", &goldens()[0].bytes).unwrap();
    let file = std::fs::File::options().write(true).open(folder.path().join("long.cx")).unwrap();
    // Sparse. More than any machine has.
    file.set_len(1 << 43).unwrap();
    let listing = Listing::read(&location).unwrap();
    let [(key, error)] = &listing.unreadable[..] else { panic!("{listing:?}") };
    assert!(key == "long.cx" && matches!(error, LocationError::Block { .. }), "{error}");
}

#[test]
fn an_endpoint_that_is_no_url_is_named() {
    for endpoint in ["nonsense", "127.0.0.1:9000", ""] {
        let settings = [("AWS_ENDPOINT_URL".to_owned(), endpoint.to_owned())];
        let error = Location::open_with("s3://bucket/", &settings).unwrap_err();
        assert!(error.to_string().contains(&format!("AWS_ENDPOINT_URL={endpoint} is not a URL")), "{error}");
    }
}

#[test]
fn an_endpoint_without_encryption_must_be_allowed() {
    let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let account = || setting("AZURE_STORAGE_ACCOUNT_NAME", "account");
    for (url, name, given, reason) in [
        ("s3://bucket/", "AWS_ENDPOINT_URL", vec![], Some("AWS_ALLOW_HTTP=true")),
        ("s3://bucket/", "AWS_ENDPOINT_URL_S3", vec![setting("AWS_ALLOW_HTTP", "no")], Some("AWS_ALLOW_HTTP=true")),
        ("s3://bucket/", "AWS_ENDPOINT", vec![setting("AWS_ALLOW_HTTP", "1")], None),
        ("s3://bucket/", "AWS_METADATA_ENDPOINT", vec![], None),
        ("az://bucket/", "AZURE_STORAGE_ENDPOINT", vec![account()], Some("AZURE_ALLOW_HTTP=true")),
        ("az://bucket/", "AZURE_ENDPOINT", vec![account(), setting("AZURE_STORAGE_USE_EMULATOR", "True")], None),
        ("az://bucket/", "AZURE_MSI_ENDPOINT", vec![account()], None),
    ] {
        let settings: Vec<_> = given.into_iter().chain([setting(name, "http://127.0.0.1:9000")]).collect();
        let opened = Location::open_with(url, &settings);
        match reason {
            None => assert!(opened.is_ok(), "{settings:?}: {opened:?}"),
            Some(reason) => {
                let error = opened.unwrap_err().to_string();
                assert!(error.contains(reason) && error.contains(name), "{error}");
            }
        }
    }
}

#[test]
fn upload_folders_of_the_dead_are_deleted_after_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path(), 1 << 30).unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 3600);
    let age = |path: &std::path::Path| std::fs::File::open(path).unwrap().set_modified(old).unwrap();
    let alive = cache.upload_folder().unwrap();
    let [dead, young] = ["uploads-dead", "uploads-young"].map(|name| folder.path().join(name));
    for path in [&dead, &young] {
        std::fs::create_dir(path).unwrap();
        std::fs::write(path.join("block.cx"), b"left behind").unwrap();
        std::fs::write(path.join(".owner"), b"").unwrap();
    }
    age(&dead);
    age(alive.path());
    let another = cache.upload_folder().unwrap();
    assert!(!dead.exists(), "its process is dead");
    assert!(young.exists() && alive.path().exists() && another.path().exists());
    let path = alive.path().to_owned();
    drop(alive);
    assert!(!path.exists());
}

#[test]
fn a_long_object_is_copied_in_parts() {
    let server = Server::s3s().unwrap();
    let proxy = Proxy::start(server.endpoint()).unwrap();
    let location = open(proxy.endpoint(), "copies");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    // Longer than an object that the store copies, if all cases are asked for: it takes half a minute.
    let len = sweep::cases(1 << 20, (256 << 20) + 4321);
    let bytes: Vec<u8> = (0..len).map(|place: usize| (place / 4099) as u8).collect();
    std::fs::write(&file, &bytes).unwrap();
    open(server.endpoint(), "copies").create("long", &file).unwrap();
    location.create_bytes("short", &bytes[..5000]).unwrap();
    for (key, copied, parts) in [("short", &bytes[..5000], 0), ("long", &bytes[..], sweep::cases(0, 33))] {
        proxy.forget();
        let copy = format!("copy of {key}");
        location.copy(key, &copy).unwrap();
        let requests = proxy.take_requests();
        assert_eq!(requests.iter().filter(|request| request.target.contains("partNumber=")).count(), parts);
        let mut found = Vec::new();
        location.download(&copy, copied.len() as u64, &mut found).unwrap();
        assert!(found == copied, "{key}");
    }
}

#[test]
fn names_with_characters_of_urls_are_opened_again() {
    let server = Server::s3s().unwrap();
    let settings = Server::settings(server.endpoint());
    let location = Location::open_with(&format!("s3://{BUCKET}/a%23b/50%25/"), &settings).unwrap();
    for key in ["plain.txt", "q?.txt", "h#.txt", "p%41.txt"] {
        location.create_bytes(key, key.as_bytes()).unwrap();
        let url = location.name(key);
        let (folder, name) = url.rsplit_once('/').unwrap();
        let again = Location::open_with(&format!("{folder}/"), &settings).unwrap();
        assert_eq!(again.text(), location.text());
        assert!(!name.contains(['#', '?']), "{url}");
        assert_eq!(again.read(key).unwrap(), key.as_bytes());
        assert_eq!(Location::open_object(&url).unwrap().1, key);
    }
    assert_eq!(location.text(), format!("s3://{BUCKET}/a%23b/50%25/"));
}

/// Listings read further ranges while they receive others.
#[test]
fn readers_that_read_while_they_receive_do_not_wait_for_each_other() {
    let server = Server::s3s().unwrap();
    let location = open(server.endpoint(), "nested");
    location.create_bytes("object", &[7; 100]).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    for _ in 0..4 {
        let (location, sender) = (location.clone(), sender.clone());
        std::thread::spawn(move || {
            let read = || RangedRead { key: "object".to_owned(), ranges: vec![0..10, 50..60] };
            let mut received = 0;
            location.read_ranges((0..100).map(|_| read()).collect(), &mut |_, outer| {
                outer.unwrap();
                location.read_ranges(vec![read()], &mut |_, inner| {
                    received += inner.unwrap().len();
                    true
                });
                true
            });
            sender.send(received).unwrap();
        });
    }
    for _ in 0..4 {
        assert_eq!(receiver.recv_timeout(Duration::from_secs(120)), Ok(200));
    }
}
