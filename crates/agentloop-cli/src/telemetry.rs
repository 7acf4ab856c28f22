//! Exports every call as a span over OTLP, configured by the standard variables (`OTEL_EXPORTER_OTLP_ENDPOINT` and others).

use agentloop::transport::{HttpTransport, SendOptions, Transport as _};
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Runtime;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::notes::Notes;

/// The environment variables that enable the export.
const VARIABLES: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

/// The largest response of a collector that is read, in bytes.
const MAX_RESPONSE_BYTES: usize = 1 << 20;

/// Returns whether the environment enables the export.
pub(crate) fn is_enabled() -> bool {
    let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    VARIABLES.iter().any(set)
}

/// Exports spans while it exists. The remaining spans are sent when it is dropped.
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
    notes: Notes,
}

impl Telemetry {
    /// Starts the export, if the environment enables it.
    pub(crate) fn start(notes: Notes) -> Option<Self> {
        if !is_enabled() {
            return None;
        }
        let started = Client::new().map_err(|error| error.to_string()).and_then(|client| {
            let exporter = SpanExporter::builder().with_http().with_http_client(client).build();
            exporter.map_err(|error| error.to_string())
        });
        let exporter = match started {
            Ok(exporter) => exporter,
            Err(error) => {
                notes.print_note(&format!(
                    "telemetry is off, because it could not be started: {error}"
                ));
                return None;
            }
        };
        let resource = Resource::builder().with_service_name("agentloop").build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource)
            .build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("agentloop"));
        if let Err(error) = tracing_subscriber::registry().with(layer).try_init() {
            notes
                .print_note(&format!("telemetry is off, because it could not be started: {error}"));
        }
        Some(Self { provider, notes })
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Err(error) = self.provider.shutdown() {
            self.notes.print_note(&format!("cannot send telemetry: {error}"));
        }
    }
}

/// Makes a span a part of the trace that the headers of a request name.
pub(crate) fn connect(span: &tracing::Span, headers: &http::HeaderMap) {
    let parent = TraceContextPropagator::new().extract(&Headers(headers));
    // Fails only if no exporter is active.
    let _ = span.set_parent(parent);
}

/// The headers of a request, as the propagator reads them.
struct Headers<'a>(&'a http::HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}

/// Sends over the library's transport. The exporter runs on its own thread, which has no runtime, so this client has one.
#[derive(Debug)]
struct Client {
    runtime: Runtime,
    transport: HttpTransport,
}

impl Client {
    fn new() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, transport: HttpTransport::new() })
    }
}

#[async_trait::async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.runtime.block_on(async {
            let response = self.transport.send(request, SendOptions::default()).await?;
            let (head, body) = response.into_parts();
            let body = body.collect(MAX_RESPONSE_BYTES).await?;
            Ok::<_, agentloop::Error>(Response::from_parts(head, body))
        });
        Ok(sent?)
    }
}
