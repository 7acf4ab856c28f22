//! The cost of a hostile provider: memory by the bytes it sends, and work by their number.

mod bodies;
mod cases;
mod counts;
mod endless;
mod frames;
mod hostile;
mod laws;
mod modalities;

use agentloop::inspect::{self, DecodeOptions, HttpResponse};
use agentloop::{AgentLoop, ChatStreamEvent, Result};
use allocation_counter::AllocationInfo;
use bodies::Sent;
use bytes::Bytes;

use crate::support::now;

/// Reads a response event by event, and keeps none of them but the last.
fn read(sent: &Sent) -> (Result<Option<ChatStreamEvent>>, AllocationInfo) {
    let ai = AgentLoop::builder().build().unwrap();
    let mut options = DecodeOptions::new(sent.provider);
    options.model = Some(sent.model.to_owned());
    options.stream = sent.stream;
    options.protocol = sent.protocol;
    let mut outcome = Ok(None);
    let info = allocation_counter::measure(|| {
        let mut answer = HttpResponse::new(Bytes::new());
        answer.pieces = sent.pieces.clone();
        outcome = (|| {
            let mut last = None;
            let mut stream = inspect::decode(&ai, &options, answer)?;
            while let Some(event) = now(stream.next()) {
                last = Some(event?);
            }
            Ok(last)
        })();
    });
    (outcome, info)
}
