//! Connections that operations borrow, each operation with a deadline.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentloop::Result;
use agentloop::internal::lock;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Error as PostgresError, Statement};

use super::error::{self, Failure};
use super::migrate;
use super::url::Target;

/// A few connections to a database.
pub(super) struct Pool {
    target: Arc<Target>,
    deadline: Duration,
    permits: Semaphore,
    idle: Mutex<Vec<Session>>,
}

impl Pool {
    pub(super) fn new(target: Arc<Target>, connections: usize, deadline: Duration) -> Self {
        let permits = Semaphore::new(connections);
        Self { target, deadline, permits, idle: Mutex::default() }
    }

    /// Runs an operation. `what` describes it in errors.
    ///
    /// The inner result of `work` is one that leaves the connection as it was. After any other end (an error, the deadline, a caller
    /// that stopped waiting) it is not known what the connection is doing, so it is closed.
    pub(super) async fn run<T>(
        &self,
        what: &str,
        work: impl AsyncFnOnce(&mut Session) -> Result<Result<T>, Failure>,
    ) -> Result<T> {
        let operation = async {
            // It is closed only with the pool.
            let _permit = self.permits.acquire().await.map_err(|_| error::closed())?;
            let mut session = match self.take_idle() {
                Some(session) => session,
                None => Session::open(&self.target, self.deadline).await?,
            };
            let result = work(&mut session).await?;
            lock(&self.idle).push(session);
            Ok::<_, Failure>(result)
        };
        match tokio::time::timeout(self.deadline, operation).await {
            Ok(Ok(result)) => result,
            Ok(Err(failure)) => Err(failure.describe(what)),
            Err(_) => Err(error::late(what, self.deadline)),
        }
    }

    /// Returns whether there is an idle connection that is not known to be closed.
    #[cfg(test)]
    pub(super) fn has_idle(&self) -> bool {
        let idle = lock(&self.idle);
        idle.iter().any(|session| !session.client.is_closed())
    }

    /// Takes a connection that the server has not closed meanwhile.
    fn take_idle(&self) -> Option<Session> {
        let mut idle = lock(&self.idle);
        idle.retain(|session| !session.client.is_closed());
        idle.pop()
    }
}

/// A connection, with what was prepared on it.
pub(super) struct Session {
    pub(super) client: Client,
    statements: HashMap<&'static str, Statement>,
    driver: JoinHandle<()>,
}

impl Session {
    async fn open(target: &Target, deadline: Duration) -> Result<Self, Failure> {
        let (client, connection) = target.config.connect(target.tls.clone()).await?;
        let driver = tokio::spawn(async move {
            // The operation that waits for a response gets the error.
            let _ = connection.await;
        });
        let mut session = Self { client, statements: HashMap::new(), driver };
        // The server gives up when the operation has ended. A commit is on disk before it is reported, because the journal deletes what
        // is stored.
        let timeout = deadline.as_millis();
        let settings = format!(
            "SET statement_timeout = {timeout}; \
             SET idle_in_transaction_session_timeout = {timeout}; \
             SELECT set_config('synchronous_commit', 'on', false) \
             WHERE current_setting('synchronous_commit') = 'off'"
        );
        session.client.batch_execute(&settings).await?;
        migrate::check(&mut session).await?;
        Ok(session)
    }

    /// Returns a statement, which is prepared once.
    pub(super) async fn prepare(&mut self, sql: &'static str) -> Result<Statement, PostgresError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
