//! Budgets and limits with a clock of the tests' own.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, UNIX_EPOCH};

use agentloop::{Error, ErrorKind, GatewayBudget, GatewayLedger, ModelData, Protocol, Usage, Usd};
use proptest::prelude::*;

use super::keep::Keep;
use super::window::{PERIODS, starts};
use super::*;
use crate::store::{KeyRecord, LedgerRow, Outcome};

/// 2026-11-16T13:00:00Z, a Monday.
const NOW: u64 = 1_794_834_000_000;

/// Runs a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

/// Returns a model whose tokens have these prices by the million.
pub(crate) fn model(input: &str, output: &str) -> Arc<ModelData> {
    let prices = format!(r#"{{"input":"{input}","output":"{output}"}}"#);
    let model = format!(r#"{{"id":"m","prices":[{{"per_million":{prices}}}]}}"#);
    Arc::new(serde_json::from_str(&model).unwrap())
}

/// Reserves what a call with a prompt and a response of so many tokens may cost.
pub(crate) async fn reserve(
    accounts: &Accounts,
    pass: &Arc<Pass>,
    model: Option<&Arc<ModelData>>,
    (prompt, response): (u64, u64),
    settings: &GatewayLedger,
) -> Result<Hold, Error> {
    let origin = Origin {
        request: "req_1",
        api: Protocol::OpenAiChat,
        call: "chat",
        model: "lab/m",
        tags: &[],
        provider: "lab",
        served: "m",
    };
    let estimate = Estimate { prompt, limit: Some(response), choices: 1, tier: None };
    accounts.reserve(pass, origin, model, &estimate, settings).await
}

struct Stage {
    accounts: Accounts,
    clock: Arc<AtomicU64>,
    model: Arc<ModelData>,
}

impl Stage {
    fn new() -> Self {
        let clock = Arc::new(AtomicU64::new(NOW));
        let time = Arc::clone(&clock);
        let read = move || UNIX_EPOCH + Duration::from_millis(time.load(Ordering::Relaxed));
        let keep = Keep::List(Mutex::default());
        let accounts = Accounts::new("n1", keep, Box::new(read));
        // A millionth of a dollar for a token of the prompt, and two for one of the response.
        Self { accounts, clock, model: model("1", "2") }
    }

    fn advance(&self, time: Duration) {
        self.clock.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::Relaxed);
    }

    fn rows(&self) -> Vec<LedgerRow> {
        self.with_rows(<[LedgerRow]>::to_vec)
    }

    fn with_rows<T>(&self, read: impl FnOnce(&[LedgerRow]) -> T) -> T {
        match &self.accounts.0.keep {
            Keep::List(rows) => read(&rows.lock().unwrap()),
            _ => read(&[]),
        }
    }

    fn enter(&self, key: &Arc<KeyRecord>, team: &[&str], tokens: u64) -> Result<Arc<Pass>, Error> {
        let team = key.team.as_ref().map(|_| Arc::new(limits(team)));
        now(self.accounts.enter(key, team.as_ref(), tokens))
    }

    fn reserve(&self, pass: &Arc<Pass>, prompt: u64, response: u64) -> Result<Hold, Error> {
        self.reserve_with(pass, prompt, response, Some(&self.model), &GatewayLedger::default())
    }

    fn reserve_with(
        &self,
        pass: &Arc<Pass>,
        prompt: u64,
        response: u64,
        model: Option<&Arc<ModelData>>,
        settings: &GatewayLedger,
    ) -> Result<Hold, Error> {
        now(reserve(&self.accounts, pass, model, (prompt, response), settings))
    }
}

fn limits(budgets: &[&str]) -> Limits {
    let budgets = budgets.iter().map(|text| text.parse().unwrap()).collect();
    Limits { budgets, ..Limits::default() }
}

fn key(name: &str, team: Option<&str>, budgets: &[&str]) -> Arc<KeyRecord> {
    let (name, team) = (name.to_owned(), team.map(str::to_owned));
    Arc::new(KeyRecord { name, team, limits: limits(budgets), ..KeyRecord::default() })
}

fn end(outcome: Outcome, usage: Option<&Usage>, received: usize) -> End<'_> {
    End { outcome, usage, cost: None, received, first_byte: None, status: 200 }
}

fn usd(text: &str) -> Usd {
    text.parse().unwrap()
}

#[test]
fn a_call_that_does_not_fit_is_refused_and_takes_nothing() {
    let stage = Stage::new();
    let key = key("ci", Some("web"), &["0.01/day"]);
    let pass = stage.enter(&key, &["0.005/month"], 0).unwrap();
    let hold = stage.reserve(&pass, 1_000, 1_500).unwrap();
    // The key has 0.006 left, and the team 0.001.
    let error = stage.reserve(&pass, 1_001, 0).unwrap_err();
    assert_eq!((error.status(), error.code()), (Some(402), Some("budget_exceeded")));
    let text = error.message();
    assert!(text.contains("team `web` is 0.005 USD per month"), "{text}");
    assert!(text.contains("0.001 USD is left until 2026-12-01"), "{text}");
    stage.reserve(&pass, 1_000, 0).unwrap().release();
    hold.release();
    stage.reserve(&pass, 1_000, 2_000).unwrap().release();
    assert!(stage.rows().is_empty());
    assert_eq!(stage.accounts.in_progress().0, usd("0"));
}

// The cost that a provider reported for an image without tokens was replaced by an estimate.
#[test]
fn a_reported_cost_counts_also_without_tokens() {
    let stage = Stage::new();
    let pass = stage.enter(&key("ci", None, &["1/day"]), &[], 0).unwrap();
    let hold = stage.reserve(&pass, 1_000, 1_500).unwrap();
    let cost = agentloop::Cost::from_provider(usd("0.07"));
    let known = End { cost: Some(&cost), ..end(Outcome::Complete, None, 4_000_000) };
    assert_eq!(hold.settle(&known).unwrap().usd, usd("0.07"));
    // The cost of a response that is cut off is not that of the whole.
    let hold = stage.reserve(&pass, 1_000, 1_500).unwrap();
    let cut = End { cost: Some(&cost), ..end(Outcome::Failed, None, 400) };
    assert_ne!(hold.settle(&cut).unwrap().usd, usd("0.07"));
    let rows = stage.rows();
    assert_eq!((rows[0].estimated, rows[0].usd), (false, Some(usd("0.07"))));
    assert!(rows[1].estimated);
}

#[test]
fn callers_of_the_responses_api_get_the_code_that_they_know() {
    let short = scope::Short { budget: "1/total".parse().unwrap(), left: usd("0.5"), start: 0 };
    let scope = Scope::Key("ci".to_owned());
    let error = refusal::over_budget(&scope, &short, usd("0.6"), Protocol::OpenAiResponses);
    assert_eq!((error.status(), error.code()), (Some(429), Some("insufficient_quota")));
    assert!(!error.is_retryable());
    assert!(error.message().contains("1 USD in total: 0.5 USD is left, and"));
}

#[test]
fn a_budget_begins_again_with_its_period_and_a_call_counts_for_the_one_it_began_in() {
    let stage = Stage::new();
    let key = key("ci", None, &["0.002/day", "0.003/total"]);
    let pass = stage.enter(&key, &[], 0).unwrap();
    let first = stage.reserve(&pass, 2_000, 0).unwrap();
    assert!(stage.reserve(&pass, 1, 0).is_err());
    stage.advance(Duration::from_secs(12 * 3_600));
    // The next day. The call of yesterday ends now, and costs what was expected.
    let second = stage.reserve(&pass, 1_000, 0).unwrap();
    first.settle(&end(Outcome::Complete, Some(&Usage::new(2_000, 0)), 0));
    let error = stage.reserve(&pass, 1, 0).unwrap_err();
    assert!(error.message().contains("0.003 USD in total"), "{}", error.message());
    second.release();
    let days: Vec<i64> = stage.rows().iter().map(|row| starts(row.time_ms)[0]).collect();
    assert_eq!(days, [starts(NOW.try_into().unwrap())[0]]);
}

#[test]
fn a_clock_that_is_set_back_does_not_open_a_budget_again() {
    let stage = Stage::new();
    let key = key("ci", None, &["0.002/day"]);
    let pass = stage.enter(&key, &[], 0).unwrap();
    stage.reserve(&pass, 2_000, 0).unwrap().settle(&end(Outcome::Complete, None, 0));
    stage.clock.store(NOW - 24 * 3_600_000, Ordering::Relaxed);
    assert!(stage.reserve(&pass, 2_000, 0).is_err());
}

#[test]
fn rows_say_what_is_known_and_what_is_estimated() {
    let stage = Stage::new();
    let pass = stage.enter(&key("ci", None, &["1/total"]), &[], 0).unwrap();
    let reserve = || stage.reserve(&pass, 1_000, 500).unwrap();
    reserve().settle(&end(Outcome::Complete, Some(&Usage::new(900, 100)), 0));
    reserve().settle(&end(Outcome::Failed, Some(&Usage::new(900, 100)), 800));
    reserve().settle(&end(Outcome::Complete, None, 401));
    drop(reserve());
    reserve().fail(&Error::new(ErrorKind::Timeout, "it took too long"));
    reserve().fail(&Error::new(ErrorKind::Server, "no").with_status(500));
    let rows = stage.rows();
    let shown = rows.iter().map(|row| {
        let tokens = (row.prompt_tokens, row.completion_tokens);
        (row.outcome.as_str(), row.estimated, tokens, row.usd.unwrap())
    });
    let expected = [
        ("complete", false, (900, 100), usd("0.0011")),
        ("failed", true, (900, 200), usd("0.0013")),
        ("complete", true, (1_000, 101), usd("0.001202")),
        ("cancelled", true, (1_000, 0), usd("0.001")),
        ("failed", true, (1_000, 0), usd("0.001")),
    ];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    assert!(rows.iter().all(|row| row.reserved == usd("0.002") && row.price.is_some()));
    let ids: std::collections::BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids.len(), rows.len());
    let left = stage.accounts.key("ci").lock().left(&"1/total".parse().unwrap());
    assert_eq!(left, usd("1") - rows.iter().fold(usd("0"), |sum, row| sum + row.usd.unwrap()));
}

#[test]
fn a_key_with_a_budget_needs_prices_unless_it_is_allowed_otherwise() {
    let stage = Stage::new();
    let pass = stage.enter(&key("ci", None, &["1/total"]), &[], 0).unwrap();
    let mut settings = GatewayLedger::default();
    let error = stage.reserve_with(&pass, 1, 1, None, &settings).unwrap_err();
    assert_eq!((error.status(), error.code()), (Some(403), Some("model_without_price")));
    settings.allow_unpriced = true;
    let hold = stage.reserve_with(&pass, 1, 1, None, &settings).unwrap();
    hold.settle(&end(Outcome::Complete, Some(&Usage::new(5, 5)), 0));
    assert_eq!(stage.rows()[0].usd, None);
    // Without a budget nothing is refused.
    let pass = stage.enter(&key("other", None, &[]), &[], 0).unwrap();
    let settings = GatewayLedger::default();
    drop(stage.reserve_with(&pass, 1, 1, None, &settings).unwrap());
}

#[tokio::test(start_paused = true)]
async fn limits_per_minute_and_concurrency_are_those_of_the_key_and_its_team() {
    let stage = Stage::new();
    let mut own =
        KeyRecord { name: "ci".to_owned(), team: Some("web".to_owned()), ..KeyRecord::default() };
    own.limits.concurrency = Some(2);
    own.limits.tokens_per_minute = Some(1_000);
    let own = Arc::new(own);
    let team = Arc::new(Limits { requests_per_minute: Some(4), ..Limits::default() });
    let enter = |tokens: u64| now(stage.accounts.enter(&own, Some(&team), tokens));
    let refused = |tokens: u64| {
        let error = enter(tokens).unwrap_err();
        assert_eq!((error.status(), error.code()), (Some(429), Some("rate_limit_exceeded")));
        (error.message().to_owned(), error.retry_after().unwrap().as_secs_f64())
    };
    let (one, two) = (enter(400).unwrap(), enter(500).unwrap());
    assert!(refused(0).0.contains("key `ci` may have 2 requests in progress"));
    drop(one);
    drop(two);
    // Nothing was used, so all tokens are back.
    let one = enter(1_000).unwrap();
    one.add_used(1_000);
    drop(one);
    let (text, wait) = refused(500);
    assert!(text.contains("1000 tokens per minute"), "{text}");
    assert!((29.0..31.0).contains(&wait), "{wait}");
    drop(enter(0).unwrap());
    let (text, wait) = refused(0);
    assert!(text.contains("team `web` may send 4 requests per minute"), "{text}");
    assert!((14.0..16.0).contains(&wait), "{wait}");
    tokio::time::advance(Duration::from_secs(31)).await;
    drop(enter(500).unwrap());
    assert_eq!(stage.accounts.in_progress().1, 0);
}

#[derive(Clone, Debug)]
enum Step {
    Reserve { key: usize, prompt: u64, response: u64 },
    Settle { call: usize, outcome: Outcome, prompt: u64, response: u64 },
    Release { call: usize },
    Drop { call: usize },
    Advance { hours: u64 },
    Store { rows: usize },
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    let outcome =
        prop::sample::select(vec![Outcome::Complete, Outcome::Failed, Outcome::Cancelled]);
    prop_oneof![
        6 => (0..3_usize, 0..3_000_u64, 0..2_000_u64)
            .prop_map(|(key, prompt, response)| Step::Reserve { key, prompt, response }),
        4 => (any::<usize>(), outcome, 0..4_000_u64, 0..3_000_u64)
            .prop_map(|(call, outcome, prompt, response)| Step::Settle { call, outcome, prompt, response }),
        1 => any::<usize>().prop_map(|call| Step::Release { call }),
        1 => any::<usize>().prop_map(|call| Step::Drop { call }),
        1 => (1..60_u64).prop_map(|hours| Step::Advance { hours }),
        2 => (0..8_usize).prop_map(|rows| Step::Store { rows }),
        1 => Just(Step::Look),
    ]
}

/// The budgets of each scope of the property: two keys of one team, and one without.
const KEYS: [(&str, Option<&str>, &[&str]); 3] = [
    ("a", Some("t"), &["0.02/day"]),
    ("b", Some("t"), &["0.03/week"]),
    ("c", None, &["0.05/month"]),
];
const TEAM: &[&str] = &["0.04/day", "0.2/total"];

/// A row whose memory is used again shows nothing of the call that had it before.
#[test]
fn a_row_has_nothing_of_the_call_whose_memory_it_uses() {
    let journal = crate::journal::Journal::in_memory();
    let mut old = LedgerRow {
        outcome: Outcome::Failed,
        estimated: true,
        cached_tokens: 7,
        usd: Some(usd("1")),
        first_byte_ms: Some(9),
        status: 500,
        ..LedgerRow::default()
    };
    let long = || "an old text that is longer".to_owned();
    for text in [&mut old.id, &mut old.request, &mut old.node, &mut old.key, &mut old.model] {
        *text = long();
    }
    (old.team, old.price, old.tags) = (Some(long()), Some(long()), vec![long()]);
    journal.settle(old);
    journal.stored(journal.next_batch(1));
    let mut stage = Stage::new();
    stage.accounts = Accounts::new("n1", Keep::Journal(journal.clone()), Box::new(|| UNIX_EPOCH));
    let pass = stage.enter(&key("ci", None, &[]), &[], 0).unwrap();
    stage.reserve(&pass, 10, 5).unwrap().settle(&end(Outcome::Complete, None, 4));
    let used = journal.next_batch(1).rows[0].clone();
    stage.reserve(&pass, 10, 5).unwrap().settle(&end(Outcome::Complete, None, 4));
    let new = journal.next_batch(2).rows[1].clone();
    assert_eq!((used.key.as_str(), used.team.as_ref(), used.tags.len()), ("ci", None, 0));
    assert_ne!(used.id, new.id);
    assert_eq!(LedgerRow { id: new.id.clone(), ..used }, new);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// After every step, what a budget counts is the sum of its rows and of the calls in progress, and no budget is exceeded by more
    /// than what calls cost above what was reserved for them.
    #[test]
    fn budgets_count_every_call_once_and_hold(steps in prop::collection::vec(step(), 1..80)) {
        let stage = Stage::new();
        let keys = KEYS.map(|(name, team, budgets)| key(name, team, budgets));
        let passes: Vec<Arc<Pass>> = keys.iter().map(|key| stage.enter(key, TEAM, 0).unwrap()).collect();
        let mut open: Vec<(usize, i64, Usd, Hold)> = Vec::new();
        let mut stored: Vec<LedgerRow> = Vec::new();
        // Of each scope and budget: what calls cost above what was reserved, by the period.
        let mut excess: BTreeMap<(Option<usize>, usize, i64), Usd> = BTreeMap::new();
        for step in steps {
            let time = i64::try_from(stage.clock.load(Ordering::Relaxed)).unwrap();
            match step {
                Step::Reserve { key, prompt, response } => {
                    let amount = Usd::from_picos(i128::from(prompt + 2 * response) * 1_000_000);
                    let fits = budgets(key).all(|(scope, budget)| {
                        taken(&stage, &open, scope, &budget, time) + amount <= budget.usd
                    });
                    let hold = stage.reserve(&passes[key], prompt, response);
                    prop_assert_eq!(hold.is_ok(), fits);
                    open.extend(hold.ok().map(|hold| (key, time, amount, hold)));
                }
                Step::Settle { call, outcome, prompt, response } if !open.is_empty() => {
                    let (key, began, amount, hold) = open.swap_remove(call % open.len());
                    let usage = Usage::new(prompt, response);
                    hold.settle(&end(outcome, Some(&usage), 0));
                    let cost = stage.with_rows(|rows| rows.last().unwrap().usd.unwrap());
                    for (scope, budget) in budgets(key) {
                        let place = window::place(budget.per);
                        let sum = excess.entry((scope, place, starts(began)[place])).or_default();
                        *sum = *sum + (cost - amount).max(Usd::default());
                    }
                }
                Step::Release { call } if !open.is_empty() => {
                    open.swap_remove(call % open.len()).3.release();
                }
                Step::Drop { call } if !open.is_empty() => drop(open.swap_remove(call % open.len())),
                Step::Advance { hours } => stage.advance(Duration::from_secs(hours * 3_600)),
                Step::Store { rows } => {
                    let next = |all: &[LedgerRow]| all.iter().skip(stored.len()).take(rows).cloned().collect();
                    let new: Vec<LedgerRow> = stage.with_rows(next);
                    stage.accounts.rows_stored(&new);
                    stored.extend(new);
                }
                Step::Look => {
                    stage.accounts.set_configured(all_limits());
                    for wanted in stage.accounts.wanted(None, true) {
                        let of = |row: &&LedgerRow| match &wanted.key {
                            Some(name) => row.key == *name,
                            None => row.team == wanted.team,
                        };
                        let since = wanted.since_ms.unwrap();
                        let rows = stored.iter().filter(of).filter(|row| row.time_ms >= since);
                        let sum = rows.fold(usd("0"), |sum, row| sum + row.usd.unwrap());
                        stage.accounts.set_base(&wanted, sum);
                    }
                }
                _ => {}
            }
            let time = i64::try_from(stage.clock.load(Ordering::Relaxed)).unwrap();
            let (reserved, _) = stage.accounts.in_progress();
            prop_assert_eq!(reserved, open.iter().fold(usd("0"), |sum, call| sum + call.2));
            for key in 0..KEYS.len() {
                for (scope, budget) in budgets(key) {
                    let counted = taken(&stage, &open, scope, &budget, time);
                    let place = window::place(budget.per);
                    let over = excess.get(&(scope, place, starts(time)[place])).copied().unwrap_or_default();
                    prop_assert!(counted <= budget.usd + over, "{:?} {}", scope, budget);
                }
            }
        }
        drop(open);
        drop(passes);
        prop_assert_eq!(stage.accounts.in_progress(), (usd("0"), 0));
    }
}

fn all_limits() -> Vec<(Scope, Limits)> {
    let keys =
        KEYS.iter().map(|(name, _, budgets)| (Scope::Key((*name).to_owned()), limits(budgets)));
    keys.chain([(Scope::Team("t".to_owned()), limits(TEAM))]).collect()
}

/// Returns the budgets of a key and of its team, which has no number.
fn budgets(key: usize) -> impl Iterator<Item = (Option<usize>, GatewayBudget)> {
    let (_, team, own) = KEYS[key];
    let own = own.iter().map(move |text| (Some(key), text.parse().unwrap()));
    own.chain(TEAM.iter().filter(move |_| team.is_some()).map(|text| (None, text.parse().unwrap())))
}

/// Returns what a budget must count, by the rows and the calls in progress.
fn taken(
    stage: &Stage,
    open: &[(usize, i64, Usd, Hold)],
    scope: Option<usize>,
    budget: &GatewayBudget,
    now: i64,
) -> Usd {
    let place = PERIODS.iter().position(|period| *period == budget.per).unwrap();
    let since = starts(now)[place];
    let is_own = |row: &&LedgerRow| match scope {
        Some(key) => row.key == KEYS[key].0,
        None => row.team.is_some(),
    };
    let spent = stage.with_rows(|rows| {
        let rows = rows.iter().filter(is_own).filter(|row| row.time_ms >= since);
        rows.fold(usd("0"), |sum, row| sum + row.usd.unwrap())
    });
    let calls = open.iter().filter(|(key, began, ..)| {
        *began >= since && scope.map_or(KEYS[*key].1.is_some(), |scope| scope == *key)
    });
    calls.fold(spent, |sum, call| sum + call.2)
}
