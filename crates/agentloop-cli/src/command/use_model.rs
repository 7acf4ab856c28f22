//! `agentloop use`: sets the default model in the user's configuration.

use crate::failure::Failure;
use crate::model;
use crate::output::Output;
use crate::setup::Setup;
use crate::user_config;

/// Options of `agentloop use`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The model: provider/model, an alias, the name of a model or a provider [default: print the current default]
    #[arg(value_name = "MODEL")]
    model: Option<String>,
}

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let Some(typed) = &args.model else { return show_default(setup) };
    let client = setup.build_client()?;
    let model = model::complete_name(typed.trim(), &client, setup).await?;
    // An unknown provider is an error here, and not at the next call.
    client.resolve(&model)?;
    set_default(&model, setup)
}

/// Writes the default model to the user's configuration.
pub(crate) fn set_default(model: &str, setup: &Setup) -> Result<(), Failure> {
    let path = user_config::set_default_model(model, setup)?;
    setup.notes.print_note(&format!("{model} is the default model now, in {}", path.display()));
    if std::env::var_os(model::VARIABLE).is_some_and(|value| !value.is_empty()) {
        setup.notes.print_note(&format!("the variable {} overrides it here", model::VARIABLE));
    } else if let Some(file) = setup.overriding_default(&path) {
        setup.notes.print_note(&format!("{} overrides it here", file.display()));
    }
    Ok(())
}

fn show_default(setup: &Setup) -> Result<(), Failure> {
    let Some(name) = model::default_name(setup) else {
        return Err(Failure::input_with_hint(
            "no default model is set",
            "set one with `agentloop use MODEL`",
        ));
    };
    let mut output = Output::new();
    output.write_untrusted(&format!("{name}\n"))?;
    Ok(output.flush()?)
}
