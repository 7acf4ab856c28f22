//! With a real Redis that each test starts.

mod accounts;
mod budgets;
mod faults;
mod figures;
mod hostile;
mod model;
mod proxy;
mod rates;

use std::sync::Arc;
use std::time::Duration;

use agentloop::{GatewayPeriod, GatewayWithoutRedis, Secret, Usd};

use super::{RedisCluster, RedisSettings};
use crate::cluster::{Budget, Claim, Cluster, Rates, Refusal, Window};
use crate::servers::patience::{PATIENCE, until};
use crate::servers::redis::{RedisServer, signal};
use crate::store::{LedgerRow, MemoryStore, Store};

/// The time of the nodes: 2026-11-16T12:00:00Z.
const NOON: i64 = 1_794_830_400_000;
const DAY: i64 = 86_400_000;

fn usd(text: &str) -> Usd {
    text.parse().unwrap()
}

fn settings(url: &str, node: &str) -> RedisSettings {
    RedisSettings {
        url: Secret::new(url.to_owned()),
        node: node.to_owned(),
        without: GatewayWithoutRedis::LocalShare,
        nodes: None,
        deadline: PATIENCE,
        grace: Duration::from_millis(100),
        now_ms: NOON,
    }
}

async fn open(settings: RedisSettings, store: &Arc<MemoryStore>) -> Arc<RedisCluster> {
    let store = Arc::clone(store) as Arc<dyn Store>;
    let cluster = RedisCluster::open(settings, store).await.unwrap();
    cluster.set_replayed();
    Arc::new(cluster)
}

/// Three gateways.
async fn three(server: &RedisServer, store: &Arc<MemoryStore>) -> [Arc<RedisCluster>; 3] {
    let url = server.url();
    [
        open(settings(&url, "a"), store).await,
        open(settings(&url, "b"), store).await,
        open(settings(&url, "c"), store).await,
    ]
}

/// The day of `NOON`.
fn day(scope: &str) -> Window {
    let start_ms = NOON - NOON % DAY;
    let end_ms = Some(start_ms + DAY);
    Window { scope: scope.into(), per: GatewayPeriod::Day, start_ms, end_ms }
}

fn budget(scope: &str, limit: &str) -> Budget {
    Budget { window: day(scope), limit: usd(limit), known: Usd::default(), own: Usd::default() }
}

fn rates(scope: &str) -> Rates {
    Rates {
        scope: scope.into(),
        requests_per_minute: None,
        tokens_per_minute: None,
        concurrency: None,
    }
}

async fn reserve(node: &RedisCluster, limit: &str, amount: &str) -> Result<Claim, Refusal> {
    node.reserve(vec![budget("key:k", limit)], usd(amount)).await
}

/// A row of the ledger of the key `k`.
fn row(node: &str, id: &str, cost: &str, time_ms: i64) -> LedgerRow {
    LedgerRow {
        id: id.to_owned(),
        node: node.to_owned(),
        key: "k".to_owned(),
        time_ms,
        usd: Some(usd(cost)),
        ..LedgerRow::default()
    }
}

fn connect(server: &RedisServer) -> redis::Connection {
    redis::Client::open(server.url()).unwrap().get_connection().unwrap()
}

/// Returns what Redis has of the day of the key `k`, in nanodollars: (node, amount).
fn columns(server: &RedisServer) -> Vec<(String, i64)> {
    let key = super::script::window_key(&day("key:k"));
    let mut fields: Vec<(String, i64)> =
        redis::cmd("HGETALL").arg(key).query(&mut connect(server)).unwrap();
    fields.sort();
    fields
}

fn column(server: &RedisServer, node: &str) -> i64 {
    let field = format!("n:{node}");
    columns(server).into_iter().find(|(name, _)| *name == field).map_or(0, |(_, amount)| amount)
}
