//! Damaged and forged blocks give errors, or batches that are valid, and never a panic.

use arrow_array::{Array, RecordBatch};
use chronoxide_arrow::{BlockTable, Column, Strings, TableError};
use chronoxide_format::view::SeriesColumn;
use chronoxide_reader::{Block, Checks, Rule};
use chronoxide_select::SelectError;
use chronoxide_testkit::broken::broken;
use chronoxide_testkit::fuzzing::mutated_block;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::random::Random;

/// Reads everything. Every batch is valid by Arrow's own full check, UTF-8 included.
fn read_all(bytes: Vec<u8>, checks: Checks) -> Result<usize, String> {
    let block = Block::from_vec(bytes, checks).map_err(|error| error.to_string())?;
    let read = || -> Result<usize, TableError> {
        let table = BlockTable::new(block)?;
        let mut series = 0;
        for strings in [Strings::Dictionary, Strings::View] {
            let others = [Column::labels().with_name(".labels"), Column::fingerprint().with_name(".fingerprint")];
            let columns = table.columns()?.into_iter().chain(others).chain(values(&table)?);
            let scan = table.scan().with_columns(columns).with_strings(strings).with_limit(20_000);
            for batch in scan.batches()? {
                let batch = batch?;
                validate(&batch);
                series += batch.num_rows();
            }
            for label in table.label_names()?.iter().take(20) {
                let (values, counts) = scan.value_counts(label)?;
                values.to_data().validate_full().unwrap_or_else(|error| panic!("{label}: {error}"));
                assert_eq!(values.len(), counts.len());
            }
            for batch in scan.with_limit(2_000).in_label_order().batches()? {
                validate(&batch?);
            }
        }
        Ok(series)
    };
    read().map_err(|error| error.to_string())
}

/// Columns of the values of all series columns, under names that no label has.
fn values(table: &BlockTable) -> Result<Vec<Column>, TableError> {
    let block = table.block();
    let column = |column: Result<SeriesColumn<'_>, _>| {
        let column = column.map_err(|error| block.locate(SelectError::from(error)))?;
        Ok(Column::values(column.name(), column.value_type()).with_name(format!(".values.{}", column.name())))
    };
    block.view().series_columns().map(column).collect()
}

fn validate(batch: &RecordBatch) {
    for column in batch.columns() {
        column.to_data().validate_full().unwrap_or_else(|error| panic!("{}: {error}", batch.schema()));
    }
}

#[test]
fn broken_blocks_are_errors_or_valid_batches() {
    let mut errors = 0;
    let mut count = 0;
    for broken in broken() {
        count += 1;
        for checks in [Checks::Lazy, Checks::Eager] {
            errors += usize::from(read_all(broken.bytes.clone(), checks).is_err());
        }
    }
    assert!(count > 100 && errors > 50, "{errors} errors of {count} blocks");
}

#[test]
fn mutated_blocks_are_errors_or_valid_batches() {
    let (mut errors, mut sound) = (0, 0);
    for seed in 0..3_000 {
        let mut random = Random::new(seed);
        let program: Vec<u8> = (0..8 + random.below(60)).map(|_| random.below(256) as u8).collect();
        match read_all(mutated_block(&program), Checks::Lazy) {
            Ok(_) => sound += 1,
            Err(_) => errors += 1,
        }
    }
    assert!(errors > 100 && sound > 100, "{errors} errors, {sound} read");
}

/// Every byte of a block flipped: with checksums, damage is found before any of it is handed out.
#[test]
fn flipped_bytes_are_found_or_not_read() {
    let mut count = 0;
    for golden in goldens().into_iter().filter(|golden| golden.bytes.len() < 1200) {
        let expected = read_all(golden.bytes.clone(), Checks::Eager);
        for place in 0..golden.bytes.len() {
            let mut bytes = golden.bytes.clone();
            bytes[place] ^= 0x40;
            count += 1;
            if let Ok(series) = read_all(bytes, Checks::Lazy) {
                assert_eq!(Ok(series), expected, "{}, byte {place}", golden.name);
            }
        }
    }
    assert!(count > 1000, "{count} flips");
}

#[test]
fn errors_name_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("damaged.cx");
    let broken = broken().into_iter().find(|broken| broken.rule == Rule::SymbolsUtf8).expect("it is there");
    std::fs::write(&path, broken.bytes).expect("written");
    let table = BlockTable::new(Block::read(&path, Checks::Eager).expect("checksums are right")).expect("not read yet");
    let message = table.scan().batches().map(|_| ()).map_err(|error| error.to_string()).expect_err("no text");
    assert!(message.starts_with(&path.display().to_string()), "{message}");
    assert!(message.contains("UTF-8"), "{message}");
}
