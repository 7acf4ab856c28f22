//! `agentloop chat`: sends a prompt to a model and prints the response.

mod args;
mod attachments;
mod parameters;
mod request;
mod show;

use agentloop::ChatStream;

pub(crate) use self::args::Args;
pub(in crate::command) use self::args::OutputArgs;
pub(in crate::command) use self::parameters::{Parameters, parse_schema, parse_seconds};
pub(in crate::command) use self::request::{Base, EXAMPLE};
use self::show::Show;
pub(in crate::command) use self::show::{Format, print_code};
use crate::failure::Failure;
use crate::setup::Setup;

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.build_client_for(&args.parameters.fallbacks, args.parameters.retries)?;
    let mut recorder = setup.record(&args.history)?;
    let base = Base::continuing(recorder.earlier_request());
    let request = args.build_request(base, &client, setup).await?;
    recorder.begin(&request);
    let format = args.output.format();
    let catalog = client.catalog().clone();
    let (save, screen) = (args.output.save_media, args.output.screen);
    let mut show = Show::new(format, save, screen, catalog, setup.notes);
    setup.notes.show_wait(&format!("waiting for {}", request.model));
    if let Some(schema) = args.output.schema {
        return match client.chat_structured_as(schema, request).await {
            Ok(structured) => {
                recorder.finish(&structured.response);
                show.show_structured(&structured)
            }
            Err(error) => {
                recorder.fail(&error);
                show.show_error(error)
            }
        };
    }
    let stream = if args.output.no_stream {
        let response = client.chat(request).await;
        response.map(|response| ChatStream::from_response(&response))
    } else {
        client.stream(request).await
    };
    match stream {
        Ok(stream) => show.show_stream(recorder.follow(stream)).await,
        Err(error) => {
            recorder.fail(&error);
            show.show_error(error)
        }
    }
}
