//! Real servers of the tests' own. They end with the process of the test, also if it is killed.

#![allow(dead_code, reason = "the tests of the library and those over sockets use different parts")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

#[path = "../../../agentloop/tests/it/support/folder.rs"]
pub(crate) mod folder;
#[path = "../../../agentloop/tests/it/support/patience.rs"]
pub(crate) mod patience;
#[path = "../../../agentloop/tests/it/support/port.rs"]
pub(crate) mod port;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "postgres")]
pub(crate) mod proxy;
#[cfg(feature = "redis")]
#[path = "../../../agentloop/tests/it/support/redis.rs"]
pub(crate) mod redis;
