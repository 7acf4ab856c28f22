//! One property over random schedules: the rows of the ledger are the bill of the provider, whatever fails.
//!
//! Everything is in one process and on a clock that jumps: the provider is a simulator without sockets, the store is in memory and fails on
//! request, and a gateway that is killed goes on with a copy of its journal as it was at that moment. So a schedule that fails is made
//! smaller. `tests/chaos/chaos.py` does the same with processes and databases.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use agentloop::{AgentLoop, Config, Usd};
use agentloop_sim::Simulator;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use proptest::prelude::*;
use serde_json::json;
use tokio::task::JoinSet;

use super::handle;
use crate::account::Accounts;
use crate::key::KeyRing;
use crate::log::Each;
use crate::record::Recorder;
use crate::servers::folder::Folder;
use crate::state::State;
use crate::store::{LedgerRow, Outcome, RowFilter, Store};
use crate::sync::tests::store::{Fault, FaultyStore};

/// What is called: a model with what happens to its responses, or a route. The first ones are served.
const MODELS: [&str; 14] = [
    "sim/long-12",
    "drained",
    "spare",
    "same",
    "sim/embed",
    "sim/long-12!status=503",
    "sim/long-12!status=429",
    "sim/long-12!cut-events=5",
    "sim/long-12!cut-events=0",
    "sim/long-12!malformed-events=4",
    "sim/long-12!error-events=4",
    "sim/long-12!stall-events=5",
    "sim/long-12!refuse",
    "sim/long-12!html",
];

/// How many of them are served.
const SERVED: usize = 5;

/// The budget of the key in [`SETTINGS`]: about thirty calls.
const BUDGET: &str = "0.001";

const SETTINGS: &str = "
[timeouts]
idle = 2
first_content = 5
[gateway]
retries = 1
[gateway.keys.test]
key_env = 'TEST'
budget = '0.001'
[gateway.routes.drained]
models = ['sim/long-12']
drain = 5
[gateway.routes.spare]
models = ['sim/long-12!status=503', 'sim/long-12']
[gateway.routes.same]
models = ['sim/long-12']
cache = { ttl = 30 }
";

/// What happens.
#[derive(Clone, Debug)]
enum Act {
    /// A call begins. The client leaves after it was polled, or has read, so often.
    Call { model: usize, stream: bool, words: usize, leaves: Option<(usize, usize)> },
    /// Calls in progress go on for so many turns.
    Turns(usize),
    /// Time passes, in milliseconds.
    Wait(u64),
    /// The store fails from now on, or works again.
    Store(Option<Fault>),
    /// The process is killed and started again.
    Kill,
}

fn act() -> impl Strategy<Value = Act> {
    let leaves = prop::option::weighted(0.3, (0..4_usize, 0..6_usize));
    let call = (0..MODELS.len() + 6, any::<bool>(), 1..6_usize, leaves);
    let fault = prop_oneof![
        Just(None),
        Just(Some(Fault::Refuse)),
        Just(Some(Fault::FailAfterwards)),
        Just(Some(Fault::Hang)),
    ];
    prop_oneof![
        8 => call.prop_map(|(model, stream, words, leaves)| {
            Act::Call { model: model % MODELS.len(), stream, words, leaves }
        }),
        3 => (0..20_usize).prop_map(Act::Turns),
        2 => (0..6_000_u64).prop_map(Act::Wait),
        1 => fault.prop_map(Act::Store),
        1 => Just(Act::Kill),
    ]
}

/// Returns a copy of a folder as it is now.
fn copy(folder: &Folder) -> Folder {
    let copy = Folder::in_memory();
    copy_files(folder.path(), copy.path());
    copy
}

fn copy_files(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy_files(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// What outlives a process.
struct World {
    simulator: Simulator,
    store: Arc<FaultyStore>,
    config: Config,
    calls: usize,
    /// The words of each call, and the calls whose response the client has read to its end.
    words: BTreeMap<String, usize>,
    complete: Vec<String>,
}

impl World {
    fn new() -> Self {
        let mut text = SETTINGS.to_owned();
        for model in MODELS.iter().filter(|model| model.starts_with("sim/")) {
            text += &format!(
                "[[models.\"{model}\".prices]]\nper_million = {{ input = '1', output = '2' }}\n"
            );
        }
        Self {
            simulator: Simulator::new(),
            store: Arc::default(),
            config: Config::parse(&text).unwrap(),
            calls: 0,
            words: BTreeMap::new(),
            complete: Vec::new(),
        }
    }

    /// Runs a process until it is killed. Returns what is left of the acts, and the folder as it was then.
    async fn live(&mut self, acts: &[Act], folder: Folder) -> (Vec<Act>, Option<Folder>) {
        let provider = self.simulator.provider();
        let client = AgentLoop::builder().config(&self.config).provider(provider).build().unwrap();
        let settings = self.config.gateway.clone().unwrap();
        let variable = |_: &str| Some("al-law".to_owned());
        let state = State::new(&client, &settings, KeyRing::default(), &variable).unwrap();
        let store = Arc::clone(&self.store) as Arc<dyn Store>;
        let accounts = Accounts::open(store, Some(folder.path()), &settings).await.unwrap();
        accounts.set_configured(state.budgets());
        let (state, recorder) = (Arc::new(state), Arc::new(Each(Vec::new())));
        let mut tasks = JoinSet::new();
        for (at, act) in acts.iter().enumerate() {
            match act {
                Act::Call { model, stream, words, leaves } => {
                    let name = MODELS[*model];
                    let is_same = name == "same";
                    let label =
                        if is_same { "same".to_owned() } else { format!("c{}", self.calls) };
                    self.calls += 1;
                    let words = if is_same { 3 } else { *words };
                    self.words.insert(label.clone(), words + 1);
                    let request = request(name, &label, words, *stream);
                    let (state, accounts) = (Arc::clone(&state), accounts.clone());
                    let recorder = Arc::clone(&recorder) as Arc<dyn Recorder>;
                    let leaves = *leaves;
                    let is_served = *model < SERVED && !is_same;
                    tasks.spawn(async move {
                        let is_complete = call(state, accounts, recorder, request, leaves).await;
                        (is_complete && is_served).then_some(label)
                    });
                }
                Act::Turns(turns) => {
                    for _ in 0..*turns {
                        tokio::task::yield_now().await;
                    }
                }
                Act::Wait(time) => tokio::time::sleep(Duration::from_millis(*time)).await,
                Act::Store(fault) => self.store.set_append(*fault),
                Act::Kill => {
                    while let Some(done) = tasks.try_join_next() {
                        self.complete.extend(done.unwrap());
                    }
                    // What the tasks do when they are dropped is not in the copy.
                    return (acts[at + 1..].to_vec(), Some(copy(&folder)));
                }
            }
        }
        while let Some(done) = tasks.join_next().await {
            self.complete.extend(done.unwrap());
        }
        // A response that is drained goes on without its client.
        tokio::time::sleep(Duration::from_secs(10)).await;
        self.store.set_append(None);
        assert!(accounts.close(Duration::from_secs(600)).await, "everything is stored");
        assert_eq!(accounts.in_progress(), (Usd::default(), 0), "nothing stays reserved");
        let journal = accounts.journal_health().unwrap();
        assert_eq!((journal.open, journal.unstored_rows, journal.lost_rows), (0, 0, 0));
        (Vec::new(), None)
    }

    async fn rows(&self) -> Vec<LedgerRow> {
        self.store.memory.rows(&RowFilter::default(), None).await.unwrap()
    }

    /// Compares the rows with what the provider has received.
    fn check(&self, rows: &[LedgerRow]) -> Result<(), TestCaseError> {
        let ids: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        prop_assert_eq!(ids.len(), rows.len(), "no row is there twice");
        let mut lines: BTreeMap<String, usize> = BTreeMap::new();
        for request in self.simulator.requests() {
            let body = request.json().unwrap();
            let text = body["messages"][0]["content"].as_str().or(body["input"].as_str());
            let label = text.unwrap().split(' ').next().unwrap().to_owned();
            // What is answered with an error status costs nothing.
            let is_billed = !body["model"].as_str().unwrap().contains("status=");
            *lines.entry(label).or_default() += usize::from(is_billed);
        }
        let mut spent = Usd::default();
        let mut found: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for row in rows {
            let label = row.tags[0].as_str();
            let usd = row.usd.unwrap();
            spent = spent + usd;
            if row.outcome == Outcome::Cached {
                prop_assert_eq!((usd, row.estimated), (Usd::default(), false));
                continue;
            }
            let (all, exact) = found.entry(label).or_default();
            *all += 1;
            prop_assert!(usd <= row.reserved, "{row:?}");
            if !row.estimated {
                *exact += 1;
                let completion = if row.call == "embed" { 0 } else { 12 };
                let words = self.words[label] as u64;
                prop_assert_eq!((row.prompt_tokens, row.completion_tokens), (words, completion));
                let cost = i128::from(words + 2 * completion) * 1_000_000;
                prop_assert_eq!(usd, Usd::from_picos(cost), "the price of the bill");
            }
        }
        for (label, lines) in &lines {
            let (all, exact) = found.get(label.as_str()).copied().unwrap_or_default();
            prop_assert!(all >= *lines, "{label}: {lines} on the bill, {all} rows");
            prop_assert!(exact <= *lines, "{label}: {lines} on the bill, {exact} exact rows");
        }
        for (label, (_, exact)) in &found {
            let known = lines.get(*label).copied().unwrap_or(0);
            prop_assert!(*exact <= known, "{label}: {exact} exact rows, {known} on the bill");
        }
        for label in &self.complete {
            let (_, exact) = found.get(label.as_str()).copied().unwrap_or_default();
            prop_assert!(exact == 1, "{label} was read to its end and has {exact} exact rows");
        }
        // The requests limit their responses, so nothing can cost more than what was reserved.
        prop_assert!(spent <= BUDGET.parse().unwrap(), "{spent}");
        Ok(())
    }
}

fn request(model: &str, label: &str, words: usize, stream: bool) -> Request<Full<Bytes>> {
    let text = format!("{label}{}", " word".repeat(words));
    let (path, body) = match model {
        "sim/embed" => ("/v1/embeddings", json!({ "model": model, "input": text })),
        _ => {
            let messages = json!([{ "role": "user", "content": text }]);
            let body =
                json!({ "model": model, "messages": messages, "stream": stream, "max_tokens": 12 });
            ("/v1/chat/completions", body)
        }
    };
    Request::post(path)
        .header("authorization", "Bearer al-law")
        .header("x-agentloop-tags", label)
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap()
}

/// Makes a call. Returns whether its response was complete.
async fn call(
    state: Arc<State>,
    accounts: Accounts,
    recorder: Arc<dyn Recorder>,
    request: Request<Full<Bytes>>,
    leaves: Option<(usize, usize)>,
) -> bool {
    let span = tracing::Span::none();
    let (mut polls, mut pieces) = leaves.unwrap_or((usize::MAX, usize::MAX));
    let response = {
        let mut handling = pin!(handle(state, accounts, recorder, request, &span, &Arc::default()));
        poll_fn(|context| {
            let Some(rest) = polls.checked_sub(1) else { return Poll::Ready(None) };
            polls = rest;
            handling.as_mut().poll(context).map(Some)
        })
        .await
    };
    let Some(Ok(response)) = response else { return false };
    let is_good = response.status() == 200;
    let is_stream = response.headers()["content-type"] == "text/event-stream";
    let (mut body, mut text) = (response.into_body(), Vec::new());
    while let Some(piece) = poll_fn(|context| body.poll_piece(context)).await {
        let Some(rest) = pieces.checked_sub(1) else { return false };
        pieces = rest;
        text.extend_from_slice(&piece);
        // The other calls go on between two pieces.
        tokio::task::yield_now().await;
    }
    is_good && (!is_stream || text.ends_with(b"data: [DONE]\n\n"))
}

fn run(mut acts: Vec<Act>) -> Result<(), TestCaseError> {
    let mut world = World::new();
    let mut folder = Some(Folder::in_memory());
    while let Some(next) = folder.take() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().unwrap();
        (acts, folder) = runtime.block_on(world.live(&acts, next));
        if folder.is_none() {
            let rows = runtime.block_on(world.rows());
            return world.check(&rows);
        }
        // The process ends here: what it does not know any more was never written.
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_ledger_is_the_bill_whatever_happens(acts in prop::collection::vec(act(), 1..30)) {
        run(acts)?;
    }
}
