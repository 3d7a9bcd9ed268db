//! [`CreateOnly`]: uploads in parts that replace no object.

use async_trait::async_trait;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};

/// Connections to S3 whose uploads in parts are completed with `If-None-Match: *`.
///
/// object_store has this condition for objects that are written by one request, and for copies, but no option for
/// uploads in parts. Like its own condition for copies, the header is not part of the signature.
#[derive(Debug, Default)]
pub(super) struct CreateOnly(ReqwestConnector);

#[derive(Debug)]
struct Client(HttpClient);

impl HttpConnector for CreateOnly {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Client(self.0.connect(options)?)))
    }
}

#[async_trait]
impl HttpService for Client {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if completes_upload(request.method().as_str(), request.uri().query())
            && let Ok(any) = "*".parse()
        {
            request.headers_mut().insert("if-none-match", any);
        }
        self.0.execute(request).await
    }
}

/// Returns true for a request that completes an upload in parts.
fn completes_upload(method: &str, query: Option<&str>) -> bool {
    let has_upload = || query.is_some_and(|query| query.split('&').any(|pair| pair.starts_with("uploadId=")));
    method == "POST" && has_upload()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_completions_have_the_condition() {
        assert!(completes_upload("POST", Some("uploadId=abc")));
        for (method, query) in [
            ("POST", Some("uploads=")),
            ("POST", Some("delete=")),
            ("POST", None),
            ("PUT", Some("partNumber=1&uploadId=abc")),
            ("DELETE", Some("uploadId=abc")),
            ("GET", Some("uploadId=abc")),
        ] {
            assert!(!completes_upload(method, query), "{method} {query:?}");
        }
    }
}
