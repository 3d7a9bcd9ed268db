//! Arguments and tables of the examples.

use std::env;
use std::process::exit;

use chronoxide_stores::Allocations;

/// Returns the arguments of the command line as numbers, or `defaults` where they are missing. Prints `usage` and ends
/// the process if one is not a number or there are too many.
pub fn numbers<const COUNT: usize>(usage: &str, defaults: [usize; COUNT]) -> [usize; COUNT] {
    let mut numbers = defaults;
    let arguments: Vec<String> = env::args().skip(1).collect();
    let parsed = arguments.iter().map(|argument| argument.replace('_', "").parse().ok());
    let parsed: Option<Vec<usize>> = parsed.collect();
    match parsed {
        Some(parsed) if parsed.len() <= COUNT => numbers[..parsed.len()].copy_from_slice(&parsed),
        _ => {
            eprintln!("{usage}");
            exit(2);
        }
    }
    numbers
}

/// Columns that the tables of all examples have.
const COLUMNS: [&str; 7] =
    ["calls", "reallocations", "requested", "usable", "fragmentation", "estimated bytes", "used bytes"];

/// Prints the head of a Markdown table whose rows [`print_row`] prints.
pub fn print_head(first: &str, others: &[&str]) {
    let columns = COLUMNS.iter().chain(others);
    println!("| {first} | {} |", columns.clone().copied().collect::<Vec<_>>().join(" | "));
    println!("| --- |{}", " ---: |".repeat(columns.count()));
}

/// Prints what a table or store allocated, and what it says itself.
pub fn print_row(name: &str, allocations: Allocations, (estimated, used): (usize, usize), others: &[String]) {
    let Allocations { allocations: calls, reallocations, requested, usable, .. } = allocations;
    let fragmentation = 100.0 * allocations.fragmentation();
    let others = others.join(" | ");
    println!(
        "| {name} | {calls} | {reallocations} | {requested} | {usable} | {fragmentation:.2}% | {estimated} | {used} | {others} |"
    );
}
