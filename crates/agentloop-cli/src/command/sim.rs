//! `agentloop sim`: serves the simulated model over HTTP.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::failure::Failure;
use crate::setup::Setup;
use crate::simulator;

/// Options of `agentloop sim`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The port to listen on; 0 chooses a free one.
    #[arg(long, value_name = "N", default_value_t = 8808)]
    port: u16,

    /// The IP address to listen on. Other machines can reach the server unless this is a loopback address.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,

    /// A JSON file with the responses of the model, instead of the behaviour that the model's name selects.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
}

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let address = SocketAddr::new(args.host, args.port);
    let server =
        simulator::build(args.script.as_deref())?.serve(address).await.map_err(|error| {
            Failure::input_with_hint(
                format!("cannot listen on {address}: {error}"),
                "choose another port with --port N, or a free one with --port 0",
            )
        })?;
    if !args.host.is_loopback() {
        setup.notes.print_note("other machines can reach the simulator at this address");
    }
    setup.notes.print_plain(&format_guide(&server.url()));
    let waited = tokio::signal::ctrl_c().await;
    setup.notes.end_line();
    tokio::select! {
        () = server.shutdown() => {}
        // Responses in progress may finish, unless Ctrl-C is pressed again.
        Ok(()) = tokio::signal::ctrl_c() => {}
    }
    waited.map_err(Failure::Runtime)
}

/// Formats the commands that use the server, ready to be copied.
fn format_guide(url: &str) -> String {
    format!(
        r#"The simulator listens at {url} (press Ctrl-C to stop it).

Send a request:
  curl {url}/chat/completions -H 'content-type: application/json' \
    -d '{{"model":"echo","messages":[{{"role":"user","content":"Hello"}}],"stream":true}}'

Or add it to agentloop.toml:
  [providers.local-sim]
  base_url = "{url}"

and run:
  agentloop chat -m local-sim/echo Hello

Append a fault to the name of the model to simulate it: echo!status=429;retry-after=2"#
    )
}
