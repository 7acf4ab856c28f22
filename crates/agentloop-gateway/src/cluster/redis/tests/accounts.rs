//! The accounts of three gateways.

use agentloop::GatewayLedger;

use super::*;
use crate::account::tests::{model, reserve};
use crate::account::{Accounts, End, Hold, Pass};
use crate::store::{KeyRecord, Limits, Outcome};

async fn gateways(server: &RedisServer) -> Vec<Accounts> {
    let (store, mut gateways) = (Arc::default(), Vec::new());
    for name in ["a", "b", "c"] {
        let accounts = Accounts::in_memory();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let mut settings = settings(&server.url(), name);
        settings.now_ms = i64::try_from(now.as_millis()).unwrap();
        accounts.set_cluster(open(settings, &store).await);
        gateways.push(accounts);
    }
    gateways
}

/// Makes a call that reserves 0.02 dollars.
async fn call(accounts: &Accounts, pass: &Arc<Pass>) -> Result<Hold, agentloop::Error> {
    let (model, settings) = (model("10", "10"), GatewayLedger::default());
    reserve(accounts, pass, Some(&model), (1_000, 1_000), &settings).await
}

/// Ends a call of which so many bytes were received. Returns its cost.
fn end(hold: Hold, received: usize) -> i128 {
    let outcome = Outcome::Cancelled;
    let end = End { outcome, usage: None, cost: None, received, first_byte: None, status: 200 };
    hold.settle(&end).unwrap().usd.picos()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_of_one_dollar_holds_for_sixty_four_callers_on_three_gateways() {
    let Some(server) = RedisServer::start() else { return };
    let gateways = gateways(&server).await;
    let budgets = vec!["1".parse().unwrap(), "1/month".parse().unwrap()];
    let limits = Limits { budgets, concurrency: Some(200), ..Limits::default() };
    let key = Arc::new(KeyRecord { name: "k".to_owned(), limits, ..KeyRecord::default() });
    for accounts in &gateways {
        let pass = accounts.enter(&key, None, 0).await.unwrap();
        call(accounts, &pass).await.unwrap().release();
        until("sums are complete", async || accounts.cluster_health().unwrap().incomplete == 0)
            .await;
    }
    let mut callers = Vec::new();
    for caller in 0..64 {
        let (accounts, key) = (gateways[caller % 3].clone(), Arc::clone(&key));
        callers.push(tokio::spawn(async move {
            let (mut spent, mut refused) = (0, 0);
            while refused < 3 {
                let pass = accounts.enter(&key, None, 2_000).await.unwrap();
                match call(&accounts, &pass).await {
                    Ok(hold) => {
                        tokio::task::yield_now().await;
                        // Every third costs what was reserved; the others 0.0101 dollars, as estimated.
                        spent += end(hold, if spent % 3 == 0 { 4_000 } else { 40 });
                    }
                    Err(error) => {
                        assert_eq!(error.code(), Some("budget_exceeded"), "{error}");
                        refused += 1;
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                }
            }
            spent
        }));
    }
    let mut spent = 0;
    for caller in callers {
        spent += caller.await.unwrap();
    }
    // Callers that were refused because of what others had reserved have left something.
    let pass = gateways[0].enter(&key, None, 2_000).await.unwrap();
    while let Ok(hold) = call(&gateways[0], &pass).await {
        spent += end(hold, 40);
    }
    assert!(spent <= usd("1").picos(), "{spent}");
    assert!(spent >= usd("0.98").picos(), "less than one more call is left: {spent}");
}
