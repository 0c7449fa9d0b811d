//! The coordinator's HTTP API as functions.

use std::time::Duration;

use proofmill_coordinator::api::{
    CircuitsAnswer, JobAnswer, JobsAnswer, Problem, ProblemCode, ProofAnswer, TimelineAnswer,
    WorkersAnswer,
};
use proofmill_coordinator::view::Priority;
use proofmill_shared::protocol::{CircuitId, JobId};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, RequestBuilder, Url};
use serde::de::DeserializeOwned;

use crate::cli::Connection;
use crate::exit::Exit;

/// Time to connect: a coordinator that is there answers at once.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest silence of the coordinator beyond what a long poll asks for.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Time for sending an input on top of that.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(150);

/// What of an answer that is no answer of a coordinator is shown, in characters.
const EXCERPT_CHARS: usize = 120;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The address does not read.
    #[error(
        "{url:?} is not an address of a coordinator ({detail}): expected such as http://127.0.0.1:7311"
    )]
    BadUrl {
        /// What was given.
        url: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The key cannot be sent.
    #[error("the API key holds characters that cannot be sent: correct PROOFMILL_API_KEY")]
    BadKey,
    /// Nobody answers.
    #[error(
        "coordinator at {url} cannot be reached ({detail}): start one with `proofmill up`, or set PROOFMILL_URL"
    )]
    Unreachable {
        /// The address.
        url: String,
        /// What the connection said.
        detail: String,
    },
    /// The coordinator refuses.
    #[error("{}: {}", .0.detail, .0.advice)]
    Refused(Box<Problem>),
    /// Somebody else answers.
    #[error(
        "{url} answers with {status} and not as a coordinator does ({excerpt:?}): check PROOFMILL_URL"
    )]
    NotACoordinator {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The beginning of the answer, or why it does not read.
        excerpt: String,
    },
}

impl ClientError {
    /// The exit code it means.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::BadUrl { .. } | Self::BadKey => Exit::Usage,
            Self::Unreachable { .. } => Exit::Unreachable,
            Self::NotACoordinator { .. } => Exit::Failed,
            Self::Refused(problem) => exit_of(problem),
        }
    }

    /// A stable code for programs.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::BadUrl { .. } => "bad-url",
            Self::BadKey => "bad-api-key",
            Self::Unreachable { .. } => "unreachable",
            Self::NotACoordinator { .. } => "not-a-coordinator",
            Self::Refused(problem) => &problem.code,
        }
    }

    /// True if the coordinator may be back in a moment.
    pub(crate) fn is_transient(&self) -> bool {
        self.exit() == Exit::Unreachable
    }
}

fn exit_of(problem: &Problem) -> Exit {
    let rejected = [
        ProblemCode::UnknownCircuit,
        ProblemCode::InputTooLarge,
        ProblemCode::BodyTooLarge,
    ];
    if rejected.iter().any(|code| code.code() == problem.code) {
        return Exit::Rejected;
    }
    match problem.status {
        503 => Exit::Unreachable,
        400 | 415 | 422 => Exit::Usage,
        _ => Exit::Failed,
    }
}

/// A job to submit.
#[derive(Debug)]
pub(crate) struct Submission {
    pub(crate) circuit: CircuitId,
    pub(crate) input: Vec<u8>,
    pub(crate) priority: Priority,
    pub(crate) deadline: Option<String>,
    pub(crate) idempotency_key: Option<String>,
}

/// A connection to one coordinator.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
}

impl Client {
    /// Prepares a connection; nothing is sent yet.
    pub(crate) fn new(connection: &Connection) -> Result<Self, ClientError> {
        let bad_url = |detail: String| ClientError::BadUrl {
            url: connection.url.clone(),
            detail,
        };
        let base = Url::parse(&connection.url).map_err(|error| bad_url(error.to_string()))?;
        if base.scheme() != "http" || base.host().is_none() {
            return Err(bad_url("only http is spoken".to_owned()));
        }
        let mut headers = HeaderMap::new();
        // An empty variable counts as none.
        let key = connection.api_key.as_ref();
        if let Some(key) = key.filter(|key| !key.expose().is_empty()) {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                .map_err(|_| ClientError::BadKey)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .default_headers(headers)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| bad_url(error.to_string()))?;
        Ok(Self { http, base })
    }

    /// Submits a job.
    pub(crate) async fn submit(&self, job: Submission) -> Result<JobAnswer, ClientError> {
        let priority = serde_json::to_value(job.priority).unwrap_or_default();
        let mut query = vec![
            ("circuit", job.circuit.to_string()),
            ("priority", priority.as_str().unwrap_or("normal").to_owned()),
        ];
        query.extend(job.deadline.map(|deadline| ("deadline", deadline)));
        let mut request = self
            .request(Method::POST, "/v1/jobs", ANSWER_TIMEOUT + UPLOAD_TIMEOUT)
            .query(&query)
            .header(CONTENT_TYPE, "application/octet-stream")
            .body(job.input);
        if let Some(key) = &job.idempotency_key {
            request = request.header("idempotency-key", key.as_str());
        }
        self.send(request).await
    }

    /// Reads a job, waiting up to `wait` for its end.
    pub(crate) async fn job(&self, job: JobId, wait: Duration) -> Result<JobAnswer, ClientError> {
        let mut request = self.request(
            Method::GET,
            &format!("/v1/jobs/{job}"),
            ANSWER_TIMEOUT + wait,
        );
        if !wait.is_zero() {
            request = request.query(&[("wait", format!("{}ms", wait.as_millis()))]);
        }
        self.send(request).await
    }

    /// Reads a page of jobs, newest first.
    pub(crate) async fn jobs(
        &self,
        before: Option<JobId>,
        limit: usize,
    ) -> Result<JobsAnswer, ClientError> {
        let mut query = vec![("limit", limit.to_string())];
        query.extend(before.map(|job| ("before", job.to_string())));
        let request = self
            .request(Method::GET, "/v1/jobs", ANSWER_TIMEOUT)
            .query(&query);
        self.send(request).await
    }

    /// Cancels a job.
    pub(crate) async fn cancel(&self, job: JobId) -> Result<JobAnswer, ClientError> {
        let path = format!("/v1/jobs/{job}");
        self.send(self.request(Method::DELETE, &path, ANSWER_TIMEOUT))
            .await
    }

    /// Submits an ended job again.
    pub(crate) async fn retry(&self, job: JobId) -> Result<JobAnswer, ClientError> {
        let path = format!("/v1/jobs/{job}/retry");
        self.send(self.request(Method::POST, &path, ANSWER_TIMEOUT))
            .await
    }

    /// Reads the proofs of a job.
    pub(crate) async fn proof(&self, job: JobId) -> Result<ProofAnswer, ClientError> {
        self.read(&format!("/v1/jobs/{job}/proof")).await
    }

    /// Reads the events of a job's life.
    pub(crate) async fn timeline(&self, job: JobId) -> Result<TimelineAnswer, ClientError> {
        self.read(&format!("/v1/jobs/{job}/timeline")).await
    }

    /// Reads the circuits.
    pub(crate) async fn circuits(&self) -> Result<CircuitsAnswer, ClientError> {
        self.read("/v1/circuits").await
    }

    /// Reads the workers.
    pub(crate) async fn workers(&self) -> Result<WorkersAnswer, ClientError> {
        self.read("/v1/workers").await
    }

    async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.send(self.request(Method::GET, path, ANSWER_TIMEOUT))
            .await
    }

    fn request(&self, method: Method, path: &str, limit: Duration) -> RequestBuilder {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        self.http.request(method, url).timeout(limit)
    }

    async fn send<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ClientError> {
        let unreachable = |error: reqwest::Error| ClientError::Unreachable {
            url: self.base.to_string(),
            detail: innermost(&error),
        };
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let bytes = response.bytes().await.map_err(unreachable)?;
        if status.is_success() {
            return serde_json::from_slice(&bytes)
                .map_err(|error| self.not_a_coordinator(status.as_u16(), &error.to_string()));
        }
        Err(match serde_json::from_slice::<Problem>(&bytes) {
            Ok(problem) => ClientError::Refused(Box::new(problem)),
            Err(_) => self.not_a_coordinator(status.as_u16(), &String::from_utf8_lossy(&bytes)),
        })
    }

    fn not_a_coordinator(&self, status: u16, text: &str) -> ClientError {
        ClientError::NotACoordinator {
            url: self.base.to_string(),
            status,
            excerpt: text.chars().take(EXCERPT_CHARS).collect(),
        }
    }
}

/// The cause behind the causes: what a person can act on, such as "connection refused".
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
