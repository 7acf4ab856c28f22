//! `agentloop models`: lists models, with their limits and prices.

use std::time::SystemTime;

use agentloop::{AgentLoop, ErrorKind, ModelCatalog, ModelData, ModelInfo};

use crate::failure::Failure;
use crate::output::Output;
use crate::setup::Setup;
use crate::table::Table;

/// The head of the table on a terminal.
const HEAD: [&str; 5] = ["MODEL", "CONTEXT", "OUTPUT", "$/M IN", "$/M OUT"];

/// Options of `agentloop models`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The provider, or one of its models [default: all providers that have a key or are in the configuration]
    #[arg(value_name = "PROVIDER[/MODEL]")]
    provider: Option<String>,

    /// List the models of the built-in data and of the configuration file, without using the network.
    #[arg(long)]
    known: bool,

    /// Print a JSON array with everything known about each model.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.build_client()?;
    match &args.provider {
        Some(model) if model.contains('/') => return show_model(model, &client),
        _ if args.known => return list_known(args, &client),
        _ => {}
    }
    let mut output = Output::new();
    let mut all = Vec::new();
    let mut failed = false;
    for name in select_providers(args, &client, setup) {
        match client.models(&name).await {
            Ok(models) if args.json => all.extend(models),
            Ok(models) => {
                let mut table = Table::new(HEAD);
                for model in &models {
                    let known = client.catalog().lookup(&model.provider, &model.id);
                    table.push(describe_model(model, &known.unwrap_or_default()));
                }
                table.write(&mut output)?;
                output.flush()?;
            }
            Err(error) if args.provider.is_some() => return Err(add_hint(error, &name).into()),
            // If one provider fails, the others are still listed.
            Err(error) => {
                setup.notes.print_error(&error.to_string(), error.hint());
                failed = true;
            }
        }
    }
    if args.json {
        output.write_document(&all)?;
        output.flush()?;
    }
    if failed { Err(Failure::Shown) } else { Ok(()) }
}

/// Adds a hint about `--known` to the error for a missing key.
fn add_hint(error: agentloop::Error, provider: &str) -> agentloop::Error {
    if error.kind() != ErrorKind::MissingKey {
        return error;
    }
    let known =
        format!("`agentloop models {provider} --known` lists the known models without a key");
    let hint = match error.hint() {
        Some(hint) => format!("{hint}; {known}"),
        None => known,
    };
    error.with_hint(hint)
}

/// Returns the names of the providers to query.
fn select_providers(args: &Args, client: &AgentLoop, setup: &Setup) -> Vec<String> {
    if let Some(name) = &args.provider {
        return vec![name.clone()];
    }
    let mut names = Vec::new();
    for provider in client.providers().filter(|row| setup.is_configured(row)) {
        if provider.serves.models {
            names.push(provider.name.to_string());
        } else {
            let note = format!(
                "{0} does not offer a list of its models; `agentloop models {0} --known` lists the known ones",
                provider.name
            );
            setup.notes.print_note(&note);
        }
    }
    if names.is_empty() {
        setup.notes.print_note(
            "no provider has a key, so these are the models of the simulator; `agentloop providers` lists the keys \
             that can be set, `agentloop models --known` all known models",
        );
        names.push("sim".to_owned());
    }
    names
}

/// Prints everything known about one model.
fn show_model(model: &str, client: &AgentLoop) -> Result<(), Failure> {
    let target = client.resolve(model)?;
    let name = format!("{}/{}", target.provider.name, target.model);
    let catalog = client.catalog();
    let Some(known) = catalog.lookup(&target.provider.name, &target.model) else {
        return Err(Failure::input_with_hint(
            format!("no data about the model {name}"),
            format!(
                "{}; the model can still be used, and its limits and prices can be set in agentloop.toml under \
                 [models.\"{name}\"]",
                describe_date(catalog)
            ),
        ));
    };
    let mut output = Output::new();
    output.write_document(&known)?;
    Ok(output.flush()?)
}

/// Lists the known models of one provider, or of all providers.
fn list_known(args: &Args, client: &AgentLoop) -> Result<(), Failure> {
    let catalog = client.catalog();
    let names: Vec<String> = match &args.provider {
        Some(name) => {
            if !client.providers().any(|row| row.name == name.as_str()) {
                // Returns the usual error for an unknown provider.
                client.base_url(name)?;
            }
            vec![name.clone()]
        }
        None => client.providers().map(|row| row.name.to_string()).collect(),
    };
    let models: Vec<ModelData> = names.iter().flat_map(|name| catalog.of_provider(name)).collect();
    let mut output = Output::new();
    if args.json {
        output.write_document(&models)?;
    } else {
        let mut table = Table::new(HEAD);
        models.iter().for_each(|model| table.push(describe(&model.id, None, model)));
        table.write(&mut output)?;
    }
    output.flush()?;
    match (&args.provider, models.is_empty()) {
        (Some(name), true) => Err(Failure::input_with_hint(
            format!("no data about the models of {name}"),
            describe_date(catalog),
        )),
        _ => Ok(()),
    }
}

/// Describes how old the built-in data is.
fn describe_date(catalog: &ModelCatalog) -> String {
    match catalog.date() {
        Some(day) => format!("the built-in model data is from {day}"),
        None => "the built-in model data has no date".to_owned(),
    }
}

/// Returns the row of a model. Values of the provider take precedence over the built-in data.
fn describe_model(model: &ModelInfo, known: &ModelData) -> Vec<String> {
    let mut known = known.clone();
    known.max_output_tokens = model.max_output_tokens.or(known.max_output_tokens);
    describe(&model.qualified(), model.context_window, &known)
}

fn describe(id: &str, context: Option<u64>, known: &ModelData) -> Vec<String> {
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
    let cells = columns.into_iter().take(filled);
    let cells = cells.map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
    std::iter::once(id.to_owned()).chain(cells).collect()
}
