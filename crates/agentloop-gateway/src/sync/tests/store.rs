//! A store in memory that fails on request.

use std::sync::Mutex;

use agentloop::BoxFuture;

use super::*;
use crate::store::{By, DeletedSum, UsageQuery, UsageSum};

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// With an error, and nothing happens.
    Refuse,
    /// With an error, although it happens.
    FailAfterwards,
    /// It never ends.
    Hang,
}

#[derive(Debug, Default)]
pub(crate) struct FaultyStore {
    pub(crate) memory: MemoryStore,
    append: Mutex<Option<Fault>>,
    read: Mutex<Option<Fault>>,
    batches: Mutex<Vec<usize>>,
    questions: AtomicU64,
}

impl FaultyStore {
    pub(crate) fn set_append(&self, fault: Option<Fault>) {
        *self.append.lock().unwrap() = fault;
    }

    pub(super) fn set_read(&self, fault: Option<Fault>) {
        *self.read.lock().unwrap() = fault;
    }

    /// Returns how many rows each batch had that was stored.
    pub(super) fn batches(&self) -> Vec<usize> {
        self.batches.lock().unwrap().clone()
    }

    /// Returns how many rows there are.
    pub(super) fn ids(&self) -> usize {
        let query = UsageQuery::new(None, RowFilter::default());
        let sums = futures_now(self.memory.usage(&query)).unwrap();
        sums.first().map_or(0, |sum| usize::try_from(sum.calls).unwrap())
    }

    pub(super) fn questions(&self) -> u64 {
        self.questions.load(Ordering::Relaxed)
    }

    async fn run<T>(
        &self,
        fault: Option<Fault>,
        operation: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let error = || Error::new(ErrorKind::Server, "the store fails on request");
        match fault {
            None => operation.await,
            Some(Fault::Refuse) => Err(error()),
            Some(Fault::FailAfterwards) => operation.await.and_then(|_| Err(error())),
            Some(Fault::Hang) => std::future::pending().await,
        }
    }

    fn read<'a, T: Send + 'a>(
        &'a self,
        operation: BoxFuture<'a, Result<T>>,
    ) -> BoxFuture<'a, Result<T>> {
        let fault = *self.read.lock().unwrap();
        Box::pin(self.run(fault, operation))
    }

    fn write<'a, T: Send + 'a>(
        &'a self,
        operation: BoxFuture<'a, Result<T>>,
    ) -> BoxFuture<'a, Result<T>> {
        let fault = *self.append.lock().unwrap();
        Box::pin(self.run(fault, operation))
    }
}

/// Runs a future that does not wait.
fn futures_now<T>(mut future: BoxFuture<'_, T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("it waits"),
    }
}

impl Store for FaultyStore {
    fn keys_version(&self) -> BoxFuture<'_, Result<u64>> {
        self.read(self.memory.keys_version())
    }

    fn load_keys(&self) -> BoxFuture<'_, Result<KeyTable>> {
        self.read(self.memory.load_keys())
    }

    fn create_key(&self, key: KeyRecord) -> BoxFuture<'_, Result<()>> {
        self.memory.create_key(key)
    }

    fn update_key(&self, key: KeyRecord) -> BoxFuture<'_, Result<()>> {
        self.memory.update_key(key)
    }

    fn revoke_key<'a>(&'a self, name: &'a str, now_ms: i64) -> BoxFuture<'a, Result<bool>> {
        self.memory.revoke_key(name, now_ms)
    }

    fn put_team(&self, team: TeamRecord) -> BoxFuture<'_, Result<()>> {
        self.memory.put_team(team)
    }

    fn remove_team<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool>> {
        self.memory.remove_team(name)
    }

    fn append(&self, rows: Arc<[LedgerRow]>) -> BoxFuture<'_, Result<()>> {
        let count = rows.len();
        let stored = self.memory.append(rows);
        let noted = async move {
            stored.await?;
            self.batches.lock().unwrap().push(count);
            Ok(())
        };
        self.write(Box::pin(noted))
    }

    fn put_prices(&self, prices: Vec<(PriceId, String)>) -> BoxFuture<'_, Result<()>> {
        self.write(self.memory.put_prices(prices))
    }

    fn price<'a>(&'a self, id: &'a PriceId) -> BoxFuture<'a, Result<Option<String>>> {
        self.memory.price(id)
    }

    fn usage<'a>(&'a self, query: &'a UsageQuery) -> BoxFuture<'a, Result<Vec<UsageSum>>> {
        self.questions.fetch_add(1, Ordering::Relaxed);
        self.read(self.memory.usage(query))
    }

    fn rows<'a>(
        &'a self,
        filter: &'a RowFilter,
        after: Option<(i64, &'a str)>,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>>> {
        self.memory.rows(filter, after)
    }

    fn deleted<'a>(
        &'a self,
        by: By,
        name: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<DeletedSum>>> {
        self.read(self.memory.deleted(by, name))
    }

    fn prune(&self, before_ms: i64) -> BoxFuture<'_, Result<u64>> {
        self.write(self.memory.prune(before_ms))
    }

    fn forget_rows<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<u64>> {
        self.memory.forget_rows(key)
    }

    fn forget_key<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool>> {
        self.memory.forget_key(name)
    }
}
