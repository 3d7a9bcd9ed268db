//! The examples in C.

use std::process::Output;

use crate::installed::{Linkage, installed};
use crate::repository;

/// Compiles an example and runs it on a golden.
fn example(name: &str, argument: &str) -> Option<Output> {
    let program = installed().compile(&format!("examples/{name}.c"), Linkage::Shared)?;
    let block = repository("testdata/golden/plain-bitpacked.cx");
    Some(installed().run(&program, &[block.as_os_str(), argument.as_ref()]))
}

#[track_caller]
fn assert_output(output: &Output, expected: &str) {
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_series_is_looked_up() {
    let Some(output) = example("lookup", "6") else { return };
    assert_output(&output, "__name__=up\njob=db\npod=db-1\n");
}

#[test]
fn series_are_selected() {
    let Some(output) = example("select", r#"up{job=~"api|db",pod!="api-2"}"#) else { return };
    let expected = "2 __name__=up job=api\n4 __name__=up job=api pod=api-1\n6 __name__=up job=db pod=db-1\n";
    assert_output(&output, expected);
}

#[test]
fn an_error_has_the_exit_code_of_the_commands() {
    let Some(output) = example("select", "up{") else { return };
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("select: "), "{output:?}");
}
