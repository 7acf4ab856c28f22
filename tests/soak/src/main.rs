//! `soak [--minutes N | --seconds N] [--at-once N]`: see the library.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool reports to the one who runs it"
)]

use std::process::ExitCode;
use std::time::Duration;

use soak::Plan;

fn main() -> ExitCode {
    let outcome = plan(std::env::args().skip(1)).and_then(|plan| {
        let report = soak::run(plan).map_err(|error| error.to_string())?;
        println!("{report}");
        Ok(report.broken.is_empty())
    });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("soak: {message}");
            ExitCode::from(2)
        }
    }
}

fn plan(mut arguments: impl Iterator<Item = String>) -> Result<Plan, String> {
    let mut plan = Plan::lasting(Duration::from_secs(30 * 60));
    while let Some(name) = arguments.next() {
        let number = arguments.next().and_then(|text| text.parse::<u64>().ok());
        let number = number.ok_or_else(|| format!("`{name}` needs a number"))?;
        let at_once = plan.at_once;
        match name.as_str() {
            "--minutes" => plan = Plan::lasting(Duration::from_secs(60 * number)),
            "--seconds" => plan = Plan::lasting(Duration::from_secs(number)),
            "--at-once" => {}
            _ => return Err(format!("`{name}` is not known: --minutes, --seconds, --at-once")),
        }
        plan.at_once = if name == "--at-once" { number } else { at_once };
    }
    Ok(plan)
}
