//! `agentloop sim`: the simulated model as a server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::failure::Failure;
use crate::setup::Setup;
use crate::sim;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The port; 0 takes any that is free.
    #[arg(long, value_name = "N", default_value_t = 8808)]
    port: u16,

    /// The address to listen on. Any but a loopback address can be reached from other machines.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,

    /// A script of turns (JSON) that the model follows, in place of what its name says.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
}

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let address = SocketAddr::new(args.host, args.port);
    let server = sim::simulator(args.script.as_deref())?.serve(address).await.map_err(|error| {
        Failure::input_with_hint(
            format!("the simulator cannot listen on {address}: {error}"),
            "choose another port with --port, or any free one with --port 0",
        )
    })?;
    if !args.host.is_loopback() {
        setup.notes.note("other machines can reach the simulator at this address");
    }
    setup.notes.plain(&guide(&server.url()));
    let waited = tokio::signal::ctrl_c().await;
    setup.notes.end_line();
    tokio::select! {
        () = server.shutdown() => {}
        // Answers that are under way may end, unless they are told twice not to.
        Ok(()) = tokio::signal::ctrl_c() => {}
    }
    waited.map_err(Failure::Runtime)
}

/// How to talk to the server, ready to be copied.
fn guide(url: &str) -> String {
    format!(
        r#"The simulator listens at {url} (Ctrl-C ends it).

Ask it:
  curl {url}/chat/completions -H 'content-type: application/json' \
    -d '{{"model":"echo","messages":[{{"role":"user","content":"Hello"}}],"stream":true}}'

Or put it into agentloop.toml:
  [providers.local-sim]
  base_url = "{url}"

and say:
  agentloop chat -m local-sim/echo Hello

Faults come on demand, by the name of the model: echo!status=429;retry-after=2"#
    )
}
