//! Retries with backoff and jitter.

use std::future::Future;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use object_store::Error;

use crate::StoreError;

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
    ) -> Result<T, StoreError>
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
            Error::NotFound { .. } => StoreError::Missing { object: object.to_owned() },
            error => StoreError::Request { object: object.to_owned(), operation, attempts, source: Box::new(error) },
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

/// Returns true if the server answered that the request is wrong. object_store has no type for its answer.
fn is_refused(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let text = error.to_string();
        if let Some((_, status)) = text.split_once("non-2xx status code: ") {
            let is_passing = ["408", "409", "429"].iter().any(|passing| status.starts_with(passing));
            return status.starts_with('4') && !is_passing && !text.contains("RequestTimeout");
        }
        cause = error.source();
    }
    false
}

/// Makes an error of a body that is shorter than announced. It is tried again.
pub(super) fn short_body(found: usize, expected: u64) -> Error {
    Error::Generic { store: "store", source: format!("the answer has {found} bytes, not {expected}").into() }
}
