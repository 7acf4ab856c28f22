//! Batches and files of providers, against the simulator and against hostile ones.

mod compressed;
mod described;
mod files;
mod hostile;
mod waiting;

use agentloop::{
    AgentLoop, Batch, BatchState, ChatRequest, CostSource, ErrorKind, Protocol, Provider,
    ToolDefinition,
};
use agentloop_sim::{Fault, Faults, SimBatches, Simulator};
use serde_json::json;

/// The providers that have batches, each with the name of a model.
fn providers(simulator: &Simulator) -> Vec<Provider> {
    let mut all: Vec<Provider> = Provider::all()
        .into_iter()
        .filter(|provider| provider.supports(agentloop::provider::Feature::Batches))
        .map(|provider| simulator.simulate(provider))
        .collect();
    all.push(simulator.provider());
    all.push(simulator.provider_named("claude", Protocol::Anthropic));
    all.push(simulator.provider_named("gem", Protocol::Gemini));
    all.push(simulator.provider_named("resp", Protocol::OpenAiResponses));
    all
}

fn client(provider: Provider) -> AgentLoop {
    AgentLoop::builder().provider(provider).build().unwrap()
}

async fn submit(ai: &AgentLoop, requests: &[ChatRequest]) -> Batch {
    let batches = ai.batches();
    let prepared = batches.prepare(requests).await.unwrap();
    assert_eq!((prepared.batch().id.as_ref(), prepared.batch().len()), (None, requests.len()));
    batches.submit(prepared).await.unwrap()
}

#[tokio::test]
async fn every_provider_with_batches_returns_the_results_in_the_order_of_the_requests() {
    let mut seen = 0;
    for provider in providers(&Simulator::new()) {
        let name = provider.name.to_string();
        let ai = client(provider);
        let texts: Vec<String> = (0..12).map(|number| format!("number {number}")).collect();
        let requests: Vec<ChatRequest> = texts
            .iter()
            .map(|text| ChatRequest::new(format!("{name}/echo")).user(text.as_str()))
            .collect();
        let batch = submit(&ai, &requests).await;
        // Another process reads the handle from a file.
        let batch: Batch = serde_json::from_str(&serde_json::to_string(&batch).unwrap()).unwrap();
        let status = ai.batches().wait(&batch, Default::default()).await.unwrap();
        assert_eq!(status.state, BatchState::Completed, "{name}");
        let counts = (status.counts.total, status.counts.succeeded);
        assert_eq!(counts, (Some(12), Some(12)), "{name}");
        let results = ai.batches().results(&batch).await.unwrap();
        for (text, result) in texts.iter().zip(&results) {
            let response = result.as_ref().unwrap();
            assert!(response.text().starts_with(text.as_str()), "{name}: {}", response.text());
            assert!(response.usage.prompt_tokens.is_some(), "{name}");
        }
        seen += 1;
    }
    assert_eq!(seen, 13, "nine built-in providers, four simulated");
}

#[tokio::test]
async fn a_request_that_fails_does_not_move_the_others() {
    for name in ["openai", "anthropic", "groq"] {
        let ai = client(Simulator::new().simulate(Provider::builtin(name).unwrap()));
        let models = ["echo", "echo!status=400", "echo", "echo!status=529"];
        let requests: Vec<ChatRequest> = models
            .iter()
            .map(|model| ChatRequest::new(format!("{name}/{model}")).user("Hi"))
            .collect();
        let batch = submit(&ai, &requests).await;
        let results = ai.batches().results(&batch).await.unwrap();
        let kinds: Vec<Option<ErrorKind>> = results
            .iter()
            .map(|result| result.as_ref().err().map(agentloop::Error::kind))
            .collect();
        let expected = [None, Some(ErrorKind::InvalidRequest), None, Some(ErrorKind::Overloaded)];
        assert_eq!(kinds, expected, "{name}");
        let error = results[1].as_ref().unwrap_err();
        assert_eq!((error.provider(), error.model()), (Some(name), Some("echo!status=400")));
    }
}

#[tokio::test]
async fn responses_are_decoded_with_what_the_requests_changed() {
    // Anthropic accepts no space in the name of a tool, so another name is sent and read back.
    let simulator = Simulator::new();
    let ai = client(simulator.simulate(Provider::anthropic()));
    let tool = ToolDefinition::function("look up", json!({"type": "object"}));
    let request = ChatRequest::new("anthropic/tools").user("Call it.").tool(tool);
    let batch = submit(&ai, std::slice::from_ref(&request)).await;
    let results = ai.batches().results(&batch).await.unwrap();
    let alone = ai.chat(request).await.unwrap();
    let names = |response: &agentloop::ChatResponse| -> Vec<String> {
        response.tool_calls().map(|call| call.name.clone()).collect()
    };
    assert_eq!(names(results[0].as_ref().unwrap()), names(&alone));
    assert!(names(&alone).iter().all(|name| name == "look up"), "{:?}", names(&alone));
}

#[tokio::test]
async fn warnings_of_a_request_are_those_of_its_response() {
    let ai = client(Simulator::new().simulate(Provider::openai()));
    let request = ChatRequest::new("openai/echo").user("Hi").top_k(5).header("x-own", "1");
    let batch = submit(&ai, &[ChatRequest::new("openai/echo").user("Hi"), request]).await;
    let subjects: Vec<&str> =
        batch.warnings(1).iter().map(|warning| warning.subject.as_deref().unwrap()).collect();
    assert_eq!(subjects, ["top_k", "extra_headers"]);
    let results = ai.batches().results(&batch).await.unwrap();
    assert!(results[0].as_ref().unwrap().warnings.is_empty());
    assert_eq!(results[1].as_ref().unwrap().warnings, batch.warnings(1));
}

#[tokio::test]
async fn the_cost_is_that_of_a_batch_or_unknown() {
    let simulator = Simulator::new();
    let ai = client(simulator.simulate(Provider::openai()));
    let request = ChatRequest::new("openai/gpt-4.1-mini").user("one two three");
    let alone = ai.chat(request.clone()).await.unwrap();
    let usual = alone.cost.expect("its price is known").usd;
    let batch = submit(&ai, &[request]).await;
    let results = ai.batches().results(&batch).await.unwrap();
    let known = ai.catalog().lookup("openai", "gpt-4.1-mini").unwrap();
    let has_price = known.prices.iter().any(|price| price.service_tier.as_deref() == Some("batch"));
    match &results[0].as_ref().unwrap().cost {
        Some(cost) => {
            assert!(has_price);
            assert_eq!(cost.source, CostSource::Prices);
            assert!(cost.usd < usual, "{} is not less than {usual}", cost.usd);
        }
        None => assert!(!has_price),
    }
    // Nothing is known about this model in a batch.
    let mut lab = simulator.provider();
    lab.name = "lab".into();
    let ai = client(lab);
    let batch = submit(&ai, &[ChatRequest::new("lab/echo").user("Hi")]).await;
    assert_eq!(ai.batches().results(&batch).await.unwrap()[0].as_ref().unwrap().cost, None);
}

#[tokio::test]
async fn requests_that_cannot_be_in_one_batch_are_refused_before_anything_is_sent() {
    let simulator = Simulator::new();
    let ai = AgentLoop::builder()
        .provider(simulator.simulate(Provider::openai()))
        .provider(simulator.simulate(Provider::mistral()))
        .provider(simulator.simulate(Provider::deepseek()))
        .build()
        .unwrap();
    let ask = |model: &str| ChatRequest::new(model).user("Hi");
    for (requests, message) in [
        (vec![], "the batch has no requests"),
        (
            vec![ask("openai/a"), ask("mistral/a")],
            "request[1]: a batch has one provider, not openai and mistral",
        ),
        (
            vec![ask("mistral/a"), ask("mistral/b")],
            "request[1]: the requests of a batch have one model, not a and b",
        ),
        (
            vec![ask("openai/a"), ask("openai/a").protocol(Protocol::OpenAiResponses)],
            "request[1]: a batch has one protocol",
        ),
        (
            vec![ask("openai/a"), ask("openai/a").key("openai", "k")],
            "request[1]: a request of a batch has no key",
        ),
        (
            vec![ask("openai/a"), ChatRequest::new("openai/a")],
            "request[1]: the request has no messages",
        ),
        (vec![ask("deepseek/a")], "deepseek has no API for batches that is known"),
    ] {
        let error = ai.batches().prepare(&requests).await.unwrap_err();
        assert!(error.message().starts_with(message), "{error}");
    }
    let error = ai.batches().prepare(&[ask("deepseek/a")]).await.unwrap_err();
    assert_eq!((error.kind(), error.provider()), (ErrorKind::Unsupported, Some("deepseek")));
    let hint = "providers with an API for batches: openai, anthropic, google, groq, mistral, perplexity, cerebras, azure, moonshot";
    assert_eq!(error.hint(), Some(hint));
    assert!(simulator.requests().is_empty());
}

#[tokio::test]
async fn requests_of_a_protocol_at_another_url_cannot_be_in_a_batch() {
    let simulator = Simulator::new();
    for (provider, model, protocol) in [
        (Provider::azure(), "azure/claude-sonnet-4-5", None),
        (Provider::perplexity(), "perplexity/sonar", Some(Protocol::OpenAiChat)),
    ] {
        let ai = client(simulator.simulate(provider));
        let mut request = ChatRequest::new(model).user("Hi");
        if let Some(protocol) = protocol {
            request = request.protocol(protocol);
        }
        let error = ai.batches().prepare(&[request]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.message().contains("has no batches of requests in the protocol"), "{error}");
    }
    assert!(simulator.requests().is_empty());
}

#[tokio::test]
async fn a_lost_batch_is_found_again_and_no_other() {
    let count = providers(&Simulator::new()).len();
    for at in 0..count {
        // Each has a simulator of its own, so the list has no batches of others.
        let provider = providers(&Simulator::new()).swap_remove(at);
        let name = provider.name.to_string();
        let ai = client(provider);
        let batches = ai.batches();
        let ask = |count: usize| vec![ChatRequest::new(format!("{name}/echo")).user("Hi"); count];
        submit(&ai, &ask(3)).await;
        let prepared = batches.prepare(&ask(2)).await.unwrap();
        let lost = prepared.batch().clone();
        assert_eq!(batches.find(&lost).await.unwrap(), None, "{name}: it was not submitted");
        let error = batches.status(&lost).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{name}");
        let batch = batches.submit(prepared).await.unwrap();
        let found = batches.find(&lost).await.unwrap().expect("it was submitted");
        assert_eq!(found.id, batch.id, "{name}");
        assert_eq!(batches.results(&found).await.unwrap().len(), 2, "{name}");
        assert_eq!(batches.list(&name).await.unwrap().len(), 2, "{name}");
    }
}

#[tokio::test]
async fn several_batches_that_could_be_the_lost_one_are_an_error() {
    let ai = client(Simulator::new().simulate(Provider::anthropic()));
    let batches = ai.batches();
    let requests = [ChatRequest::new("anthropic/echo").user("Hi")];
    let prepared = batches.prepare(&requests).await.unwrap();
    let lost = prepared.batch().clone();
    batches.submit(prepared).await.unwrap();
    submit(&ai, &requests).await;
    let error = batches.find(&lost).await.unwrap_err();
    assert!(error.message().starts_with("several batches match: batch_"), "{error}");
}

#[tokio::test]
async fn a_batch_that_ended_early_has_an_error_for_every_request_without_a_result() {
    for (state, kind) in [
        (BatchState::Expired, ErrorKind::Timeout),
        (BatchState::Failed, ErrorKind::InvalidRequest),
        (BatchState::Completed, ErrorKind::Protocol),
    ] {
        for provider in ["openai", "anthropic", "google", "mistral"] {
            let ends = SimBatches::new().processed(1).state(state);
            let simulator = Simulator::new().with_batches(ends);
            let ai = client(simulator.simulate(Provider::builtin(provider).unwrap()));
            let ask = || ChatRequest::new(format!("{provider}/echo")).user("Hi");
            let batch = submit(&ai, &[ask(), ask(), ask()]).await;
            let results = ai.batches().results(&batch).await.unwrap();
            let has_first = state != BatchState::Failed;
            let kind = match provider {
                // It reports only that a request expired.
                "anthropic" => ErrorKind::Timeout,
                _ => kind,
            };
            if provider != "anthropic" {
                assert_eq!(results[0].is_ok(), has_first, "{provider}, {state:?}");
            }
            for result in &results[1..] {
                let error = result.as_ref().unwrap_err();
                assert_eq!(error.kind(), kind, "{provider}, {state:?}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn a_cancelled_batch_has_errors_that_say_so() {
    for provider in ["openai", "anthropic", "google", "mistral", "groq"] {
        let simulator = Simulator::new().with_batches(SimBatches::new().polls(5));
        let ai = client(simulator.simulate(Provider::builtin(provider).unwrap()));
        let batch = submit(&ai, &[ChatRequest::new(format!("{provider}/echo")).user("Hi")]).await;
        let batches = ai.batches();
        assert_eq!(batches.status(&batch).await.unwrap().state, BatchState::Running);
        let error = batches.read(&batch).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{provider}: {error}");
        let status = batches.cancel(&batch).await.unwrap();
        assert_eq!(status.state, BatchState::Cancelled, "{provider}");
        let results = batches.results(&batch).await.unwrap();
        assert_eq!(results[0].as_ref().unwrap_err().kind(), ErrorKind::Cancelled, "{provider}");
        assert!(batches.cancel(&batch).await.is_err(), "{provider}: it has ended");
    }
}

#[tokio::test]
async fn a_task_of_its_own_can_read_the_results() {
    let ai = client(Simulator::new().provider());
    let batch = submit(&ai, &[ChatRequest::new("sim/echo").user("Hi")]).await;
    let reading = tokio::spawn(async move {
        let mut results = ai.batches().read(&batch).await?;
        let first = results.next().await.unwrap()?;
        ai.batches().results(&batch).await.map(|all| (first.index, all.len()))
    });
    assert_eq!(reading.await.unwrap().unwrap(), (0, 1));
}

#[tokio::test]
async fn requests_that_are_too_large_for_a_body_are_a_file_where_the_api_has_one() {
    let simulator = Simulator::new();
    let ai = client(simulator.simulate(Provider::google()));
    let large = "x".repeat(5 << 20);
    let ask = |text: &str| ChatRequest::new("google/echo").user(text).max_tokens(9);
    let requests: Vec<ChatRequest> =
        (0..5).map(|number| ask(&format!("number {number} {large}"))).collect();
    let prepared = ai.batches().prepare(&requests).await.unwrap();
    let lost = prepared.batch().clone();
    let batch = ai.batches().submit(prepared).await.unwrap();
    assert!(batch.input_file.is_some());
    let sent = simulator.requests();
    let is_create = |path: &str| path.ends_with(":batchGenerateContent");
    let created = sent.iter().find(|sent| is_create(sent.uri.path())).unwrap().json().unwrap();
    let file = format!("files/{}", batch.input_file.as_ref().unwrap());
    assert_eq!(created["batch"]["inputConfig"], json!({ "fileName": file }));
    let status = ai.batches().status(&batch).await.unwrap();
    assert_eq!((status.input_file, status.result_files.len()), (batch.input_file.clone(), 1));
    assert_eq!(ai.batches().find(&lost).await.unwrap().unwrap().id, batch.id);
    let results = ai.batches().results(&batch).await.unwrap();
    for (number, result) in results.iter().enumerate() {
        let text = result.as_ref().unwrap().text();
        assert!(text.starts_with(&format!("number {number} ")), "{text:.20}");
    }
    // A small one is in the body.
    let batch = submit(&ai, &[ask("Hi")]).await;
    assert_eq!(batch.input_file, None);
}

#[tokio::test]
async fn a_crash_at_any_step_of_a_large_batch_leaves_nothing_that_could_be_taken_for_it() {
    let large = "x".repeat(5 << 20);
    let requests = vec![ChatRequest::new("google/echo").user(large.as_str()).max_tokens(9); 5];
    // The upload begins, gets its content, and then the batch is created.
    for step in 0..3 {
        let mut faults = vec![None; step];
        faults.push(Some(Fault::status(503)));
        let simulator = Simulator::new().with_faults(Faults::in_order(faults));
        let ai = client(simulator.simulate(Provider::google()));
        let batches = ai.batches();
        let prepared = batches.prepare(&requests).await.unwrap();
        let lost = prepared.batch().clone();
        assert!(batches.submit(prepared).await.is_err(), "{step}");
        assert_eq!(simulator.ledger().calls, step as u64 + 1, "nothing follows a failed step");
        assert_eq!(batches.find(&lost).await.unwrap(), None, "{step}");
        let batch = batches.submit(batches.prepare(&requests).await.unwrap()).await.unwrap();
        assert_eq!(batches.list("google").await.unwrap().len(), 1, "{step}");
        assert_eq!(batches.find(&lost).await.unwrap(), None, "another batch is not taken for it");
        assert_eq!(batches.status(&batch).await.unwrap().counts.total, Some(5), "{step}");
    }
}
