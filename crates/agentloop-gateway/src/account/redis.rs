//! The Redis server of several gateways.

use std::sync::Arc;

use agentloop::{GatewayRedis, Result, Secret};

use super::Accounts;
use crate::cluster::redis::{REDIS_DEADLINE, REDIS_GRACE, RedisCluster, RedisSettings};
use crate::store::Store;

impl Accounts {
    /// Shares limits and budgets with other gateways through a Redis server (feature `redis`). `store` has the ledger of all of them.
    ///
    /// It waits at most a second for the server. If that does not respond, the policy of `settings` applies until it does.
    ///
    /// ```no_run
    /// # async fn example(accounts: agentloop_gateway::Accounts) -> agentloop::Result<()> {
    /// use std::sync::Arc;
    ///
    /// use agentloop::GatewayRedis;
    /// use agentloop_gateway::SqliteStore;
    ///
    /// let store = Arc::new(SqliteStore::open("gateway.db")?);
    /// accounts.join_redis(&"redis://10.0.0.5".into(), &GatewayRedis::default(), store).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the URL is not one of a Redis server. It is not part of the error.
    pub async fn join_redis(
        &self,
        url: &Secret,
        settings: &GatewayRedis,
        store: Arc<dyn Store>,
    ) -> Result<()> {
        let settings = RedisSettings {
            url: url.clone(),
            node: self.0.node.clone(),
            without: settings.without,
            nodes: settings.nodes,
            deadline: REDIS_DEADLINE,
            grace: REDIS_GRACE,
            now_ms: self.now_ms(),
        };
        self.set_cluster(Arc::new(RedisCluster::open(settings, store).await?));
        Ok(())
    }

    /// Checks the URL of a Redis server, without connecting to it (feature `redis`).
    ///
    /// ```
    /// use agentloop_gateway::Accounts;
    ///
    /// assert!(Accounts::check_redis(&"redis://127.0.0.1:6379/1".into()).is_ok());
    /// assert!(Accounts::check_redis(&"http://127.0.0.1".into()).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// When it cannot be used. The URL is not part of the error.
    pub fn check_redis(url: &Secret) -> Result<()> {
        RedisCluster::check(url)
    }
}
