//! From a URL and the environment to a client.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, ObjectStoreScheme, RetryConfig};
use url::Url;

use super::condition::CreateOnly;
use crate::LocationError;

/// Time limit for a request with its answer: 8 MiB at 140 KB/s.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Time limit for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Variables with the URL of a store. Others, such as `AZURE_MSI_ENDPOINT`, have URLs of credentials.
const ENDPOINTS: [&str; 6] = [
    "AWS_ENDPOINT",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AZURE_ENDPOINT",
    "AZURE_STORAGE_ENDPOINT",
    "GOOGLE_BASE_URL",
];

/// A client, and the prefix of the location.
pub(super) struct Connected {
    pub(super) objects: Arc<dyn ObjectStore>,
    pub(super) parts: Arc<dyn MultipartStore>,
    pub(super) prefix: Path,
}

/// Makes a client with the settings of the environment: all variables that begin with `$variables` and that
/// object_store knows. They come after our defaults, so that they win. `$finish` has the last word.
macro_rules! client {
    ($builder:ty, $url:expr, $settings:expr, $variables:literal, $finish:expr) => {{
        let mut builder = <$builder>::new().with_client_options(client_options()).with_retry(no_retries());
        let given = $settings.iter().map(|(name, value)| (name.clone(), value.clone()));
        let all = environment().chain(given).filter(|(name, _)| name.starts_with($variables));
        let all: Vec<(String, String)> = all.collect();
        for (name, value) in &all {
            if let Ok(setting) = name.to_ascii_lowercase().parse() {
                check_endpoint(name, value, &all).map_err(|reason| refused($url, &reason))?;
                builder = builder.with_config(setting, value);
            }
        }
        let finish: fn($builder) -> $builder = $finish;
        let client = Arc::new(finish(builder).with_url($url).build().map_err(|error| refused($url, &error))?);
        (Arc::clone(&client) as Arc<dyn ObjectStore>, client as Arc<dyn MultipartStore>)
    }};
}

/// Makes the client of a location.
pub(super) fn connect(text: &str, settings: &[(String, String)]) -> Result<Connected, LocationError> {
    let url = Url::parse(text).map_err(|error| refused(text, &error))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refused(text, &"a location has no query and no fragment: write `?` as %3F and `#` as %23"));
    }
    // The parser of URLs would resolve them.
    if text.split('/').any(|part| part == "." || part == "..") {
        return Err(refused(text, &"a location has no parts `.` and `..`"));
    }
    let (scheme, prefix) = ObjectStoreScheme::parse(&url).map_err(|error| refused(text, &error))?;
    let (objects, parts) = match scheme {
        ObjectStoreScheme::AmazonS3 => client!(AmazonS3Builder, text, settings, "AWS_", create_only),
        ObjectStoreScheme::GoogleCloudStorage => {
            client!(GoogleCloudStorageBuilder, text, settings, "GOOGLE_", |builder| builder)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            client!(MicrosoftAzureBuilder, text, settings, "AZURE_", |builder| builder)
        }
        _ => return Err(refused(text, &"unknown scheme: use s3://, gs://, az:// or file://")),
    };
    Ok(Connected { objects, parts, prefix })
}

/// Refuses an endpoint whose requests would all fail. Returns the reason.
fn check_endpoint(name: &str, value: &str, settings: &[(String, String)]) -> Result<(), String> {
    if !ENDPOINTS.contains(&name) {
        return Ok(());
    }
    let Some(url) = Url::parse(value).ok().filter(Url::has_host) else {
        return Err(format!("{name}={value} is not a URL such as http://127.0.0.1:9000"));
    };
    let allows_http = |(name, value): &(String, String)| {
        // object_store's words for true; an emulator has no encryption.
        let is_true = ["1", "true", "on", "yes", "y"].contains(&value.to_ascii_lowercase().as_str());
        (name.ends_with("_ALLOW_HTTP") || name.ends_with("_USE_EMULATOR")) && is_true
    };
    if url.scheme() == "http" && !settings.iter().any(allows_http) {
        let provider = name.split('_').next().unwrap_or_default();
        return Err(format!("{name}={value} is not encrypted: set {provider}_ALLOW_HTTP=true to allow it"));
    }
    Ok(())
}

/// Lets uploads in parts replace no object, unless the store refuses conditions
/// (`AWS_CONDITIONAL_PUT=disabled`).
fn create_only(builder: AmazonS3Builder) -> AmazonS3Builder {
    match builder.get_config_value(&AmazonS3ConfigKey::ConditionalPut).as_deref() {
        Some("disabled") => builder,
        _ => builder.with_http_connector(CreateOnly::default()),
    }
}

/// Returns the variables of the environment that are text.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

fn client_options() -> ClientOptions {
    ClientOptions::new().with_timeout(REQUEST_TIMEOUT).with_connect_timeout(CONNECT_TIMEOUT)
}

/// Attempts are counted in one place: see `retry`.
fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

fn refused(location: &str, reason: &dyn std::fmt::Display) -> LocationError {
    LocationError::Location { location: location.to_owned(), reason: reason.to_string() }
}
