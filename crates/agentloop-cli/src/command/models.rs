//! `agentloop models`: what is served.

use std::time::SystemTime;

use agentloop::{AgentLoop, ModelCatalog, ModelData, ModelInfo};

use crate::failure::Failure;
use crate::output::Output;
use crate::setup::Setup;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The provider, or one of its models; without one, every provider that is set up.
    #[arg(value_name = "PROVIDER[/MODEL]")]
    provider: Option<String>,

    /// The models of the data that the program carries, and of the configuration file. No network is used.
    #[arg(long)]
    known: bool,

    /// A JSON list, with all that is known of each model.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.client()?;
    match &args.provider {
        Some(model) if model.contains('/') => return show(model, &client),
        _ if args.known => return known(args, &client),
        _ => {}
    }
    let mut output = Output::new();
    let mut all = Vec::new();
    let mut failed = false;
    for name in names(args, &client, setup) {
        match client.models(&name).await {
            Ok(models) if args.json => all.extend(models),
            Ok(models) => {
                for model in &models {
                    let known = client.catalog().lookup(&model.provider, &model.id);
                    output.foreign(&line(model, &known.unwrap_or_default()))?;
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

/// All that is known of one model.
fn show(model: &str, client: &AgentLoop) -> Result<(), Failure> {
    let target = client.resolve(model)?;
    let name = format!("{}/{}", target.provider.name, target.model);
    let catalog = client.catalog();
    let Some(known) = catalog.lookup(&target.provider.name, &target.model) else {
        return Err(Failure::input_with_hint(
            format!("nothing is known of {name}"),
            format!(
                "{}; it can be used all the same, and what you know of it goes into agentloop.toml, under \
                 [models.\"{name}\"]",
                made(catalog)
            ),
        ));
    };
    let mut output = Output::new();
    output.document(&known)?;
    Ok(output.flush()?)
}

/// What is known of the models of one provider, or of all.
fn known(args: &Args, client: &AgentLoop) -> Result<(), Failure> {
    let catalog = client.catalog();
    let names: Vec<String> = match &args.provider {
        Some(name) => {
            if !client.providers().any(|row| row.name == name.as_str()) {
                // It is not known, and that is told as everywhere.
                client.base_url(name)?;
            }
            vec![name.clone()]
        }
        None => client.providers().map(|row| row.name.to_string()).collect(),
    };
    let models: Vec<ModelData> = names.iter().flat_map(|name| catalog.of_provider(name)).collect();
    let mut output = Output::new();
    if args.json {
        output.document(&models)?;
    } else {
        for model in &models {
            output.text(&columns(&model.id, None, model))?;
        }
    }
    output.flush()?;
    match (&args.provider, models.is_empty()) {
        (Some(name), true) => {
            Err(Failure::input_with_hint(format!("no model of {name} is known"), made(catalog)))
        }
        _ => Ok(()),
    }
}

/// How old the data is.
fn made(catalog: &ModelCatalog) -> String {
    match catalog.date() {
        Some(day) => format!("the data is of {day}"),
        None => "the data has no date".to_owned(),
    }
}

/// What the provider says counts, and what it does not say comes from the data.
fn line(model: &ModelInfo, known: &ModelData) -> String {
    let mut known = known.clone();
    known.max_output_tokens = model.max_output_tokens.or(known.max_output_tokens);
    columns(&model.qualified(), model.context_window, &known)
}

fn columns(id: &str, context: Option<u64>, known: &ModelData) -> String {
    let price = known.price(0, SystemTime::now(), None).map(|price| price.per_million);
    let count = |count: Option<u64>| count.map(|count| count.to_string());
    let usd = |usd: Option<agentloop::Usd>| usd.map(|usd| usd.to_string());
    let columns = [
        count(context.or(known.context_window)),
        count(known.max_output_tokens),
        usd(price.and_then(|price| price.input)),
        usd(price.and_then(|price| price.output)),
    ];
    let filled = columns.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    let mut line = id.to_owned();
    for column in &columns[..filled] {
        line.push('\t');
        line.push_str(column.as_deref().unwrap_or("-"));
    }
    line + "\n"
}
