//! What this gateway uses, what it knows of the others, and what waits for Redis.
//!
//! Every number that is reported is the whole amount of this gateway: what it has spent and reserved in a window, and how
//! many requests it has in progress. So it does not matter whether a step whose response was lost has been made: the next one
//! corrects it. Only one step is under way at any time, so what it may change is known.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use agentloop::GatewayWithoutRedis;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::bucket::Bucket;
use crate::cluster::{Budget, Rates, Refusal, Window};

/// The most claims, and the most entries, of one step. It bounds the time that Redis is busy.
pub(super) const MAX_CLAIMS: usize = 256;
/// The most windows, and the most scopes, of one step.
pub(super) const MAX_REPORTS: usize = 512;
/// The most claims or entries that wait. More are decided without Redis.
pub(super) const MAX_WAITING: usize = 16_384;
/// The most windows, and the most scopes, that are counted. More are decided without Redis.
pub(super) const MAX_TRACKED: usize = 200_000;
/// Windows that were used within this time are looked at with every beat.
const RECENT: Duration = Duration::from_secs(60);

/// What one gateway has used in a window before its process began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Base {
    /// It has not been read.
    Unknown,
    /// What the gateway reported to Redis last, in picodollars.
    Redis(i128),
    /// The sum of the ledger, in picodollars.
    Ledger(i128),
}

/// What was known of all gateways at the last look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) others: i128,
    pub(super) own: i128,
    /// Whether the share of this gateway follows from it.
    pub(super) is_frozen: bool,
}

#[derive(Debug)]
pub(super) struct WindowState {
    pub(super) base: Base,
    /// What this process has spent and reserved, in picodollars.
    pub(super) since: i128,
    pub(super) seen: Option<Seen>,
    /// Whether Redis has the amounts of all nodes.
    pub(super) is_ready: bool,
    /// Whether this process has reported it to this generation.
    pub(super) is_known: bool,
    pub(super) is_dirty: bool,
    pub(super) used: Instant,
}

impl WindowState {
    /// Returns what this gateway has spent and reserved.
    pub(super) fn own(&self) -> i128 {
        let base = match self.base {
            Base::Unknown => 0,
            Base::Redis(base) | Base::Ledger(base) => base,
        };
        base.saturating_add(self.since)
    }
}

#[derive(Debug)]
pub(super) struct ScopeState {
    pub(super) rates: Rates,
    pub(super) running: u64,
    /// Tokens used beyond what was counted.
    pub(super) correction: i64,
    pub(super) is_dirty: bool,
    pub(super) requests: Bucket,
    pub(super) tokens: Bucket,
}

/// A claim that waits.
#[derive(Debug)]
pub(super) struct ClaimWait {
    pub(super) budgets: Vec<Budget>,
    /// In picodollars.
    pub(super) amount: i128,
    /// The places of its windows in the step, with the limits in picodollars.
    pub(super) places: Vec<(usize, i128)>,
    pub(super) reply: oneshot::Sender<Result<crate::cluster::Claim, Refusal>>,
}

/// An entry that waits.
#[derive(Debug)]
pub(super) struct EntryWait {
    pub(super) rates: Vec<Rates>,
    pub(super) tokens: u64,
    /// The places of its scopes in the step.
    pub(super) places: Vec<usize>,
    pub(super) reply: oneshot::Sender<Result<crate::cluster::Entry, Refusal>>,
}

#[derive(Debug)]
pub(super) struct WindowReport {
    pub(super) window: Window,
    /// What to report, in picodollars; nothing if it must be read first.
    pub(super) own: Option<i128>,
    pub(super) is_known: bool,
}

#[derive(Debug)]
pub(super) struct ScopeReport {
    pub(super) rates: Rates,
    pub(super) correction: i64,
    pub(super) running: u64,
}

/// One step.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) number: u64,
    pub(super) introduces: bool,
    pub(super) windows: Vec<WindowReport>,
    pub(super) scopes: Vec<ScopeReport>,
    pub(super) claims: Vec<ClaimWait>,
    pub(super) entries: Vec<EntryWait>,
}

/// Claims and entries that are decided.
#[derive(Debug, Default)]
pub(super) struct Decided {
    pub(super) claims: Vec<(ClaimWait, Result<(), Refusal>)>,
    pub(super) entries: Vec<(EntryWait, Result<(), Refusal>)>,
}

/// Why Redis is not asked.
#[derive(Debug)]
pub(super) struct Down {
    pub(super) since: Instant,
    pub(super) why: String,
    /// Whether it has not been tried yet.
    pub(super) is_start: bool,
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) without: GatewayWithoutRedis,
    /// The number of gateways that is configured.
    pub(super) nodes_set: Option<u32>,
    /// The number of gateways at the last look.
    pub(super) nodes_seen: u32,
    /// When this process began, in milliseconds of Unix time.
    pub(super) start_ms: i64,
    pub(super) down: Option<Down>,
    /// When Redis could be reached again, until all nodes have reported what they used meanwhile.
    pub(super) returned: Option<Instant>,
    pub(super) is_closed: bool,
    /// Whether the ledger has all rows of this node that are older than this process.
    pub(super) is_replayed: bool,
    pub(super) generation: Arc<str>,
    /// Since when Redis has had its data.
    pub(super) generation_since: Option<Instant>,
    /// Sums of the ledger that must be put back, by node.
    pub(super) restores: VecDeque<(Window, Vec<(String, i128)>)>,
    /// The number of the last step, and of the last one that was answered.
    pub(super) number: u64,
    pub(super) answered: u64,
    pub(super) must_introduce: bool,
    /// How often another process had the name of this node, and when it had it last.
    conflicts: (u32, Option<Instant>),
    pub(super) windows: HashMap<Window, WindowState>,
    pub(super) scopes: HashMap<Arc<str>, ScopeState>,
    pub(super) claims: VecDeque<ClaimWait>,
    pub(super) entries: VecDeque<EntryWait>,
    pub(super) dirty_windows: VecDeque<Window>,
    pub(super) dirty_scopes: VecDeque<Arc<str>>,
    /// Since when something is dirty.
    pub(super) dirty_since: Option<Instant>,
    pub(super) round_trips: u64,
    pub(super) failures: u64,
    pub(super) alone: u64,
}

impl Table {
    pub(super) fn new(without: GatewayWithoutRedis, nodes: Option<u32>, start_ms: i64) -> Self {
        let why = "not connected yet".to_owned();
        Self {
            without,
            nodes_set: nodes.filter(|nodes| *nodes > 0),
            nodes_seen: 1,
            start_ms,
            down: Some(Down { since: Instant::now(), why, is_start: true }),
            returned: None,
            is_closed: false,
            is_replayed: false,
            generation: "".into(),
            generation_since: None,
            restores: VecDeque::new(),
            number: 0,
            answered: 0,
            must_introduce: true,
            conflicts: (0, None),
            windows: HashMap::new(),
            scopes: HashMap::new(),
            claims: VecDeque::new(),
            entries: VecDeque::new(),
            dirty_windows: VecDeque::new(),
            dirty_scopes: VecDeque::new(),
            dirty_since: None,
            round_trips: 0,
            failures: 0,
            alone: 0,
        }
    }

    /// Returns the number of gateways that share the limits.
    pub(super) fn nodes(&self) -> u32 {
        self.nodes_set.unwrap_or(self.nodes_seen).max(1)
    }

    /// Begins to count a budget. Returns whether it is counted: there can be too many.
    pub(super) fn track(&mut self, budget: &Budget) -> bool {
        let is_new = !self.windows.contains_key(&budget.window);
        let Some(state) = self.window(&budget.window) else { return false };
        if is_new {
            // Of the time before it had a budget.
            state.since = budget.own.picos();
        }
        true
    }

    /// Returns the state of a window, or nothing if there are too many.
    pub(super) fn window(&mut self, window: &Window) -> Option<&mut WindowState> {
        if !self.windows.contains_key(window) {
            if self.windows.len() >= MAX_TRACKED {
                return None;
            }
            let state = WindowState {
                base: Base::Unknown,
                since: 0,
                seen: None,
                is_ready: false,
                is_known: false,
                is_dirty: false,
                used: Instant::now(),
            };
            self.windows.insert(window.clone(), state);
        }
        self.windows.get_mut(window)
    }

    /// Returns the state of a scope, or nothing if there are too many.
    pub(super) fn scope(&mut self, rates: &Rates) -> Option<&mut ScopeState> {
        if !self.scopes.contains_key(&rates.scope) {
            if self.scopes.len() >= MAX_TRACKED {
                self.scopes.retain(|_, scope| scope.running > 0 || scope.is_dirty);
            }
            if self.scopes.len() >= MAX_TRACKED {
                return None;
            }
            let state = ScopeState {
                rates: rates.clone(),
                running: 0,
                correction: 0,
                is_dirty: false,
                requests: Bucket::default(),
                tokens: Bucket::default(),
            };
            self.scopes.insert(Arc::clone(&rates.scope), state);
        }
        let state = self.scopes.get_mut(&rates.scope)?;
        state.rates = rates.clone();
        Some(state)
    }

    /// Notes that a window must be reported. Returns whether it is the first.
    pub(super) fn touch_window(&mut self, window: &Window) -> bool {
        if let Some(state) = self.windows.get_mut(window)
            && !state.is_dirty
        {
            state.is_dirty = true;
            self.dirty_windows.push_back(window.clone());
        }
        self.touch()
    }

    /// Notes that a scope must be reported. Returns whether it is the first.
    pub(super) fn touch_scope(&mut self, scope: &Arc<str>) -> bool {
        if let Some(state) = self.scopes.get_mut(scope)
            && !state.is_dirty
        {
            state.is_dirty = true;
            self.dirty_scopes.push_back(Arc::clone(scope));
        }
        self.touch()
    }

    fn touch(&mut self) -> bool {
        let is_first = self.dirty_since.is_none();
        self.dirty_since.get_or_insert_with(Instant::now);
        is_first
    }

    /// Adds an amount to what this process has spent and reserved.
    pub(super) fn add(&mut self, windows: &[Window], picos: i128) {
        for window in windows {
            if let Some(state) = self.window(window) {
                state.since = state.since.saturating_add(picos);
                state.used = Instant::now();
            }
        }
    }

    /// Marks everything as dirty: Redis does not have what was reported.
    pub(super) fn report_all(&mut self, is_lost: bool) {
        let windows: Vec<Window> = self.windows.keys().cloned().collect();
        for window in &windows {
            if is_lost && let Some(state) = self.windows.get_mut(window) {
                state.is_known = false;
                state.is_ready = false;
            }
            self.touch_window(window);
        }
        self.touch_running();
    }

    fn touch_running(&mut self) {
        let running = self.scopes.iter().filter(|(_, scope)| scope.running > 0);
        let running: Vec<Arc<str>> = running.map(|(name, _)| Arc::clone(name)).collect();
        for scope in &running {
            self.touch_scope(scope);
        }
    }

    /// Marks what every beat looks at, and forgets windows that ended long ago.
    pub(super) fn beat(&mut self, now_ms: i64) {
        let is_over = |window: &Window| {
            let end = window.end_ms.unwrap_or(i64::MAX);
            end.saturating_add(2 * 86_400_000) < now_ms
        };
        self.windows.retain(|window, _| !is_over(window));
        let now = Instant::now();
        let is_recent = |state: &WindowState| now.duration_since(state.used) < RECENT;
        let recent: Vec<Window> = self
            .windows
            .iter()
            .filter(|(_, state)| !state.is_dirty && is_recent(state))
            .map(|(window, _)| window.clone())
            .collect();
        for window in &recent {
            self.touch_window(window);
        }
        self.touch_running();
    }

    /// Notes that another process has introduced itself with the name of this node.
    pub(super) fn note_conflict(&mut self) {
        let (number, last) = self.conflicts;
        let is_recent = last.is_some_and(|last| last.elapsed() < RECENT);
        self.conflicts =
            (if is_recent { number.saturating_add(1) } else { 1 }, Some(Instant::now()));
    }

    /// Returns whether another gateway uses the name of this one. A single conflict can be a late step of an earlier process.
    pub(super) fn has_conflict(&self) -> bool {
        let (number, last) = self.conflicts;
        number >= 2 && last.is_some_and(|last| last.elapsed() < RECENT)
    }

    /// Returns whether a request waits for Redis.
    pub(super) fn has_waiting(&self) -> bool {
        !self.claims.is_empty() || !self.entries.is_empty()
    }

    /// Takes the next step.
    pub(super) fn next_batch(&mut self) -> Batch {
        self.number += 1;
        let introduces = self.must_introduce;
        let mut batch = Batch { number: self.number, introduces, ..Batch::default() };
        let mut at: HashMap<Window, usize> = HashMap::new();
        self.take_claims(&mut batch, &mut at);
        self.take_entries(&mut batch);
        while batch.windows.len() < MAX_REPORTS
            && let Some(window) = self.dirty_windows.pop_front()
        {
            if let Some(state) = self.windows.get_mut(&window)
                && std::mem::take(&mut state.is_dirty)
                && !at.contains_key(&window)
            {
                batch.windows.push(report(&window, state));
            }
        }
        while batch.scopes.len() < MAX_REPORTS
            && let Some(name) = self.dirty_scopes.pop_front()
        {
            if let Some(state) = self.scopes.get_mut(&name)
                && std::mem::take(&mut state.is_dirty)
            {
                batch.scopes.push(report_scope(state));
            }
        }
        if self.dirty_windows.is_empty() && self.dirty_scopes.is_empty() {
            self.dirty_since = None;
        }
        batch
    }

    /// Moves claims into a step. Those with a window that must be read first wait for the next one.
    fn take_claims(&mut self, batch: &mut Batch, at: &mut HashMap<Window, usize>) {
        let mut later = VecDeque::new();
        while batch.claims.len() < MAX_CLAIMS
            && later.len() < MAX_CLAIMS
            && batch.windows.len() < MAX_REPORTS
            && let Some(mut claim) = self.claims.pop_front()
        {
            let mut is_read = true;
            claim.places.clear();
            for budget in &claim.budgets {
                let Some(state) = self.windows.get_mut(&budget.window) else { continue };
                state.used = Instant::now();
                is_read &= state.base != Base::Unknown;
                let place = *at.entry(budget.window.clone()).or_insert_with(|| {
                    batch.windows.push(report(&budget.window, state));
                    batch.windows.len() - 1
                });
                claim.places.push((place, budget.limit.picos()));
            }
            if is_read {
                batch.claims.push(claim);
            } else {
                later.push_back(claim);
            }
        }
        while let Some(claim) = later.pop_back() {
            self.claims.push_front(claim);
        }
    }

    fn take_entries(&mut self, batch: &mut Batch) {
        let mut at: HashMap<Arc<str>, usize> = HashMap::new();
        while batch.entries.len() < MAX_CLAIMS
            && batch.scopes.len() < MAX_REPORTS
            && let Some(mut entry) = self.entries.pop_front()
        {
            entry.places.clear();
            for rates in &entry.rates {
                let Some(state) = self.scopes.get_mut(&rates.scope) else { continue };
                let place = *at.entry(Arc::clone(&rates.scope)).or_insert_with(|| {
                    state.is_dirty = false;
                    batch.scopes.push(report_scope(state));
                    batch.scopes.len() - 1
                });
                entry.places.push(place);
            }
            batch.entries.push(entry);
        }
    }
}

fn report(window: &Window, state: &WindowState) -> WindowReport {
    let own = (state.base != Base::Unknown).then(|| state.own());
    WindowReport { window: window.clone(), own, is_known: state.is_known }
}

fn report_scope(state: &mut ScopeState) -> ScopeReport {
    let correction = std::mem::take(&mut state.correction);
    ScopeReport { rates: state.rates.clone(), correction, running: state.running }
}
