//! The Redis server that several gateways share limits and budgets through.

use std::sync::Arc;

use agentloop::{GatewayConfig, GatewayRedis, Secret};
use agentloop_gateway::{Accounts, Store};

use crate::failure::Failure;

/// Checks what the configuration says about Redis. No server is asked.
pub(crate) fn check(config: &GatewayConfig) -> Result<(), Failure> {
    match url(config)? {
        Some((url, _)) => check_url(&url),
        None => Ok(()),
    }
}

/// Connects the accounts of the gateway to Redis, if the configuration names one.
pub(crate) async fn join(
    accounts: &Accounts,
    config: &GatewayConfig,
    store: Arc<dyn Store>,
) -> Result<(), Failure> {
    let Some((url, settings)) = url(config)? else { return Ok(()) };
    check_url(&url)?;
    connect(accounts, &url, settings, store).await
}

/// Reads the URL of the server. It may contain a password, so no message shows it.
fn url(config: &GatewayConfig) -> Result<Option<(Secret, &GatewayRedis)>, Failure> {
    let Some(settings) = &config.redis else { return Ok(None) };
    let hint = "for example redis://:PASSWORD@HOST:6379/0";
    let Some(variable) = &settings.url_env else {
        return Err(Failure::input_with_hint(
            "gateway.redis: `url_env` is missing",
            format!("name the environment variable that has the URL of the server, {hint}"),
        ));
    };
    match std::env::var(variable).ok().filter(|url| !url.trim().is_empty()) {
        Some(url) => Ok(Some((Secret::new(url.trim()), settings))),
        None => Err(Failure::input_with_hint(
            format!("gateway.redis.url_env: the environment variable {variable} is not set"),
            format!("set it to the URL of the server, {hint}"),
        )),
    }
}

#[cfg(feature = "redis")]
fn check_url(url: &Secret) -> Result<(), Failure> {
    Ok(Accounts::check_redis(url)?)
}

#[cfg(feature = "redis")]
async fn connect(
    accounts: &Accounts,
    url: &Secret,
    settings: &GatewayRedis,
    store: Arc<dyn Store>,
) -> Result<(), Failure> {
    Ok(accounts.join_redis(url, settings, store).await?)
}

#[cfg(not(feature = "redis"))]
fn check_url(_: &Secret) -> Result<(), Failure> {
    Err(Failure::input_with_hint(
        "gateway.redis: this build of agentloop has no Redis",
        "install one that has: `cargo install agentloop-cli --features redis`",
    ))
}

#[cfg(not(feature = "redis"))]
async fn connect(
    _: &Accounts,
    url: &Secret,
    _: &GatewayRedis,
    _: Arc<dyn Store>,
) -> Result<(), Failure> {
    check_url(url)
}
