//! Files with calls that read, which read nothing of others.

use super::super::NoReader;

/// Each with the reason.
pub const NO_READERS: &[NoReader] = &[
    (
        "agentloop-gateway/src/store/postgres/keys.rs",
        "the records of the database that its reader covers for SQLite",
    ),
    (
        "agentloop-gateway/src/store/postgres/url.rs",
        "the URL of the database, which the operator of the gateway sets",
    ),
    (
        "agentloop/src/middleware/cache/value.rs",
        "what the cache has stored itself; CACHE_MAX_VALUE_BYTES bounds it",
    ),
    (
        "agentloop/src/client/relay/mod.rs",
        "a request that the gateway has read before; its reader covers it",
    ),
];
