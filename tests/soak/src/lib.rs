//! Mixed load with faults, for as long as one likes, and a look at the books afterwards.
//!
//! 200 calls at a time (chats, streams, embeddings, runs of agents, in every protocol) go through the whole stack of
//! middlewares to simulators on loopback, which let some of them go wrong on a schedule; some callers go away in the middle.
//! Then every call must have ended exactly once, with a response that is right or an error of a kind that the faults explain;
//! the ledger of costs must be the simulators' bill; memory, tasks and file descriptors must be where they were.
//!
//! ```text
//! cargo run --release -p soak -- --minutes 30
//! ```

#![allow(clippy::print_stdout, reason = "a tool reports to the one who runs it")]

mod books;
mod call;
mod group;
mod health;
mod report;
mod tally;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use agentloop_sim::Server;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use group::Group;
use health::{Health, open_files};
pub use report::Report;
use tally::Tally;

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// For how long.
    pub time: Duration,
    /// How many calls at a time.
    pub at_once: u64,
    /// How long the first memory is not looked at: caches and pools fill.
    pub warm_up: Duration,
    /// How often it says how it goes.
    pub every: Duration,
}

impl Plan {
    /// So long, in the usual way.
    pub fn lasting(time: Duration) -> Self {
        let warm_up = (time / 5).min(Duration::from_secs(120));
        Self { time, at_once: 200, warm_up, every: Duration::from_secs(60) }
    }
}

/// Runs a plan.
///
/// # Errors
///
/// When this machine gives no sockets or threads.
pub fn run(plan: Plan) -> Result<Report, Box<dyn std::error::Error>> {
    // Servers have threads of their own, so that the tasks of the other runtime are the library's alone.
    let servers = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let clients = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let files_before = open_files();
    let groups = servers.block_on(async {
        Ok::<_, Box<dyn std::error::Error>>([Group::sure().await?, Group::unsure().await?])
    })?;
    let groups = Arc::new(groups);
    let tally = Arc::new(Tally::default());
    let health = clients.block_on(load(plan, &clients, &groups, &tally));
    let mut report = Report::new(plan, &tally, &health);
    let groups = Arc::into_inner(groups).ok_or("a caller is still there")?;
    // The books are closed after the responses of cancelled calls have been produced.
    let is_idle = |server: &Server| server.simulator().ledger().in_progress == 0;
    report::wait(|| groups.iter().all(|group| group.servers.iter().all(is_idle)));
    for group in groups {
        report.close(&group);
        let Group { ai, servers: listening, .. } = group;
        drop(ai);
        servers.block_on(async {
            for server in listening {
                server.shutdown().await;
            }
        });
    }
    report.left(&clients, files_before);
    Ok(report)
}

/// Keeps so many calls under way until the time is over.
async fn load(
    plan: Plan,
    runtime: &Runtime,
    groups: &Arc<[Group; 2]>,
    tally: &Arc<Tally>,
) -> Health {
    let began = Instant::now();
    let next = Arc::new(AtomicU64::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..plan.at_once {
        let (groups, tally, next) = (Arc::clone(groups), Arc::clone(tally), Arc::clone(&next));
        let work = async move {
            while began.elapsed() < plan.time {
                let number = next.fetch_add(1, Ordering::Relaxed);
                call::make(number, &groups, &tally).await;
            }
        };
        workers.spawn_on(work, runtime.handle());
    }
    let mut health = Health::new(began, plan.warm_up);
    let mut reported = Duration::ZERO;
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    while !workers.is_empty() {
        tokio::select! {
            Some(_) = workers.join_next() => {}
            _ = tick.tick() => {
                health.look(runtime.metrics().num_alive_tasks());
                if began.elapsed() >= reported + plan.every {
                    reported = began.elapsed();
                    println!("{}", report::line(began.elapsed(), tally, &health));
                }
            }
        }
    }
    health
}
