//! The errors that all stores return for the same reasons.

use agentloop::{Error, ErrorKind};

/// The name of a new key belongs to another one.
pub(crate) fn name_is_taken(name: &str) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("there is a key with the name `{name}` already"))
        .with_hint("choose another name, or revoke that key first")
}

/// The hash of a new key belongs to another one.
pub(crate) fn hash_is_taken() -> Error {
    Error::new(ErrorKind::InvalidRequest, "there is a key with the same value already")
        .with_hint("a revoked key cannot be used again: create a new one")
}

/// There is no key of this name that is not revoked.
pub(crate) fn no_such_key(name: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no key with the name `{name}`"))
        .with_hint("`agentloop keys list` lists the keys")
}

/// A team cannot be removed.
pub(crate) fn team_has_keys(team: &str, key: &str) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("the key `{key}` belongs to the team `{team}`"))
        .with_hint("revoke the keys of the team first, or move them to another one")
}
