//! A budget over all calls.

use std::time::Duration;

use agentloop::middleware::{Jitter, Retry, RetryBudget};

use crate::middleware::lab::{KINDS, Kind, Lab, ask, client};

#[tokio::test(start_paused = true)]
async fn no_call_is_retried_when_the_budget_is_used_up() {
    for kind in KINDS {
        let lab = Lab::failing("lab", "status=500");
        // One retry to begin with, and a tenth of one for every call.
        let budget = RetryBudget::new(0.1, 0.1);
        let retry = Retry::new().jitter(Jitter::fixed(0.0)).budget(budget);
        let ai = client([&lab], retry);
        for _ in 0..30 {
            let seen = ask(&ai, kind, "lab").await;
            assert!(!seen.error().causes().is_empty() || seen.error().hint().is_some());
        }
        assert_eq!(lab.calls(), 30 + 4, "{kind:?}");
        tokio::time::advance(Duration::from_secs(20)).await;
        ask(&ai, kind, "lab").await;
        assert_eq!(lab.calls(), 34 + 3);
    }
}

#[tokio::test(start_paused = true)]
async fn clients_can_share_one_budget() {
    let (a, b) = (Lab::failing("a", "status=500"), Lab::failing("b", "status=500"));
    let retry = Retry::new().max_retries(9).budget(RetryBudget::new(0.0, 0.5));
    ask(&client([&a], retry.clone().jitter(Jitter::fixed(0.0))), Kind::Chat, "a").await;
    ask(&client([&b], retry.jitter(Jitter::fixed(0.0))), Kind::Chat, "b").await;
    assert_eq!((a.calls(), b.calls()), (6, 1));
}
