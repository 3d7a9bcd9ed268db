//! Retries with backoff and jitter.

use std::future::Future;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use object_store::Error;

use crate::LocationError;

/// Status of an answer to a request that the server does not know.
const NOT_IMPLEMENTED: &str = "501";

/// How often and for how long a request is tried again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Retries after the first attempt.
    pub(super) retries: usize,
    /// Shortest and longest pause. It doubles each time, with jitter.
    pub(super) pause: [Duration; 2],
}

impl Patience {
    /// Ten attempts in about half a minute.
    pub(super) const DEFAULT: Self = Self { retries: 9, pause: [Duration::from_millis(50), Duration::from_secs(8)] };

    fn backoff(self) -> ExponentialBuilder {
        let [least, most] = self.pause;
        ExponentialBuilder::default()
            .with_min_delay(least)
            .with_max_delay(most)
            .with_max_times(self.retries)
            .with_jitter()
    }

    /// Runs `request` until it succeeds, cannot succeed, or was tried often enough. Errors name the object and the
    /// number of attempts.
    pub(super) async fn run<T, F>(
        self,
        object: &str,
        operation: &'static str,
        request: impl Fn() -> F,
    ) -> Result<T, LocationError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let attempts = std::sync::atomic::AtomicUsize::new(0);
        let counted = || {
            attempts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            request()
        };
        let result = counted.retry(self.backoff()).sleep(tokio::time::sleep).when(may_succeed_later).await;
        let attempts = attempts.into_inner();
        result.map_err(|error| match error {
            Error::NotFound { .. } => LocationError::Missing { object: object.to_owned() },
            error if asks_for_role(&error) => {
                LocationError::NoCredentials { object: object.to_owned(), source: Box::new(error) }
            }
            error => LocationError::Request { object: object.to_owned(), operation, attempts, source: Box::new(error) },
        })
    }
}

/// Returns true for errors of connections and servers: not for missing objects, failed conditions or refused requests.
fn may_succeed_later(error: &Error) -> bool {
    match error {
        Error::Generic { source, .. } => !is_refused(&**source),
        Error::JoinError { .. } => true,
        _ => false,
    }
}

/// Returns the causes of an error as texts: object_store has no types for them.
fn causes(error: &(dyn std::error::Error + 'static)) -> impl Iterator<Item = String> {
    std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string)
}

/// Returns the text after the status that a server answered with, from the status on.
fn answer(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    causes(error).find_map(|text| Some(text.split_once("non-2xx status code: ")?.1.to_owned()))
}

/// Returns true if the server answered that the request is wrong, or that it cannot do it.
fn is_refused(error: &(dyn std::error::Error + 'static)) -> bool {
    answer(error).is_some_and(|answer| {
        let is_passing = ["408", "409", "429"].iter().any(|passing| answer.starts_with(passing));
        let is_wrong = answer.starts_with('4') && !is_passing && !answer.contains("RequestTimeout");
        is_wrong || answer.starts_with(NOT_IMPLEMENTED)
    })
}

/// Returns true if the server answered that it does not know the request, or a condition of it.
pub(super) fn is_not_implemented(error: &(dyn std::error::Error + 'static)) -> bool {
    answer(error).is_some_and(|answer| answer.starts_with(NOT_IMPLEMENTED))
}

/// Returns true if the server answered that there is no such thing: of a listing, the bucket.
pub(super) fn is_not_found(error: &(dyn std::error::Error + 'static)) -> bool {
    answer(error).is_some_and(|answer| answer.starts_with("404"))
}

/// Returns true for a failed request to the addresses where the machines of clouds find the credentials of their roles.
fn asks_for_role(error: &Error) -> bool {
    causes(error).any(|text| text.contains("://169.254.169.254/") || text.contains("://metadata.google.internal/"))
}

/// Makes an error of a body that is shorter than announced. It is tried again.
pub(super) fn short_body(found: usize, expected: u64) -> Error {
    Error::Generic { store: "store", source: format!("the answer has {found} bytes, not {expected}").into() }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A role whose credentials cannot be read says nothing about the object: a listing fails, and leaves nothing out.
    #[test]
    fn missing_credentials_are_no_property_of_an_object() {
        for (status, attempts) in [("403 Forbidden", 1), ("500 Internal Server Error", 3)] {
            let patience = Patience { retries: 2, pause: [Duration::ZERO; 2] };
            let asked = AtomicUsize::new(0);
            let request = || {
                asked.fetch_add(1, Ordering::Relaxed);
                let url = "http://169.254.169.254/latest/api/token";
                let text = format!("Error performing PUT {url} - Server returned non-2xx status code: {status}: ");
                async { Err::<(), Error>(Error::Generic { store: "S3", source: text.into() }) }
            };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let error = runtime.block_on(patience.run("s3://bucket/key", "read", request)).unwrap_err();
            assert!(matches!(error, LocationError::NoCredentials { .. }) && error.is_temporary(), "{error}");
            assert_eq!(asked.into_inner(), attempts, "{status}");
        }
    }
}
