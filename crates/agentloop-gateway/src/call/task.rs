//! Images, speech, transcripts, rankings and moderations.
//!
//! These requests are always translated: a form is read, and written again for the provider. Fields that the library does not know are
//! passed on.

use agentloop::protocol::serve::{ServedTask, TaskForm, read_task, write_task};
use agentloop::relay::{RelayError, sent_once};
use agentloop::{Task, TaskResponse, TaskStream};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};

use super::attempt::Attempts;
use super::{Call, chat, failure, headers, refuse};
use crate::account::{Estimate, Hold};
use crate::route::{Busy, Member, Plan};
use crate::stream::{GatewayBody, Spoken, Streamed, TaskEvents, now};

/// The response of one attempt.
enum Begun {
    Complete(Box<TaskResponse>),
    Stream(TaskStream),
}

/// Responds to a request.
pub(super) async fn run(mut call: Box<Call>) -> Response<GatewayBody> {
    let protocol = call.api.protocol;
    let (mut served, plan) = match read(&call) {
        Ok(read) => read,
        Err(error) => return refuse(call.record, protocol, failure::for_client(&error)),
    };
    served.task.model().clone_into(&mut call.record.model);
    call.record.is_stream = served.stream;
    call.record.follow(&call.state.live);
    if plan.options.strict {
        served.task.set_strict();
    }
    let estimate = Estimate::of_task(&served.task);
    call.record.counts_as = Estimate::of_response(&served.task);
    if let Err(error) = call.enter(&estimate).await {
        return refuse(call.record, protocol, error);
    }
    let mut attempts = Attempts::new(plan);
    let begun = begin_any(&call, &served, &estimate, &mut attempts).await;
    call.record.attempts = attempts.count;
    match begun {
        Ok((begun, member, busy, hold)) => {
            call.record.provider = Some(member.provider().to_owned());
            call.record.served = Some(member.full_name());
            call.record.hold = Some(hold);
            match begun {
                Begun::Complete(response) => complete(*call, &response, served.form),
                Begun::Stream(events) => pass_on(*call, events, &served, busy),
            }
        }
        Err(failed) => chat::fail(call.record, protocol, failed),
    }
}

fn read(call: &Call) -> Result<(ServedTask, Plan), agentloop::Error> {
    let kind = call.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let served = read_task(&call.api.path, kind.unwrap_or("application/json"), &call.body)?;
    chat::check_model(served.task.model())?;
    let plan = chat::plan_for(call, served.task.model(), 0)?;
    Ok((served, plan))
}

async fn begin_any(
    call: &Call,
    served: &ServedTask,
    estimate: &Estimate,
    attempts: &mut Attempts,
) -> Result<(Begun, Member, Busy, Hold), RelayError> {
    loop {
        let (member, busy, hold) = attempts.reserve(call, estimate).await?;
        let begun = sent_once(begin(served, &member)).await;
        if let Some((begun, hold)) = attempts.settle(&member, hold, begun).await? {
            return Ok((begun, member, busy, hold));
        }
    }
}

async fn begin(served: &ServedTask, member: &Member) -> Result<Begun, RelayError> {
    let client = &member.slot.client;
    let mut task = served.task.clone();
    task.set_model(&member.model);
    // Audio is passed on as it arrives, also if the client reads it as one body.
    if served.stream || matches!(task, Task::Speech(_)) {
        return Ok(Begun::Stream(client.task_stream(task).await?));
    }
    Ok(Begun::Complete(Box::new(client.task(task).await?)))
}

/// Responds with a complete response.
fn complete(mut call: Call, response: &TaskResponse, form: TaskForm) -> Response<GatewayBody> {
    let record = &mut call.record;
    record.usage = response.usage().cloned();
    record.cost = response.cost().cloned();
    if !can_be_written(response, form) {
        let message = "the provider returned no times, which subtitles need";
        let error = agentloop::Error::new(agentloop::ErrorKind::Protocol, message);
        let error = error.with_hint("use the response_format json or text");
        return refuse(call.record, call.api.protocol, failure::for_client(&error));
    }
    record.is_complete = true;
    let served = write_task(response, form, u64::try_from(now()).unwrap_or_default());
    record.saw_bytes(served.body.len());
    call.record.finish();
    let mut shown = Response::new(GatewayBody::whole(served.body));
    if let Ok(kind) = HeaderValue::from_str(&served.content_type) {
        shown.headers_mut().insert(CONTENT_TYPE, kind);
    }
    headers::warn(shown.headers_mut(), response.warnings());
    shown
}

/// Returns whether the response has what its form needs: subtitles need times.
fn can_be_written(response: &TaskResponse, form: TaskForm) -> bool {
    match (response, form) {
        (TaskResponse::Transcribe(response), TaskForm::Srt) => response.srt().is_some(),
        (TaskResponse::Transcribe(response), TaskForm::Vtt) => response.vtt().is_some(),
        _ => true,
    }
}

/// Passes events on, or the audio alone.
fn pass_on(
    call: Call,
    events: TaskStream,
    served: &ServedTask,
    busy: Busy,
) -> Response<GatewayBody> {
    let state = &call.state;
    let warnings = events.warnings().to_vec();
    let (kind, body) = if served.stream {
        let source = Box::new(TaskEvents::new(events, call.api.protocol));
        let (framing, keep_alive) = (Default::default(), state.keep_alive);
        let drain = std::time::Duration::ZERO;
        let streamed = Streamed::new(source, framing, keep_alive, drain, call.record, busy);
        (HeaderValue::from_static("text/event-stream"), GatewayBody::stream(streamed))
    } else {
        let kind = HeaderValue::from_str(events.mime_type());
        let kind = kind.unwrap_or(HeaderValue::from_static("application/octet-stream"));
        (kind, GatewayBody::pages(Box::pin(Spoken::new(events, call.record, busy))))
    };
    let mut shown = Response::new(body);
    shown.headers_mut().insert(CONTENT_TYPE, kind);
    headers::warn(shown.headers_mut(), &warnings);
    shown
}
