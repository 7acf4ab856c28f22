//! Budgets hold and the ledger equals the provider's bill, over real sockets.

use std::sync::Arc;

use agentloop::{Protocol, Usd};
use agentloop_gateway::{KeyRecord, LedgerRow, Outcome, RowFilter, Store, new_key};
use agentloop_sim::Simulator;
use serde_json::json;

use crate::common::{CLIENTS, KEY, Stage, TestStore, UPSTREAMS, chat, pairs, post};
use crate::servers::patience::{PATIENCE, until};

/// The prices of a model for each provider: a millionth of a dollar for a token of the prompt, and two for one of the response.
fn prices(models: &[&str]) -> String {
    let each = UPSTREAMS.iter().flat_map(|(name, _)| {
        models.iter().map(move |model| {
            format!(
                "[[models.\"{name}/{model}\".prices]]\nper_million = {{ input = \"1\", output = \"2\" }}\n"
            )
        })
    });
    each.collect()
}

async fn stage(settings: &str, models: &[&str]) -> (Stage, TestStore) {
    let store = TestStore::new();
    let settings = format!("{settings}\n{}", prices(models));
    let stage = Stage::with_store(Simulator::new(), &settings, store.shared()).await;
    (stage, store)
}

/// Returns all rows, once everything is stored.
async fn rows(stage: &Stage, store: &TestStore) -> Vec<LedgerRow> {
    assert!(stage.gateway.accounts().close(PATIENCE).await);
    store.rows(&RowFilter::default(), None).await.unwrap()
}

fn sum(rows: &[LedgerRow]) -> Usd {
    rows.iter().fold(Usd::default(), |sum, row| sum + row.usd.unwrap())
}

fn price(prompt: u64, completion: u64) -> Usd {
    Usd::from_picos(i128::from(prompt + 2 * completion) * 1_000_000)
}

#[tokio::test]
async fn the_ledger_equals_the_bill_for_every_pair_of_apis() {
    let settings = "[gateway.routes.spare]\nmodels = ['chat/echo!status=503', 'claude/echo']\n";
    let (stage, store) = stage(settings, &["echo", "think", "embed", "echo!status=503"]).await;
    for (name, _, client) in pairs() {
        for (model, stream) in [("echo", false), ("echo", true), ("think", true)] {
            let (path, body) = chat(client, &format!("{name}/{model}"), stream);
            assert_eq!(stage.post(&path, &body).await.status, 200);
        }
    }
    // A fallback: the first provider reports an error, which costs nothing.
    let (path, body) = chat(Protocol::OpenAiChat, "spare", false);
    assert_eq!(stage.post(&path, &body).await.status, 200);
    let body = json!({ "model": "chat/embed", "input": ["one two", "three"] });
    assert_eq!(stage.post("/v1/embeddings", &body).await.status, 200);
    // A count costs nothing and has no row.
    let body = json!({ "model": "claude/echo", "messages": [{ "role": "user", "content": "a" }] });
    assert_eq!(stage.post("/v1/messages/count_tokens", &body).await.status, 200);
    let rows = rows(&stage, &store).await;
    assert_eq!(rows.len(), UPSTREAMS.len() * CLIENTS.len() * 3 + 2);
    assert!(rows.iter().all(|row| row.outcome == Outcome::Complete && !row.estimated));
    assert!(rows.iter().all(|row| row.usd.unwrap() <= row.reserved), "the bound is 0");
    let bill = stage.simulator.ledger();
    let prompt: u64 = rows.iter().map(|row| row.prompt_tokens).sum();
    let completion: u64 = rows.iter().map(|row| row.completion_tokens).sum();
    assert_eq!((prompt, completion), (bill.prompt_tokens, bill.completion_tokens));
    assert_eq!(sum(&rows), price(prompt, completion));
    let one = &rows[0];
    assert_eq!((one.key.as_str(), one.call.as_str(), one.status), ("test", "chat", 200));
    assert!(one.request.starts_with("req_") && one.duration_ms < 60_000);
    let prices = store.price(one.price.as_ref().unwrap()).await.unwrap().unwrap();
    assert!(prices.contains("per_million"), "{prices}");
}

/// Every call that may have cost something has a row, and an estimate is wrong by at most what was reserved.
#[tokio::test]
async fn broken_and_cancelled_calls_have_estimated_rows() {
    let cut = "long-40!cut-events=8;reset";
    let stall = "long-40!stall-events=8";
    let settings = "[gateway]\nretries = 0\n[timeouts]\nidle = 0.4\nfirst_content = 2\n";
    let (stage, store) = stage(settings, &[cut, stall, "echo!refuse", "echo!status=500"]).await;
    for (name, _) in UPSTREAMS {
        let (path, body) = chat(Protocol::Anthropic, &format!("{name}/{cut}"), true);
        assert_eq!(stage.post(&path, &body).await.status, 200);
        let (path, body) = chat(Protocol::Gemini, &format!("{name}/{stall}"), true);
        let mut response = stage.open(&path, &body).await;
        assert!(response.body_mut().next().await.is_some());
        drop(response);
        let (path, body) = chat(Protocol::OpenAiChat, &format!("{name}/echo!status=500"), false);
        assert_eq!(stage.post(&path, &body).await.status, 500);
        let (path, body) = chat(Protocol::OpenAiChat, &format!("{name}/echo!refuse"), false);
        assert_eq!(stage.post(&path, &body).await.status, 502);
    }
    stage.records.wait(28).await;
    let rows = rows(&stage, &store).await;
    // An error status costs nothing. What a connection that broke cost is not known.
    let of = |outcome: Outcome| rows.iter().filter(|row| row.outcome == outcome).count();
    assert_eq!((of(Outcome::Failed), of(Outcome::Cancelled), rows.len()), (14, 7, 21));
    let bill = stage.simulator.ledger();
    let billed = price(bill.prompt_tokens, bill.completion_tokens);
    let wrong = (billed - sum(&rows)).max(sum(&rows) - billed);
    let reserved = rows.iter().fold(Usd::default(), |sum, row| sum + row.reserved);
    assert!(wrong <= reserved, "{billed} {} {reserved}", sum(&rows));
    for row in &rows {
        assert!(row.estimated && row.usd.unwrap() <= row.reserved, "{row:?}");
    }
}

// Audio and images were charged as if their bytes were text, which is hundreds of times what they cost.
#[tokio::test]
async fn no_modality_costs_more_than_was_reserved_and_a_disconnect_is_charged() {
    let models = ["image", "speech", "rerank", "moderation"];
    let (stage, store) = stage("budget = '1'\n", &models).await;
    let speech = json!({ "model": "chat/speech", "input": "Good morning. ".repeat(200), "voice": "a",
        "response_format": "wav" });
    for (path, body) in [
        ("/v1/images/generations", json!({ "model": "chat/image", "prompt": "a cat" })),
        ("/v1/audio/speech", speech.clone()),
        ("/v1/rerank", json!({ "model": "chat/rerank", "query": "a", "documents": ["b", "c"] })),
        ("/v1/moderations", json!({ "model": "chat/moderation", "input": "a" })),
    ] {
        let reply = stage.post(path, &body).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
    let response = stage.open("/v1/audio/speech", &speech).await;
    drop(response);
    stage.records.wait(5).await;
    let rows = rows(&stage, &store).await;
    assert_eq!(rows.len(), 5, "{rows:?}");
    for row in &rows {
        assert!(row.usd.unwrap() <= row.reserved, "{row:?}");
    }
    let spoken: Vec<_> = rows.iter().filter(|row| row.call == "speech").collect();
    assert_eq!((spoken.len(), spoken[0].completion_tokens), (2, 2 * 2_800));
}

#[tokio::test]
async fn many_callers_at_once_never_exceed_a_budget_of_one_dollar() {
    let mut settings =
        "budget = '1'\nteam = 'web'\n[gateway.teams.web]\nbudget = '9/day'\n".to_owned();
    // A call costs about a cent.
    for (name, _) in UPSTREAMS {
        settings += &format!(
            "[[models.\"{name}/length\".prices]]\nper_million = {{ input = \"20\", output = \"40\" }}\n"
        );
    }
    let (stage, store) = stage(&settings, &[]).await;
    let stage = Arc::new(stage);
    let callers = (0..64).map(|number| {
        let stage = Arc::clone(&stage);
        tokio::spawn(async move {
            let mut statuses = Vec::new();
            for _ in 0..4 {
                let (name, _) = UPSTREAMS[number % UPSTREAMS.len()];
                let body = json!({ "model": format!("{name}/length"), "max_tokens": 300, "stream": number % 2 == 0,
                    "messages": [{ "role": "user", "content": "Write." }] });
                statuses.push(stage.post("/v1/chat/completions", &body).await.status);
            }
            statuses
        })
    });
    let mut statuses = Vec::new();
    for caller in callers.collect::<Vec<_>>() {
        statuses.extend(caller.await.unwrap());
    }
    let served = statuses.iter().filter(|status| **status == 200).count();
    assert!(statuses.iter().all(|status| [200, 402].contains(status)), "{statuses:?}");
    let rows = rows(&stage, &store).await;
    assert_eq!(rows.len(), served);
    let spent = sum(&rows);
    let budget: Usd = "1".parse().unwrap();
    assert!(spent <= budget, "{spent}");
    // What is left is less than one more call can cost, with what was reserved for the prompt.
    assert!(spent > "0.97".parse().unwrap(), "{spent} in {served} calls");
    let bill = stage.simulator.ledger();
    let billed = i128::from(bill.prompt_tokens + 2 * bill.completion_tokens) * 20_000_000;
    assert_eq!(spent, Usd::from_picos(billed), "the ledger is the bill");
}

#[tokio::test]
async fn an_exhausted_budget_is_final_in_every_api() {
    let (stage, _) = stage("budget = '0.000001/month'\n", &["echo"]).await;
    for (_, client) in CLIENTS {
        let (path, body) = chat(client, "chat/echo", false);
        let reply = stage.post(&path, &body).await;
        let (status, code) = match client {
            Protocol::OpenAiResponses => (429, "insufficient_quota"),
            _ => (402, "budget_exceeded"),
        };
        assert_eq!(reply.status, status, "{}", reply.text());
        assert_eq!(reply.headers["x-should-retry"], "false");
        if matches!(client, Protocol::OpenAiChat | Protocol::OpenAiResponses) {
            assert_eq!(reply.json()["error"]["code"], code);
        }
        assert!(reply.text().contains("`test` is 0.000001 USD per month"), "{}", reply.text());
    }
    let (path, body) = chat(Protocol::OpenAiChat, "chat/other", false);
    let reply = stage.post(&path, &body).await;
    assert_eq!(
        (reply.status, &reply.json()["error"]["code"]),
        (403, &json!("model_without_price"))
    );
    assert_eq!(stage.simulator.ledger().calls, 0);
}

#[tokio::test]
async fn limits_refuse_with_a_time_and_counting_tokens_is_not_limited() {
    let (stage, _) = stage("requests_per_minute = 2\n", &["echo"]).await;
    let (path, body) = chat(Protocol::Anthropic, "claude/echo", false);
    for _ in 0..24 {
        assert_eq!(stage.post("/v1/messages/count_tokens", &body).await.status, 200);
    }
    assert_eq!(stage.post(&path, &body).await.status, 200);
    assert_eq!(stage.post(&path, &body).await.status, 200);
    let reply = stage.post(&path, &body).await;
    assert_eq!(reply.status, 429, "{}", reply.text());
    let wait: u64 = reply.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=30).contains(&wait), "{wait}");
    assert!(!reply.headers.contains_key("x-should-retry"));
    assert!(reply.text().contains("2 requests per minute"), "{}", reply.text());
}

#[tokio::test]
async fn requests_are_marked_with_tags() {
    let (stage, store) = stage("tags = ['web']\n", &["echo"]).await;
    let (path, body) = chat(Protocol::OpenAiChat, "chat/echo", false);
    let send = |tags: &'static str| {
        let request = post(&stage.at(&path), KEY).header("x-agentloop-tags", tags);
        stage.send(request, body.to_string())
    };
    assert_eq!(send("run:7, nightly").await.status, 200);
    let refused = send("a b").await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!("invalid_tags")));
    let rows = rows(&stage, &store).await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].tags, ["web", "run:7", "nightly"]);
}

#[tokio::test]
async fn a_key_of_the_store_works_until_it_is_revoked() {
    let (stage, store) = stage("", &["echo"]).await;
    let (key, sha256) = new_key().unwrap();
    let mut record = KeyRecord::default();
    (record.name, record.sha256) = ("ada".to_owned(), sha256);
    record.models = Some(vec!["chat/*".to_owned()]);
    store.create_key(record).await.unwrap();
    let status = async |model: &str| {
        let (path, body) = chat(Protocol::OpenAiChat, model, false);
        stage.post_as(key.expose(), &path, &body).await.status
    };
    let becomes = async |wanted: u16| {
        let what = format!("the status is {wanted}");
        until(&what, async || status("chat/echo").await == wanted).await;
    };
    becomes(200).await;
    assert_eq!(status("claude/echo").await, 403);
    assert!(store.revoke_key("ada", 1).await.unwrap());
    becomes(401).await;
    let health = stage.get("/health/ready").await;
    assert_eq!((health.status, health.text()), (200, "ready\n"));
    assert_eq!(rows(&stage, &store).await[0].key, "ada");
}

#[tokio::test]
async fn responses_of_the_cache_have_rows_without_a_cost() {
    let settings = "[gateway.routes.same]\nmodels = ['chat/echo']\ncache = { ttl = 60 }\n";
    let (stage, store) = stage(settings, &["echo"]).await;
    let (path, body) = chat(Protocol::OpenAiChat, "same", false);
    for _ in 0..3 {
        assert_eq!(stage.post(&path, &body).await.status, 200);
    }
    let rows = rows(&stage, &store).await;
    let outcomes: Vec<Outcome> = rows.iter().map(|row| row.outcome).collect();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Outcome::Cached).count(), 2);
    assert_eq!(rows.len(), 3);
    let bill = stage.simulator.ledger();
    assert_eq!(sum(&rows), price(bill.prompt_tokens, bill.completion_tokens));
}
