//! Prints the result of a run as JSON.

use agentloop::agent::Outcome;
use serde_json::{Value, json};

use crate::command::chat::OutputArgs;
use crate::failure::Failure;
use crate::output::Output;

/// Prints the result: the value that matches the schema, or the last response with the run.
///
/// An error that ended the run is printed as `{"error": {…}}`.
pub(super) fn print_result(outcome: &Outcome, args: &OutputArgs) -> Result<(), Failure> {
    let mut output = Output::new();
    match (&outcome.error, &outcome.output) {
        (Some(error), _) if args.json => output.write_error(error)?,
        (Some(_), _) => {}
        (None, Some(data)) if !args.json => output.write_document(data)?,
        (None, _) if !args.json => {}
        (None, Some(data)) => {
            let mut document = describe_run(outcome)?;
            document["data"] = data.clone();
            output.write_document(&document)?;
        }
        (None, None) => output.write_document(&describe_run(outcome)?)?,
    }
    Ok(output.flush()?)
}

/// Returns the last response, with the run in the field `run`.
fn describe_run(outcome: &Outcome) -> Result<Value, Failure> {
    let to_value = |error: serde_json::Error| Failure::Output(error.into());
    let mut run = serde_json::to_value(outcome).map_err(to_value)?;
    let mut document = match run.as_object_mut().and_then(|fields| fields.remove("response")) {
        Some(response) => response,
        None => json!({}),
    };
    document["run"] = run;
    Ok(document)
}
