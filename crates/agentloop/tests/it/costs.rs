//! The cost of calls: on the response, in the ledger, and within the limit.

use std::sync::Arc;

use agentloop::middleware::{CostLedger, Costs};
use agentloop::{
    AgentLoop, ChatRequest, CostSource, EmbedRequest, ErrorKind, ModelCatalog, Protocol, Usd,
};
use agentloop_sim::{Ledger, Simulator};

use crate::support::PROTOCOLS;

/// A dollar for a thousand tokens read, two for a thousand written.
const PRICES: &str = r#"
    ["lab/echo"]
    prices = [{ per_million = { input = "1000", output = "2000" } }]
    ["lab/think"]
    prices = [{ per_million = { input = "1000", output = "2000" } }]
    ["lab/long-40"]
    prices = [{ per_million = { input = "1000", output = "2000" } }]
    ["lab/vectors"]
    kind = "embedding"
    prices = [{ per_million = { input = "1000" } }]
"#;

fn usd(text: &str) -> Usd {
    text.parse().unwrap()
}

fn lab(costs: Costs, protocol: Protocol) -> (AgentLoop, CostLedger, Simulator) {
    let simulator = Simulator::new();
    let ledger = costs.ledger();
    let ai = AgentLoop::builder()
        .provider(simulator.provider_named("lab", protocol))
        .models(ModelCatalog::embedded().with_overrides(PRICES).unwrap())
        .layer(costs)
        .build()
        .unwrap();
    (ai, ledger, simulator)
}

fn asking(model: &str) -> ChatRequest {
    ChatRequest::new(format!("lab/{model}")).user("Say this again please").max_tokens(100)
}

/// The cost that the simulator bills at those prices.
fn bill(ledger: &Ledger) -> Usd {
    let picos = i128::from(ledger.prompt_tokens) + 2 * i128::from(ledger.completion_tokens);
    Usd::from_picos(picos * 1_000_000_000)
}

#[tokio::test]
async fn chats_streams_and_embeddings_have_costs_that_are_added_up() {
    for protocol in PROTOCOLS {
        let (ai, ledger, simulator) = lab(Costs::new(), protocol);
        let chat = ai.chat(asking("think")).await.unwrap();
        let cost = chat.cost.clone().unwrap();
        assert_eq!(cost.source, CostSource::Prices);
        assert_eq!(cost.usd, bill(&simulator.ledger()), "{protocol:?}");

        let events = ai.stream(asking("echo")).await.unwrap();
        let streamed = events.response().await.unwrap();
        assert!(streamed.cost.is_some());
        let total = ledger.total();
        assert_eq!((total.calls, total.unpriced, total.estimated_calls), (2, 0, 0));
        assert_eq!(total.usd, bill(&simulator.ledger()), "{protocol:?}");
        assert_eq!(total.usd, cost.usd + streamed.cost.unwrap().usd);

        let models = ledger.by_model();
        assert_eq!(models.keys().collect::<Vec<_>>(), ["lab/echo", "lab/think"]);
        assert_eq!(models["lab/think"].usd, cost.usd);
    }
    let (ai, ledger, simulator) = lab(Costs::new(), Protocol::OpenAiChat);
    let vectors = ai.embed(EmbedRequest::new("lab/vectors", ["a b", "c"])).await.unwrap();
    assert_eq!(vectors.cost.unwrap().usd, bill(&simulator.ledger()));
    assert_eq!(ledger.total().usd, bill(&simulator.ledger()));
}

/// Before, only a tier that the request itself set was priced.
#[tokio::test]
async fn a_service_tier_that_is_a_default_of_the_provider_has_its_price() {
    async fn cost(ai: AgentLoop, request: ChatRequest) -> agentloop::Result<Usd> {
        Ok(ai.chat(request).await?.cost.unwrap().usd)
    }
    let prices = r#"
        ["lab/echo"]
        prices = [
            { per_million = { input = "1000", output = "2000" } },
            { service_tier = "priority", per_million = { input = "3000", output = "6000" } },
        ]
    "#;
    let client = |tier: Option<&str>, costs: Option<Costs>| {
        let mut lab = Simulator::new().provider_named("lab", Protocol::OpenAiChat);
        if let Some(tier) = tier {
            lab = lab.default_field("service_tier", tier);
        }
        let catalog = ModelCatalog::embedded().with_overrides(prices).unwrap();
        let builder = AgentLoop::builder().provider(lab).models(catalog);
        costs.into_iter().fold(builder, |builder, costs| builder.layer(costs)).build().unwrap()
    };
    let usual = cost(client(None, None), asking("echo")).await.unwrap();
    let asked = asking("echo").service_tier("priority");
    assert_eq!(cost(client(None, None), asked).await.unwrap(), usual + usual + usual);
    for costs in [None, Some(Costs::new())] {
        let found = cost(client(Some("priority"), costs), asking("echo")).await.unwrap();
        assert_eq!(found, usual + usual + usual);
    }
    // The most that a call can cost is reserved at the price of the tier: 100 tokens are 0.2 or 0.6 dollars.
    let limited = |tier: Option<&'static str>| {
        cost(client(tier, Some(Costs::new().limit(usd("0.5")))), asking("echo"))
    };
    assert_eq!(limited(None).await.unwrap(), usual);
    assert_eq!(limited(Some("priority")).await.unwrap_err().kind(), ErrorKind::SpendingLimit);
}

#[tokio::test]
async fn the_events_of_a_stream_fold_to_the_response_with_its_cost() {
    let (ai, _, _) = lab(Costs::new(), Protocol::OpenAiChat);
    let mut events = ai.stream(asking("echo")).await.unwrap();
    let mut fold = agentloop::Fold::new();
    let mut whole = None;
    while let Some(event) = events.next().await {
        let event = event.unwrap();
        fold.push(&event).unwrap();
        if let agentloop::ChatStreamEvent::MessageDone { response } = event {
            whole = Some(*response);
        }
    }
    assert_eq!(fold.finish().unwrap(), whole.unwrap());
}

#[tokio::test]
async fn each_tag_has_its_own_sums() {
    let (ai, ledger, _) = lab(Costs::new(), Protocol::OpenAiChat);
    for tags in [vec!["a"], vec!["a", "b"], vec![]] {
        let mut request = asking("echo");
        request.tags = tags.into_iter().map(str::to_owned).collect();
        ai.chat(request).await.unwrap();
    }
    let tags = ledger.by_tag();
    assert_eq!((tags["a"].calls, tags["b"].calls, tags.len()), (2, 1, 2));
    assert_eq!(ledger.total().calls, 3);
    ledger.reset();
    assert_eq!(ledger.total().calls, 0);
}

#[tokio::test]
async fn an_unknown_cost_is_absent_and_not_zero() {
    let (ai, ledger, _) = lab(Costs::new(), Protocol::OpenAiChat);
    let answer = ai.chat(asking("cite")).await.unwrap();
    assert_eq!(answer.cost, None);
    let total = ledger.total();
    assert_eq!((total.calls, total.unpriced, total.usd), (1, 1, Usd::default()));
    assert!(total.prompt_tokens > 0);
}

#[tokio::test]
async fn a_call_that_never_began_costs_nothing() {
    let (ai, ledger, simulator) = lab(Costs::new(), Protocol::OpenAiChat);
    ai.chat(asking("echo!status=500")).await.unwrap_err();
    ai.stream(asking("echo!status=429")).await.unwrap_err();
    let total = ledger.total();
    assert_eq!((total.calls, total.usd, total.estimated_calls), (2, Usd::default(), 0));
    assert_eq!(bill(&simulator.ledger()), Usd::default());
}

#[tokio::test]
async fn truncated_and_dropped_streams_are_marked_as_estimates() {
    for protocol in PROTOCOLS {
        let (ai, ledger, simulator) = lab(Costs::new(), protocol);
        let cut = ai.stream(asking("long-40!cut-events=20")).await.unwrap();
        cut.response().await.unwrap_err();
        let mut dropped = ai.stream(asking("long-40")).await.unwrap();
        for _ in 0..10 {
            dropped.next().await.unwrap().unwrap();
        }
        assert_eq!(ledger.total().calls, 1, "the second is still under way");
        drop(dropped);
        let total = ledger.total();
        assert_eq!((total.calls, total.estimated_calls), (2, 2), "{protocol:?}");
        assert!(total.estimated_usd > Usd::default());
        assert_eq!(total.estimated_usd, total.usd, "nothing else was spent");
        // At most the billed cost, because only a part of the output arrived.
        assert!(total.completion_tokens <= simulator.ledger().completion_tokens * 2);
    }
}

#[tokio::test]
async fn a_limit_refuses_the_call_that_could_exceed_it() {
    // A call can read about 14 tokens and write 100: 0.214 dollars.
    let (ai, ledger, simulator) = lab(Costs::new().limit(usd("0.25")), Protocol::OpenAiChat);
    ai.chat(asking("echo")).await.unwrap();
    let spent = ledger.total().usd;
    assert!(spent < usd("0.1"), "{spent}");
    let mut last = None;
    while last.is_none() {
        last = ai.chat(asking("echo")).await.err();
    }
    let error = last.unwrap();
    assert_eq!(error.kind(), ErrorKind::SpendingLimit);
    assert!(!error.is_retryable());
    assert!(ledger.total().usd <= usd("0.25"));
    let calls = simulator.ledger().calls;
    ai.stream(asking("echo")).await.unwrap_err();
    assert_eq!(simulator.ledger().calls, calls, "nothing was sent");
    // A smaller one still fits.
    ai.chat(asking("echo").max_tokens(1)).await.unwrap();
    assert_eq!(ledger.reserved(), Usd::default(), "what was set aside came back");
}

#[tokio::test]
async fn a_model_without_a_price_is_refused_under_a_limit() {
    let (ai, _, simulator) = lab(Costs::new().limit(usd("1")), Protocol::OpenAiChat);
    let error = ai.chat(asking("cite")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SpendingLimit);
    assert!(error.hint().is_some());
    assert_eq!(simulator.ledger().calls, 0);
    let (ai, ledger, _) = lab(Costs::new().limit(usd("1")).allow_unpriced(), Protocol::OpenAiChat);
    ai.chat(asking("cite")).await.unwrap();
    assert_eq!(ledger.total().unpriced, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_concurrent_calls_never_exceed_the_limit() {
    let (ai, ledger, simulator) = lab(Costs::new().limit(usd("1")), Protocol::OpenAiChat);
    let ai = Arc::new(ai);
    let callers: Vec<_> = (0..64)
        .map(|number| {
            let ai = Arc::clone(&ai);
            tokio::spawn(async move {
                let mut refused = 0;
                for _ in 0..20 {
                    let model = if number % 3 == 0 { "long-40" } else { "echo" };
                    let answer = match number % 2 {
                        0 => ai.chat(asking(model)).await.map(drop),
                        _ => match ai.stream(asking(model)).await {
                            Ok(stream) => stream.response().await.map(drop),
                            Err(error) => Err(error),
                        },
                    };
                    if let Err(error) = answer {
                        assert_eq!(error.kind(), ErrorKind::SpendingLimit);
                        refused += 1;
                    }
                }
                refused
            })
        })
        .collect();
    let mut refused = 0;
    for caller in callers {
        refused += caller.await.unwrap();
    }
    let spent = ledger.total().usd;
    assert!(refused > 0 && spent <= usd("1"), "{spent} spent, {refused} refused");
    assert!(spent > usd("0.5"), "much of it is used: {spent}");
    assert_eq!(spent, bill(&simulator.ledger()));
    assert_eq!(ledger.reserved(), Usd::default());
}

#[tokio::test]
async fn a_limit_can_count_what_other_processes_have_spent() {
    use std::sync::Mutex;

    use agentloop::middleware::CostPeriod;

    // What a file would hold that several processes write to.
    let stored: Arc<Mutex<Usd>> = Arc::default();
    let (reader, writer) = (Arc::clone(&stored), Arc::clone(&stored));
    let costs = Costs::new()
        .limit(usd("10"))
        .per(CostPeriod::Day)
        .spent(move || Ok(*reader.lock().unwrap()))
        .on_call(move |entry| {
            let mut sum = writer.lock().unwrap();
            *sum = *sum + entry.cost.as_ref().map_or(Usd::default(), |cost| cost.usd);
        });
    assert_eq!(costs.period(), CostPeriod::Day);
    let (ai, ledger, simulator) = lab(costs, Protocol::OpenAiChat);
    ai.chat(asking("echo")).await.unwrap();
    assert_eq!(*stored.lock().unwrap(), ledger.total().usd);
    assert_eq!(ledger.reserved(), Usd::default());
    // Another process spends the rest.
    *stored.lock().unwrap() = usd("9.99");
    let requests = simulator.requests().len();
    let error = ai.chat(asking("echo")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SpendingLimit);
    assert!(error.message().contains("10 USD per day"), "{error}");
    assert_eq!(simulator.requests().len(), requests);
    // The next day.
    *stored.lock().unwrap() = Usd::default();
    ai.chat(asking("echo")).await.unwrap();

    let failing = Costs::new()
        .limit(usd("10"))
        .spent(|| Err(agentloop::Error::new(ErrorKind::Config, "the file is damaged")));
    let (ai, _, simulator) = lab(failing, Protocol::OpenAiChat);
    let error = ai.chat(asking("echo")).await.unwrap_err();
    assert_eq!((error.kind(), simulator.requests().len()), (ErrorKind::Config, 0), "{error}");
}
