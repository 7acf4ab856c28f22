//! The readers. One more is one more row, and the file of its sources is no longer found by the test that looks for readers.

mod exceptions;
mod files;
mod gateway;
mod requests;
mod responses;

use super::Reader;

pub use exceptions::NO_READERS;

/// All of them, by area.
pub const READERS: &[&[Reader]] = &[
    responses::RESPONSES,
    responses::FRAMING,
    requests::CLIENTS,
    requests::BODIES,
    files::FILES,
    gateway::GATEWAY,
    gateway::GATEWAY_FILES,
    gateway::TRANSLATIONS,
];
