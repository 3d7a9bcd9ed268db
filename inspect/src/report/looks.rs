//! How generated values look.

use std::net::{IpAddr, SocketAddr};
use std::sync::LazyLock;

use regex::Regex;

use super::figures::Looks;

/// Values that are looked at.
const SAMPLE: usize = 400;
/// Fewer distinct values tell nothing.
const LEAST_VALUES: usize = 8;
/// Percentage of the values that must look generated.
const MOST: usize = 80;

/// Returns evenly spaced items, all if there are few.
pub(super) fn sample<T>(items: &[T]) -> impl Iterator<Item = &T> {
    items.iter().step_by(items.len().div_ceil(SAMPLE).max(1))
}

/// Returns how most values of a label look, or `None` if fewer than 80% of them look generated.
pub(super) fn classify_values(values: &[&str]) -> Option<Looks> {
    if values.len() < LEAST_VALUES {
        return None;
    }
    let mut found: Vec<Looks> = values.iter().filter_map(|value| classify(value)).collect();
    if found.len() * 100 < values.len() * MOST {
        return None;
    }
    found.sort_unstable();
    let kinds = found.chunk_by(|a, b| a == b);
    kinds.max_by_key(|kind| kind.len()).map(|kind| kind[0])
}

/// Patterns of generated values.
struct Patterns {
    uuid: Regex,
    time: Regex,
    address: Regex,
    pod: Regex,
    hexadecimal: Regex,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let pattern = |text| Regex::new(text).expect("a constant pattern is valid");
    Patterns {
        uuid: pattern("(?i)(^|[^0-9a-z])[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}($|[^0-9a-z])"),
        time: pattern("^([0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}.*)?|1[0-9]{9}([0-9]{3}){0,3})$"),
        address: pattern("(^|[^0-9])([0-9]{1,3}[-.]){3}[0-9]{1,3}($|[^0-9])"),
        // Kubernetes leaves out vowels, and digits that look like letters.
        pod: pattern("[a-z0-9]-[bcdfghjklmnpqrstvwxz2456789]{8,10}$|-[bcdfghjklmnpqrstvwxz2456789]{5}$"),
        hexadecimal: pattern("(?i)(?:^|[^0-9a-z])([0-9a-f]{12,128})(?:$|[^0-9a-z])"),
    }
});

/// Returns how a value looks, or `None` if it does not look generated.
fn classify(value: &str) -> Option<Looks> {
    let patterns = &*PATTERNS;
    if patterns.uuid.is_match(value) {
        Some(Looks::Uuid)
    } else if patterns.time.is_match(value) {
        Some(Looks::Time)
    } else if is_address(value) || patterns.address.is_match(value) {
        Some(Looks::Address)
    } else if value.len() >= 5 && value.bytes().all(|byte| byte.is_ascii_digit()) {
        Some(Looks::Number)
    } else if patterns.hexadecimal.captures(value).is_some_and(|found| is_mixed(&found[1])) {
        Some(Looks::Hash)
    } else if patterns.pod.is_match(value) {
        Some(Looks::Pod)
    } else if is_token(value) {
        Some(Looks::Token)
    } else {
        None
    }
}

/// Returns true for an IP address, with or without a port.
fn is_address(value: &str) -> bool {
    value.parse::<IpAddr>().is_ok() || value.parse::<SocketAddr>().is_ok()
}

/// Returns true if a text has letters and digits.
fn is_mixed(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit()) && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Returns true if a text of letters and digits changes between them often, as random text does.
fn is_token(value: &str) -> bool {
    let bytes = value.as_bytes();
    let changes = bytes.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    bytes.len() >= 10 && bytes.iter().all(u8::is_ascii_alphanumeric) && changes * 5 >= bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_values_are_told_from_chosen_ones() {
        for (value, expected) in [
            ("3f2504e0-4f89-41d3-9a0c-0305e82c3301", Some(Looks::Uuid)),
            ("pod-3F2504E0-4F89-41D3-9A0C-0305E82C3301", Some(Looks::Uuid)),
            ("2025-11-11T08:00:00Z", Some(Looks::Time)),
            ("2025-11-11", Some(Looks::Time)),
            ("1762848000", Some(Looks::Time)),
            ("1762848000123", Some(Looks::Time)),
            ("10.0.0.1", Some(Looks::Address)),
            ("10.0.0.1:9100", Some(Looks::Address)),
            ("ip-10-0-12-7.ec2.internal", Some(Looks::Address)),
            ("fe80::1", Some(Looks::Address)),
            ("web-7d9f8c6b54-x2k9z", Some(Looks::Pod)),
            ("node-exporter-x2k9z", Some(Looks::Pod)),
            ("web-7d9f8c6b54", Some(Looks::Pod)),
            ("9f86d081884c7d659a2feaa0c55ad015", Some(Looks::Hash)),
            ("docker://9f86d081884c7d65", Some(Looks::Hash)),
            ("123456", Some(Looks::Number)),
            ("01KAZ3NDEKTSV4RRFFQ69G5FAV", Some(Looks::Token)),
            ("8080", None),
            ("200", None),
            ("0.005", None),
            ("api", None),
            ("checkout-service", None),
            ("/api/v1/users", None),
            ("http.server.request.duration", None),
            ("v1.2.3", None),
            ("europe-west4-b", None),
            ("", None),
        ] {
            assert_eq!(classify(value), expected, "{value}");
        }
    }

    #[test]
    fn four_of_five_values_decide_and_few_values_do_not() {
        let numbers: Vec<String> = (10_000..10_010).map(|number: u32| number.to_string()).collect();
        let mut values: Vec<&str> = numbers.iter().map(String::as_str).collect();
        assert_eq!(classify_values(&values), Some(Looks::Number));
        assert_eq!(classify_values(&values[..LEAST_VALUES]), Some(Looks::Number));
        assert_eq!(classify_values(&values[..LEAST_VALUES - 1]), None);
        values[0] = "a";
        values[1] = "b";
        assert_eq!(classify_values(&values), Some(Looks::Number));
        values[2] = "c";
        assert_eq!(classify_values(&values), None);
    }

    #[test]
    fn a_sample_is_spread_over_all_items() {
        let items: Vec<u32> = (0..1_000_000).collect();
        let sample: Vec<u32> = sample(&items).copied().collect();
        assert_eq!((sample.len(), sample[0], sample[1]), (SAMPLE, 0, 2_500));
        assert_eq!(super::sample(&items[..3]).count(), 3);
    }
}
