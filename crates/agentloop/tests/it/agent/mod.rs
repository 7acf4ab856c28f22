//! Tests of the agent loop: every rule with every protocol, with complete and streamed responses, against the simulator over
//! HTTP.

mod approval;
mod cancel;
mod choice;
mod client_tools;
mod clock;
mod definition;
mod events;
mod external;
mod failures;
mod hooks;
mod incomplete;
mod lab;
mod laws;
mod limits;
mod media;
mod order;
mod repair;
mod restarts;
mod result_sizes;
mod reviews;
mod structured;
mod sums;
mod waiting;
