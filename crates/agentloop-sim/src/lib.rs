//! Simulated providers: one scripted model, spoken to in every protocol.
//!
//! - [`provider`] is the provider `sim`, in process: no key, no network, the same answer every time.
//! - [`row`] answers any row of the provider table in the same way.
//! - [`Server`] serves the same model on loopback.
//! - [`Script`] says what the model answers; [`Fault`] and [`Faults`] what goes wrong on the way.
//! - [`Simulator`] is what all of them share, with a [`Ledger`] of what was served.
//!
//! ```
//! use agentloop::{AgentLoop, ChatRequest, ErrorKind};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> agentloop::Result<()> {
//! let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
//! let error = ai.chat(ChatRequest::new("sim/echo!status=429;retry-after=2").user("Hi")).await;
//! assert_eq!(error.unwrap_err().kind(), ErrorKind::RateLimit);
//! # Ok(())
//! # }
//! ```

mod fault;
mod ledger;
mod manners;
mod model;
mod reply;
mod script;
mod server;
mod simulator;
mod transport;
mod vectors;

pub use fault::{Cut, Fault, Faults};
pub use ledger::Ledger;
pub use model::Model;
pub use reply::{Piece, Pieces, Reply};
pub use script::{Scene, Script, Turn};
pub use server::{MAX_REQUEST_BYTES, Server};
pub use simulator::{FAULT_HEADER, Simulator};
pub use transport::{SimTransport, provider, provider_named, row};
