//! The engine of a build without it: every job fails.

use std::path::Path;

use agentloop::{Error, ErrorKind, Result};

use crate::job::Job;
use crate::local::Options;

/// An engine that has no models.
#[derive(Debug)]
pub(crate) struct Engine;

/// Wakes nothing, because there is no thread.
#[derive(Clone, Debug)]
pub(crate) struct Wake;

impl Wake {
    pub(crate) fn wake(&self) {}
}

impl Engine {
    pub(crate) fn new(_: Options) -> Self {
        Self
    }

    pub(crate) fn submit(&self, _: &Path, _: Job) -> Result<Wake> {
        Err(Error::new(
            ErrorKind::Unsupported,
            "this program was built without the engine for local models",
        )
        .with_hint(
            "build the command with `cargo install agentloop-cli --features local`, or a program with the feature `llama` of \
             agentloop-local; that needs CMake, a C++ compiler and libclang",
        ))
    }
}
