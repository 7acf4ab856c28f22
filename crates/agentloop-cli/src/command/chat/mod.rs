//! `agentloop chat`: ask, and show the answer as it comes.

mod args;
mod attached;
mod save;
mod show;

use agentloop::ChatStream;

pub(crate) use self::args::Args;
use self::show::{Form, Show};
use super::model;
use crate::failure::Failure;
use crate::setup::Setup;

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.client_that(args.retries, !args.fallbacks.is_empty())?;
    let typed = args.model.clone();
    let form = match (args.json, args.events) {
        (true, _) => Form::Json,
        (_, true) => Form::Events,
        _ => Form::Text,
    };
    let no_stream = args.no_stream;
    let (schema, save) = (args.schema.clone(), args.save.clone());
    let mut request = args.request(setup)?;
    request.model = model::choose(typed.as_deref(), &client, setup)?;
    let mut show = Show::new(form, setup.notes).saving(save);
    if let Some(schema) = schema {
        return match client.chat_structured_as(schema, request).await {
            Ok(answer) => show.structured(&answer),
            Err(error) => show.failed(error),
        };
    }
    let stream = if no_stream {
        let whole = client.chat(request).await;
        whole.map(|response| ChatStream::from_response(&response))
    } else {
        client.stream(request).await
    };
    match stream {
        Ok(stream) => show.all(stream).await,
        Err(error) => show.failed(error),
    }
}
