//! `GET /v1/jobs/{id}/events`: a job's changes as server-sent events, the current state first.

use actix_web::HttpResponse;
use actix_web::web::{Bytes, Data};
use futures::Stream;
use futures::stream::unfold;
use proofmill_shared::protocol::JobId;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::timeout;

use super::answer::JobAnswer;
use super::limits::EVENTS_HEARTBEAT;
use super::path::JobPath;
use super::problem::{Problem, Refusal};
use super::server::ApiState;
use crate::handle::{CoordinatorError, CoordinatorHandle, JobChange};
use crate::view::JobView;

/// A comment line: keeps proxies from closing a quiet stream, and shows a gone client.
const HEARTBEAT: Bytes = Bytes::from_static(b": still here\n\n");

/// Streams a job's changes: `event: job`, data as of `GET /v1/jobs/{id}`; ends after a terminal state.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/events",
    params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, body = String, content_type = "text/event-stream"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn job_events(
    state: Data<ApiState>,
    job: JobPath,
) -> Result<HttpResponse, Refusal> {
    let mut changes = state.handle.subscribe();
    let view = current(&state.handle, job.0, &mut changes).await?;
    let follower = Follower {
        handle: state.handle.clone(),
        job: job.0,
        changes,
        unsent: Some(view.clone()),
        last: view,
    };
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .streaming(follower.stream()))
}

/// Reads where a job stands, and forgets the changes that led there, so that its state never seems to go back.
async fn current(
    handle: &CoordinatorHandle,
    job: JobId,
    changes: &mut Receiver<JobChange>,
) -> Result<JobView, CoordinatorError> {
    let mut view = handle.job(job).await?;
    loop {
        match changes.try_recv() {
            Ok(change) if change.job == job => view = JobView::clone(&change.view),
            Ok(_) => {}
            Err(TryRecvError::Lagged(_)) => view = handle.job(job).await?,
            Err(TryRecvError::Empty | TryRecvError::Closed) => return Ok(view),
        }
    }
}

/// One client that follows one job.
struct Follower {
    handle: CoordinatorHandle,
    job: JobId,
    changes: Receiver<JobChange>,
    unsent: Option<JobView>,
    last: JobView,
}

impl Follower {
    fn stream(self) -> impl Stream<Item = Result<Bytes, actix_web::Error>> {
        unfold(self, |mut follower| async move {
            let piece = follower.next().await?;
            Some((Ok(piece), follower))
        })
    }

    /// The next piece of the stream; `None` ends it.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(view) = self.unsent.take() {
            return event(view);
        }
        if self.last.state.is_terminal() {
            return None;
        }
        loop {
            let Ok(received) = timeout(EVENTS_HEARTBEAT, self.changes.recv()).await else {
                return Some(HEARTBEAT);
            };
            let view = match received {
                Ok(change) if change.job == self.job => JobView::clone(&change.view),
                Ok(_) => continue,
                Err(RecvError::Lagged(_)) => current(&self.handle, self.job, &mut self.changes)
                    .await
                    .ok()?,
                Err(RecvError::Closed) => return None,
            };
            if view != self.last {
                self.last = view.clone();
                return event(view);
            }
        }
    }
}

fn event(view: JobView) -> Option<Bytes> {
    let data = serde_json::to_string(&JobAnswer::from(view)).ok()?;
    Some(Bytes::from(format!("event: job\ndata: {data}\n\n")))
}
