//! `agentloop serve`: the gateway.

mod args;
mod first_key;
mod reload;
mod signals;

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentloop::{AgentLoop, GatewayConfig, GatewayLog, Secret};
use agentloop_gateway::{
    Accounts, Gateway, KeyRing, MAX_CONNECTIONS, Recorder, RequestLog, Server, State, Store, Tls,
    check_admin_token, new_key,
};

pub(crate) use args::Args;

use crate::failure::Failure;
use crate::output::Output;
use crate::setup::Setup;
use crate::{gateway_redis, gateway_store, model};

/// Where the gateway listens, unless it is set.
const LISTEN: &str = "127.0.0.1:4180";

/// Where operators find metrics, unless it is set.
const ADMIN_LISTEN: &str = "127.0.0.1:4181";

/// How long requests may take after a signal to stop, unless it is set.
const SHUTDOWN: Duration = Duration::from_secs(30);

/// How long the end waits until the ledger is stored. What is not stays in the journal.
const CLOSE: Duration = Duration::from_secs(10);

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    if let Some(name) = &args.new_key {
        return print_new_key(name);
    }
    let config = setup.config.gateway.clone().unwrap_or_default();
    let tls = match &config.tls {
        Some(tls) => Some(Tls::read(&tls.cert, &tls.key)?),
        None => None,
    };
    let grace = shutdown_time(&config)?;
    let listen = address("listen", args.listen.as_deref().or(config.listen.as_deref()), LISTEN)?;
    if args.check {
        build_state(&setup.build_gateway_client(args.simulator)?, &config)?;
        gateway_store::check(&config)?;
        gateway_redis::check(&config)?;
        admin_token(&config)?;
        setup.notes.print_note("the configuration of the gateway is valid");
        return Ok(());
    }
    let client = setup.build_gateway_client(args.simulator)?;
    let state = build_state(&client, &config)?;
    let (store, folder) = open_store(&config)?;
    first_key::import(store.as_ref(), setup.notes).await;
    let first = first_key::create(store.as_ref(), &state, listen, setup.notes).await?;
    let accounts = Accounts::open(Arc::clone(&store), Some(&folder), &config).await?;
    first_key::check(&state, &accounts, listen)?;
    gateway_redis::join(&accounts, &config, Arc::clone(&store)).await?;
    let gateway = Gateway::with_accounts(state, recorders(args, &config), accounts.clone());
    gateway.connect_store(store);
    #[cfg(feature = "otel")]
    gateway.connect_traces(crate::telemetry::connect);
    let connections = config.max_connections.unwrap_or(MAX_CONNECTIONS);
    let has_tls = tls.is_some();
    // Before the gateway listens, so that no signal ends it while it serves a request.
    let mut stop = signals::Stop::new().map_err(Failure::Runtime)?;
    let hangup = signals::Hangup::new();
    let server = gateway.listen_with(listen, tls, connections).await.map_err(|error| {
        Failure::input_with_hint(
            format!("cannot listen on {listen}: {error}"),
            "choose another address with --listen ADDRESS:PORT, or a free port with port 0",
        )
    })?;
    let admin = listen_admin(args, &config, &gateway, setup).await?;
    let scheme = if has_tls { "https" } else { "http" };
    let url = format!("{scheme}://{}", server.address());
    let model = model::example(&client, setup);
    let guide = format_guide(&url, admin.as_ref(), first.as_ref(), model.as_deref());
    setup.notes.print_plain(&guide);
    let files = reload::Files {
        named: setup.named_file.clone(),
        all: setup.files.iter().map(|file| file.path.clone()).collect(),
        has_simulator: args.simulator,
    };
    let reloading = tokio::spawn(reload::watch(gateway.clone(), files, hangup, setup.notes));
    stop.wait().await;
    setup.notes.end_line();
    reloading.abort();
    let all_ended = tokio::select! {
        ended = server.shutdown(grace) => ended,
        // A second signal ends requests in progress at once.
        () = stop.wait() => false,
    };
    if !all_ended {
        setup.notes.print_note("requests in progress were cut off");
    }
    drop(admin);
    let all_stored = tokio::select! {
        stored = accounts.close(CLOSE) => stored,
        () = stop.wait() => false,
    };
    if !all_stored {
        setup.notes.print_note(
            "the ledger is not completely in the database; the rest is kept, and stored at the next start",
        );
    }
    Ok(())
}

/// Opens the database, and returns it with the folder of the gateway's files.
fn open_store(config: &GatewayConfig) -> Result<(Arc<dyn Store>, PathBuf), Failure> {
    let store = gateway_store::open(config)?;
    match gateway_store::data_folder(config) {
        Some(folder) => Ok((store, folder)),
        None => Err(Failure::input_with_hint(
            "no data folder is known",
            "set HOME, XDG_DATA_HOME or AGENTLOOP_DATA to an absolute path, or `data` in [gateway]",
        )),
    }
}

/// Builds the state of the gateway from its settings.
fn build_state(client: &AgentLoop, config: &GatewayConfig) -> agentloop::Result<State> {
    let state = State::new(client, config, KeyRing::default(), &|name| std::env::var(name).ok());
    state.map_err(|error| {
        let is_simulator = error.to_string().contains("unknown provider `sim`");
        let hint = "a gateway has the simulator only with `simulator = true` in [gateway], or with --simulator";
        if is_simulator { error.with_hint(hint) } else { error }
    })
}

fn recorders(args: &Args, config: &GatewayConfig) -> Vec<Arc<dyn Recorder>> {
    let usual = if std::io::stderr().is_terminal() { GatewayLog::Text } else { GatewayLog::Json };
    let form = args.log.map(Into::into).or(config.log).unwrap_or(usual);
    match form {
        GatewayLog::Off => Vec::new(),
        form => vec![Arc::new(RequestLog::new(form, std::io::stderr())) as Arc<dyn Recorder>],
    }
}

async fn listen_admin(
    args: &Args,
    config: &GatewayConfig,
    gateway: &Gateway,
    setup: &Setup,
) -> Result<Option<Server>, Failure> {
    let chosen = args.admin_listen.as_deref().or(config.admin_listen.as_deref());
    if chosen == Some("off") {
        return Ok(None);
    }
    let place = address("admin_listen", chosen, ADMIN_LISTEN)?;
    let token = admin_token(config)?;
    if !place.ip().is_loopback() && token.is_none() {
        return Err(Failure::input_with_hint(
            format!(
                "the admin listener on {place} needs a token, because other machines can reach it"
            ),
            "set `admin_token_env` in [gateway] to an environment variable with a token",
        ));
    }
    match gateway.listen_admin(place, token).await {
        Ok(server) => Ok(Some(server)),
        Err(error) if chosen.is_none() => {
            setup.notes.print_note(&format!("there is no admin listener: {place}: {error}"));
            Ok(None)
        }
        Err(error) => Err(Failure::input(format!("cannot listen on {place}: {error}"))),
    }
}

/// Reads the token of the admin listener.
fn admin_token(config: &GatewayConfig) -> Result<Option<Secret>, Failure> {
    let Some(name) = &config.admin_token_env else { return Ok(None) };
    let wrong =
        |what: &str| format!("gateway.admin_token_env: the environment variable {name} {what}");
    let value = std::env::var(name).ok();
    let Some(token) = value.as_deref().map(str::trim).filter(|token| !token.is_empty()) else {
        return Err(Failure::input(wrong("is not set")));
    };
    let token = Secret::new(token);
    check_admin_token(&token).map_err(|error| {
        let message = wrong(&format!("cannot be used: {}", error.message()));
        Failure::input_with_hint(message, error.hint().unwrap_or_default())
    })?;
    Ok(Some(token))
}

fn address(name: &str, text: Option<&str>, usual: &str) -> Result<SocketAddr, Failure> {
    let text = text.unwrap_or(usual);
    text.parse().map_err(|_| {
        Failure::input_with_hint(
            format!("{name}: `{text}` is not an IP address with a port"),
            format!("write it as {usual}, or as 0.0.0.0:4180 for all addresses of this machine"),
        )
    })
}

fn shutdown_time(config: &GatewayConfig) -> Result<Duration, Failure> {
    match config.shutdown_timeout {
        None => Ok(SHUTDOWN),
        Some(value) => Duration::try_from_secs_f64(value)
            .map_err(|error| Failure::input(format!("gateway.shutdown_timeout: {error}"))),
    }
}

/// Creates a key, and prints it with the settings that allow it.
fn print_new_key(name: &str) -> Result<(), Failure> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(Failure::input("the name of a key has letters, digits, `-` and `_` only"));
    }
    let (key, hash) = new_key()?;
    let mut output = Output::new();
    output.write_text(&format!(
        "{}\n\n# Add this to agentloop.toml. The key itself is not stored anywhere: keep it.\n[gateway.keys.{name}]\nsha256 = \"{hash}\"\n",
        key.expose()
    ))?;
    Ok(output.flush()?)
}

/// Formats what a user needs to send the first request.
fn format_guide(
    url: &str,
    admin: Option<&Server>,
    key: Option<&Secret>,
    model: Option<&str>,
) -> String {
    let mut text = format!("The gateway listens at {url} (press Ctrl-C to stop it).\n");
    if let Some(admin) = admin {
        text.push_str(&format!("The dashboard: http://{}/\n", admin.address()));
    }
    let shown = match key {
        Some(key) => {
            text.push_str(&format!(
                "\nThis API key was created for you. It is shown only now:\n  {}\n",
                key.expose()
            ));
            key.expose().to_owned()
        }
        None => "$AGENTLOOP_GATEWAY_KEY".to_owned(),
    };
    // Other names would have to be quoted for the shell.
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/:._-".contains(letter);
    let model = model.filter(|name| name.chars().all(is_plain)).unwrap_or_else(|| {
        text.push_str(
            "\nInstead of PROVIDER/MODEL, name a model of a provider whose key you have (`agentloop setup` stores one), or start with \
             --simulator and name sim/echo.\n",
        );
        "PROVIDER/MODEL"
    });
    text.push_str(&format!(
        r#"
Send a request:
  curl {url}/v1/chat/completions -H "Authorization: Bearer {shown}" \
    -H 'content-type: application/json' \
    -d '{{"model":"{model}","messages":[{{"role":"user","content":"Hello"}}]}}'

Use it from any program:
  OpenAI SDKs and Codex       OPENAI_BASE_URL={url}/v1
  Anthropic SDKs, Claude Code ANTHROPIC_BASE_URL={url}
  Google SDKs, Gemini CLI     GOOGLE_GEMINI_BASE_URL={url}"#
    ));
    text
}
