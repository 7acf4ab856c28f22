//! The laws over real traffic: every recording, wire by wire.
//!
//! The recordings are not part of the project. They are read from `../shared/recordings` beside the checkout, or
//! from the folder that `AGENTLOOP_RECORDINGS` names; without them these tests say that they were skipped.

/// The laws over the recordings of a wire, and `agrees`, a second reading of it.
macro_rules! laws_of {
    ($wire:literal, $agrees:path) => {
        mod laws_hold {
            use crate::recordings::{features, laws, over};

            #[test]
            fn every_recording_decodes() {
                over($wire, laws::decodes);
            }

            #[test]
            fn the_features_of_a_recording_are_in_the_response() {
                over($wire, features::are_there);
            }

            #[test]
            fn nothing_on_the_wire_is_lost() {
                over($wire, $agrees);
            }

            #[test]
            fn however_the_bytes_are_cut_the_events_are_the_same() {
                over($wire, laws::cuts_are_invisible);
            }

            #[test]
            fn a_repeated_frame_is_read_as_if_it_was_parsed() {
                over($wire, laws::a_repeated_frame_is_read_as_if_it_was_parsed);
            }

            #[test]
            fn a_stream_that_is_cut_off_is_never_a_response() {
                over($wire, laws::a_cut_stream_is_an_error);
            }

            #[test]
            fn events_follow_the_grammar_and_fold_into_the_response() {
                over($wire, laws::grammar);
            }

            #[test]
            fn folding_an_unfolded_response_returns_the_response() {
                over($wire, laws::unfold_and_fold);
            }

            #[test]
            fn responses_and_events_survive_json() {
                over($wire, laws::json_round_trip);
            }

            #[test]
            fn usage_means_the_same_everywhere() {
                over($wire, laws::usage_invariants);
            }
        }
    };
}

mod anthropic;
mod bedrock;
mod cohere;
pub(crate) mod corpus;
mod embeddings;
mod errors;
mod features;
mod gemini;
mod history;
mod invoke;
mod laws;
mod leaves;
mod ollama;
mod oracle;
mod replayed;
mod responses;
mod shortened;
mod totals;

use agentloop::ChatResponse;
use corpus::{Recording, recordings};

/// Runs `check` over the recordings of a wire and reports all that fail.
fn over(wire: &str, check: impl Fn(&Recording) -> Result<(), String>) {
    let Some(recordings) = recordings(wire) else {
        println!("skipped: there is no folder of recordings beside the checkout");
        return;
    };
    assert!(!recordings.is_empty(), "no recordings of {wire}");
    let failures: Vec<String> = recordings
        .iter()
        .filter_map(|recording| {
            check(recording).err().map(|what| format!("{}: {what}", recording.id))
        })
        .collect();
    println!("{} recordings of {wire}", recordings.len());
    assert!(
        failures.is_empty(),
        "{} of {} fail:\n{}",
        failures.len(),
        recordings.len(),
        failures.join("\n")
    );
}

/// Compares what is read of a response with a second, naive reading of its bytes.
fn agree<T: std::fmt::Debug + PartialEq>(
    recording: &Recording,
    of_response: impl Fn(&ChatResponse) -> T,
    of_wire: impl Fn(&Recording) -> T,
) -> Result<(), String> {
    if !recording.is_answer() {
        return Ok(());
    }
    let decoded = recording.decode();
    let (read, wire) = (of_response(decoded.response()?), of_wire(recording));
    if read == wire { Ok(()) } else { Err(format!("read:\n{read:#?}\nwire:\n{wire:#?}")) }
}

laws_of!("openai-chat", crate::recordings::oracle::agrees);
