//! `agentloop chat`: sends a prompt to a model and prints the response.

mod args;
mod attachments;
mod save;
mod show;

use agentloop::ChatStream;

pub(crate) use self::args::Args;
use self::show::{Format, Show};
use crate::failure::Failure;
use crate::model::choose_model;
use crate::setup::Setup;

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.build_client_with(args.retries, !args.fallbacks.is_empty())?;
    let typed = args.model.clone();
    let format = match (args.json, args.events) {
        (true, _) => Format::Json,
        (_, true) => Format::Events,
        _ => Format::Text,
    };
    let no_stream = args.no_stream;
    let (schema, save) = (args.schema.clone(), args.save.clone());
    let mut request = args.into_request(setup)?;
    request.model = choose_model(typed.as_deref(), &client, setup)?;
    let mut show = Show::new(format, save, setup.notes);
    if let Some(schema) = schema {
        return match client.chat_structured_as(schema, request).await {
            Ok(structured) => show.show_structured(&structured),
            Err(error) => show.show_error(error),
        };
    }
    let stream = if no_stream {
        let response = client.chat(request).await;
        response.map(|response| ChatStream::from_response(&response))
    } else {
        client.stream(request).await
    };
    match stream {
        Ok(stream) => show.show_stream(stream).await,
        Err(error) => show.show_error(error),
    }
}
