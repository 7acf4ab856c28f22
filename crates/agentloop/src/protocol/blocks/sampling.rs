//! How tokens are chosen, and when to stop.

use crate::chat::ChatRequest;
use crate::error::Result;
use crate::protocol::params::ParamWriter;
use crate::provider::model::ModelTraits;
use crate::provider::{Param, Sampling};

/// Returns why the model accepts no sampling parameters, if it does not.
pub(in crate::protocol) fn refusal(
    model: &str,
    traits: &ModelTraits,
    thinks: bool,
) -> Option<String> {
    if traits.sampling != Sampling::Free {
        Some(format!("{model} does not accept it"))
    } else if thinks {
        Some(format!("{model} does not accept it while it thinks"))
    } else {
        None
    }
}

/// Writes the sampling parameters, or drops them if they are `refused`.
pub(in crate::protocol) fn put(
    params: &mut ParamWriter<'_>,
    request: &ChatRequest,
    thinks: bool,
    refused: Option<&String>,
) -> Result<()> {
    let is_one =
        request.temperature.is_some_and(|temperature| (temperature - 1.0).abs() < f64::EPSILON);
    for param in [Param::Temperature, Param::TopP, Param::TopK] {
        match refused {
            None => params.copy(request, param)?,
            // A model that thinks has a temperature of 1 anyway.
            Some(_) if thinks && param == Param::Temperature && is_one => {}
            Some(why) if request.has(param) => params.drop(param.name(), why),
            Some(_) => {}
        }
    }
    Ok(())
}

/// Writes the sequences that end a response. A blank one is refused, and would stop nothing that matters.
pub(in crate::protocol) fn put_stops(params: &mut ParamWriter<'_>, stops: &[String]) -> Result<()> {
    let taken: Vec<&String> = stops.iter().filter(|stop| !stop.trim().is_empty()).collect();
    if taken.len() < stops.len() {
        params.drop("stop", "a sequence of only white space is not accepted");
    }
    params.put(Param::Stop, (!taken.is_empty()).then_some(&taken)).map(drop)
}
