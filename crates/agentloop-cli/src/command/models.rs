//! `agentloop models`: what is served.

use agentloop::{AgentLoop, ModelInfo};

use crate::failure::Failure;
use crate::output::Output;
use crate::setup::Setup;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The provider; without one, every provider that is set up.
    #[arg(value_name = "PROVIDER")]
    provider: Option<String>,

    /// A JSON list, with all that is known of each model.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.client()?;
    let mut output = Output::new();
    let mut all = Vec::new();
    let mut failed = false;
    for name in names(args, &client, setup) {
        match client.models(&name).await {
            Ok(models) if args.json => all.extend(models),
            Ok(models) => {
                for model in &models {
                    output.foreign(&line(model))?;
                }
                output.flush()?;
            }
            Err(error) if args.provider.is_some() => return Err(error.into()),
            // One provider that does not answer keeps none of the others back.
            Err(error) => {
                setup.notes.error(&error.to_string(), error.hint());
                failed = true;
            }
        }
    }
    if args.json {
        output.document(&all)?;
        output.flush()?;
    }
    if failed { Err(Failure::Shown) } else { Ok(()) }
}

/// The providers to ask.
fn names(args: &Args, client: &AgentLoop, setup: &Setup) -> Vec<String> {
    if let Some(name) = &args.provider {
        return vec![name.clone()];
    }
    let mut names = Vec::new();
    for provider in client.providers().filter(|row| setup.is_set_up(row)) {
        if provider.serves.models {
            names.push(provider.name.to_string());
        } else {
            let note = format!("{} has no list of its models", provider.name);
            setup.notes.note(&note);
        }
    }
    if names.is_empty() {
        setup.notes.note(
            "no provider is set up: these are the simulator's models; `agentloop providers` says which \
             keys are looked for",
        );
        names.push("sim".to_owned());
    }
    names
}

fn line(model: &ModelInfo) -> String {
    match model.context_window {
        Some(tokens) => format!("{}\t{tokens}\n", model.qualified()),
        None => model.qualified() + "\n",
    }
}
