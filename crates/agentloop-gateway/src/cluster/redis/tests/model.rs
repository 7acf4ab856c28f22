//! The script against a model, for random steps of three nodes.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::super::script::{self, Answer, Sender, read};
use super::super::table::{Batch, ClaimWait, WindowReport};
use super::*;

/// What one node does.
#[derive(Clone, Debug)]
enum Act {
    /// Claims an amount of some windows, all or nothing.
    Claim { node: usize, windows: Vec<usize>, amount: i64 },
    /// Gives back or spends what it holds.
    Report { node: usize, window: usize, own: i64 },
    /// The step arrives a second time, late.
    Repeat { node: usize },
}

const LIMIT: i64 = 100;
const NODES: [&str; 3] = ["a", "b", "c"];

fn act() -> impl Strategy<Value = Act> {
    let node = 0..3_usize;
    let windows = prop::collection::btree_set(0..3_usize, 1..3);
    prop_oneof![
        4 => (node.clone(), windows, 0..60_i64).prop_map(|(node, windows, amount)| Act::Claim {
            node,
            windows: windows.into_iter().collect(),
            amount,
        }),
        2 => (node.clone(), 0..3_usize, 0..60_i64)
            .prop_map(|(node, window, own)| Act::Report { node, window, own }),
        1 => node.prop_map(|node| Act::Repeat { node }),
    ]
}

fn window(at: usize) -> Window {
    day(&format!("key:{at}"))
}

/// Runs a step of a node.
fn run(redis: &mut redis::Connection, node: &str, batch: &Batch) -> Answer {
    let sender = Sender { node, epoch: &format!("e{node}"), now_ms: NOON };
    let command = script::step(&sender, batch, "g").whole;
    read(command.query(redis).unwrap(), batch)
}

#[test]
fn scripts_do_what_the_model_does() {
    let Some(server) = RedisServer::start() else { return };
    let config =
        ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() };
    let acts = prop::collection::vec(act(), 1..40);
    TestRunner::new(config).run(&acts, |acts| check(&server, acts)).unwrap();
}

fn check(server: &RedisServer, acts: Vec<Act>) -> Result<(), TestCaseError> {
    server.say(&["FLUSHALL"]).unwrap();
    let mut redis = connect(server);
    // What each node holds of each window.
    let mut model: HashMap<(usize, usize), i64> = HashMap::new();
    let mut last: HashMap<usize, Batch> = HashMap::new();
    for (number, act) in acts.into_iter().enumerate() {
        let number = u64::try_from(number).unwrap() + 1;
        let (node, wanted, claimed) = match &act {
            Act::Repeat { node } => {
                if let Some(batch) = last.get(node) {
                    prop_assert_eq!(run(&mut redis, NODES[*node], batch), Answer::Invalid);
                }
                continue;
            }
            Act::Claim { node, windows, amount } => (*node, windows.clone(), Some(*amount)),
            Act::Report { node, window, own } => {
                model.insert((*node, *window), *own);
                (*node, vec![*window], None)
            }
        };
        let own = |model: &HashMap<_, i64>, at| *model.get(&(node, at)).unwrap_or(&0);
        let report = |at: &usize| WindowReport {
            window: window(*at),
            own: Some(i128::from(own(&model, *at)) * 1_000),
            is_known: false,
        };
        let claims = claimed.map(|amount| ClaimWait {
            budgets: Vec::new(),
            amount: i128::from(amount) * 1_000,
            places: (0..wanted.len()).map(|at| (at, i128::from(LIMIT) * 1_000)).collect(),
            reply: tokio::sync::oneshot::channel().0,
        });
        let batch = Batch {
            number,
            introduces: !last.contains_key(&node),
            windows: wanted.iter().map(report).collect(),
            claims: claims.into_iter().collect(),
            ..Batch::default()
        };
        let Answer::Done(results) = run(&mut redis, NODES[node], &batch) else {
            return Err(TestCaseError::fail("the step was not made"));
        };
        let sum = |at: usize| (0..3).map(|node| model.get(&(node, at)).unwrap_or(&0)).sum::<i64>();
        for (at, result) in wanted.iter().zip(&results.windows) {
            prop_assert_eq!(result.others, sum(*at) - own(&model, *at));
        }
        if let Some(amount) = claimed {
            let refused = wanted.iter().position(|at| sum(*at) + amount > LIMIT);
            prop_assert_eq!(results.claims[0], refused.map_or(0, |at| at + 1));
            if refused.is_none() {
                for at in &wanted {
                    *model.entry((node, *at)).or_default() += amount;
                }
            }
        }
        last.insert(node, batch);
    }
    for at in 0..3 {
        let key = script::window_key(&window(at));
        let fields: HashMap<String, i64> =
            redis::cmd("HGETALL").arg(key).query(&mut redis).unwrap();
        for (node, name) in NODES.iter().enumerate() {
            let has = fields.get(&format!("n:{name}")).copied().unwrap_or(0);
            prop_assert_eq!(has, *model.get(&(node, at)).unwrap_or(&0));
        }
    }
    Ok(())
}
