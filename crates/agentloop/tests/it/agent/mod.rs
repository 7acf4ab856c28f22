//! The agent loop, rule by rule: every protocol, whole and streamed, against the simulator over real HTTP.

mod approval;
mod broken;
mod cancel;
mod choice;
mod client_tools;
mod clock;
mod definition;
mod document;
mod events;
mod external;
mod hooks;
mod lab;
mod laws;
mod limits;
mod media;
mod order;
mod repair;
mod reviews;
mod structured;
mod sums;
mod told;
mod totals;
mod waiting;
