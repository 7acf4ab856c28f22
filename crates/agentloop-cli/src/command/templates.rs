//! `agentloop templates`: lists the user's templates, or shows one.

use crate::failure::Failure;
use crate::output::Output;
use crate::template;

/// Options of `agentloop templates`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show this template instead of the list.
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

pub(crate) fn run(args: &Args, notes: crate::notes::Notes) -> Result<(), Failure> {
    let mut output = Output::new();
    if let Some(name) = &args.name {
        let found = template::find(name)?;
        let variables = found.variables();
        output.write_untrusted(&found.describe())?;
        output.flush()?;
        if !variables.is_empty() {
            notes.print_note(&format!("variables, to set with --var: {}", variables.join(", ")));
        }
        return Ok(());
    }
    let names = template::list();
    for name in &names {
        // A template that cannot be read is listed, so that its error can be found.
        let description = template::find(name)
            .ok()
            .and_then(|template| template.settings.description)
            .map(|description| format!("\t{}", description.replace(['\n', '\t'], " ")))
            .unwrap_or_default();
        output.write_untrusted(&format!("{name}{description}\n"))?;
    }
    output.flush()?;
    if names.is_empty()
        && let Some(folder) = template::templates_folder()
    {
        notes.print_note(&format!(
            "there are no templates; write one to {}, for example {}",
            folder.display(),
            folder.join("review.md").display()
        ));
    }
    Ok(())
}
