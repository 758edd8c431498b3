//! Refusals as HTTP: a status, and OpenAI's body with the refusal's name as `code`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tilewright_engine::{Code, Refusal};

/// Seconds after which a refused request may be sent again.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// A request that was not honoured.
#[derive(Debug)]
pub(crate) struct Failure {
    refusal: Box<Refusal>,
    /// The name of the request, where it has one.
    request: Option<String>,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self { refusal: Box::new(refusal), request: None }
    }
}

impl Failure {
    /// With the name of the request.
    pub(crate) fn named(self, request: &str) -> Self {
        Self { request: Some(request.to_owned()), ..self }
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self.refusal.code() {
            Code::ModelNotFound | Code::ModuleNotRegistered | Code::FunctionNotRegistered => {
                StatusCode::NOT_FOUND
            }
            Code::EndpointUnsupported => match self.refusal.findings().first().map(|f| f.what.as_str()) {
                Some("method") => StatusCode::METHOD_NOT_ALLOWED,
                Some("endpoint") => StatusCode::NOT_IMPLEMENTED,
                _ => StatusCode::NOT_FOUND,
            },
            Code::Unauthorized => StatusCode::UNAUTHORIZED,
            Code::HostUnknown => StatusCode::FORBIDDEN,
            Code::ContentTypeUnsupported => StatusCode::UNSUPPORTED_MEDIA_TYPE,
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
        let mut body = json!({"error": {
            "message": self.refusal.to_string(),
            "type": kind,
            "param": self.refusal.findings().first().map(|finding| &finding.what),
            "code": self.refusal.code().name(),
            "number": self.refusal.code().number(),
            "findings": self.refusal.findings(),
        }});
        if let Some(request) = &self.request {
            body["request_id"] = json!(request);
        }
        body
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
