//! The spans of a run.
//!
//! Which spans are recorded is decided for the whole process, so this test runs in its own process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use agentloop::agent::{Agent, Tool, ToolError};
use agentloop::middleware::Logger;
use agentloop::{AgentLoop, ChatRequest};
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use crate::support::own_process::own_process;

type Seen = BTreeMap<u64, (Option<u64>, BTreeMap<String, String>)>;

/// Records the fields and the parents of spans.
#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Seen>>);

struct Fields<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Capture {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = BTreeMap::new();
        attributes.record(&mut Fields(&mut fields));
        let parent = context.current_span().id().map(Id::into_u64);
        self.0.lock().unwrap().insert(id.into_u64(), (parent, fields));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        if let Some((_, fields)) = self.0.lock().unwrap().get_mut(&id.into_u64()) {
            values.record(&mut Fields(fields));
        }
    }
}

/// Threads without a subscriber influence whether a span is recorded, so the test runs alone.
#[test]
fn the_span_of_a_run_contains_those_of_its_requests_and_tools() {
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
            let tool =
                Tool::dynamic("fail", "Fails", json!({"type": "object"}), |_: Value, _| async {
                    Err::<(), _>(ToolError::new("the secret of the tool"))
                });
            let request = ChatRequest::new("sim/tools").user("Go");
            Agent::new(ai).tool(tool).run(request).await.unwrap();
        });
    });
    let seen = capture.0.lock().unwrap();
    let find = |operation: &str| {
        let mut spans = seen.iter();
        spans.find(|(_, (_, fields))| {
            fields.get("gen_ai.operation.name").is_some_and(|o| o == operation)
        })
    };
    let (run, (_, fields)) = find("invoke_agent").unwrap();
    assert_eq!(fields["agentloop.steps"], "2");
    assert_eq!(fields["agentloop.stop"], "finished");
    assert!(fields.contains_key("gen_ai.usage.input_tokens"));
    let (_, (parent, _)) = find("chat").unwrap();
    assert_eq!(parent.as_ref(), Some(run));
    let (_, (parent, fields)) = find("execute_tool").unwrap();
    assert_eq!(parent.as_ref(), Some(run));
    assert_eq!(fields["otel.name"], "execute_tool fail");
    assert_eq!(fields["gen_ai.tool.name"], "fail");
    assert_eq!(fields["error.type"], "failed");
    assert!(!format!("{seen:?}").contains("secret"));
}
