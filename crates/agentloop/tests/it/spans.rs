//! A call as a span.
//!
//! Which spans are recorded is decided for the whole process, so the test has one of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use agentloop::middleware::Logger;
use agentloop::{AgentLoop, ChatRequest};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::{Layer, Registry};

use crate::support::own_process::own_process;

/// Keeps the fields of spans and events.
#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Vec<BTreeMap<String, String>>>>);

struct Fields<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl<S: tracing::Subscriber> Layer<S> for Capture {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let mut fields = BTreeMap::new();
        attributes.record(&mut Fields(&mut fields));
        self.0.lock().unwrap().push(fields);
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        if let Some(last) = self.0.lock().unwrap().last_mut() {
            values.record(&mut Fields(last));
        }
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        self.0.lock().unwrap().push(fields);
    }
}

/// Other threads of this process, which have no subscriber, decide whether a span is recorded: it has to be alone.
#[test]
fn a_call_is_a_span_with_the_names_of_opentelemetry() {
    own_process(spans_are_recorded);
}

fn spans_are_recorded() {
    let capture = Capture::default();
    let subscriber = Registry::default().with(capture.clone());
    tracing::subscriber::with_default(subscriber, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let ai = AgentLoop::builder()
                .provider(agentloop_sim::provider())
                .layer(Logger::new())
                .build()
                .unwrap();
            let mut request = ChatRequest::new("sim/echo").user("Hello there");
            request.temperature = Some(0.5);
            ai.stream(request).await.unwrap().response().await.unwrap();
        });
    });
    let seen = capture.0.lock().unwrap();
    let span = seen.iter().find(|fields| fields.contains_key("gen_ai.operation.name")).unwrap();
    for (name, value) in [
        ("otel.name", "chat echo"),
        ("otel.kind", "client"),
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "sim"),
        ("gen_ai.request.model", "echo"),
        ("gen_ai.request.temperature", "0.5"),
        ("gen_ai.response.model", "echo"),
        ("gen_ai.usage.input_tokens", "2"),
    ] {
        assert_eq!(span.get(name).map(String::as_str), Some(value), "{name}: {span:?}");
    }
    assert!(!span.contains_key("gen_ai.input.messages"));
    let record = seen.iter().find(|fields| fields.contains_key("latency_ms")).unwrap();
    assert_eq!(record["status"], "ok");
}
