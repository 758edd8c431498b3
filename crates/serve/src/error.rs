//! Refusals as HTTP: a status, and OpenAI's body with the refusal's name as `code`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tilewright_engine::{Code, Refusal};

/// Seconds after which a refused request may be sent again.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// A request that was not honoured.
#[derive(Debug)]
pub(crate) struct Failure(Box<Refusal>);

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self(Box::new(refusal))
    }
}

impl Failure {
    pub(crate) fn status(&self) -> StatusCode {
        match self.0.code() {
            Code::ModelNotFound => StatusCode::NOT_FOUND,
            Code::EndpointUnsupported => match self.0.findings().first().map(|f| f.what.as_str()) {
                Some("method") => StatusCode::METHOD_NOT_ALLOWED,
                Some("endpoint") => StatusCode::NOT_IMPLEMENTED,
                _ => StatusCode::NOT_FOUND,
            },
            Code::Unauthorized => StatusCode::UNAUTHORIZED,
            Code::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Code::QueueFull => StatusCode::TOO_MANY_REQUESTS,
            Code::ServerUnavailable | Code::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
            // What is wrong with a request, its text, its tools: 730 to 769.
            code if (730..770).contains(&code.number()) && code != Code::NonFiniteLogits => {
                StatusCode::BAD_REQUEST
            }
            Code::DeviceOptionInvalid => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The body.
    pub(crate) fn body(&self) -> Value {
        let status = self.status();
        let kind = match status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            StatusCode::SERVICE_UNAVAILABLE => "unavailable_error",
            status if status.is_client_error() => "invalid_request_error",
            _ => "server_error",
        };
        json!({"error": {
            "message": self.0.to_string(),
            "type": kind,
            "param": self.0.findings().first().map(|finding| &finding.what),
            "code": self.0.code().name(),
            "number": self.0.code().number(),
            "findings": self.0.findings(),
        }})
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = json_response(status, &self.body());
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        response
    }
}

/// A JSON reply.
pub(crate) fn json_response(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
