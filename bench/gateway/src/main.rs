//! The parts of the gateway's benchmark: an upstream, a plain reverse proxy, and a client.
//!
//! - `bench-gateway mock` serves a chat completion of 200 bytes, or a stream of 300 chunks that are written one by one. A request with `"stall"` gets one
//!   chunk and then silence.
//! - `bench-gateway proxy URL` passes every request on to `URL`, with hyper and its pool of connections, and nothing else.
//! - `bench-gateway load URL PATH BODY COUNT CONCURRENCY KEY` sends requests and prints how many succeeded.
//! - `bench-gateway idle URL PATH BODY COUNT COUNT2 KEY` opens streams over HTTP/1.1 and then over HTTP/2, prints a line when all of a kind have their first
//!   chunk, and holds them until its stdin ends.

mod load;
mod mock;
mod proxy;

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// Listens on a free port, with room for all that connect at once, and prints the URL.
pub(crate) fn listen() -> TcpListener {
    use std::io::Write as _;
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
    let listener = socket.listen(16_384).expect("a listener");
    println!("http://{}", listener.local_addr().expect("an address"));
    std::io::stdout().flush().expect("stdout");
    listener
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        match args.first().map(String::as_str) {
            Some("mock") => mock::run().await,
            Some("proxy") => proxy::run(&args[1]).await,
            Some("load") => load::run(&args[1..]).await,
            Some("idle") => load::idle(&args[1..]).await,
            _ => panic!("mock, proxy, load or idle"),
        }
    });
}
