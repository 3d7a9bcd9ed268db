//! Tables and arguments of the examples.

use std::env;
use std::process::exit;

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

/// Prints a row of a Markdown table.
pub fn print_row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}
