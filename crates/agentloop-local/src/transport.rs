//! Connects the engine to a client: reads wire requests, and writes wire responses.

use std::sync::Arc;

use agentloop::protocol::serve::{
    Operation, ServedChat, read_chat, read_embed, route, write_count, write_embed, write_model,
    write_models,
};
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{
    BoxFuture, EmbedResponse, EmbedUsage, Error, ErrorKind, ModelInfo, Protocol, Result,
};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response};
use tokio::sync::{mpsc, oneshot};

use crate::engine::{Engine, Wake};
use crate::job::{ChatJob, CountJob, EmbedJob, Job, Piece};
use crate::limits::{MAX_EMBEDDED_TEXTS, MAX_PROMPT_BYTES, MAX_WAITING_PIECES};
use crate::local::NAME;
use crate::prompt::Conversation;
use crate::request::Plan;
use crate::respond::{Events, Pieces};
use crate::store::{Folders, LocalModel};

/// The protocol in which the client and this transport talk. It has a place for every parameter that the engine supports.
const PROTOCOL: Protocol = Protocol::OpenAiChat;

/// A transport that sends requests to the engine instead of the network.
#[derive(Clone, Debug)]
pub(crate) struct LocalTransport {
    folders: Arc<Folders>,
    engine: Arc<Engine>,
}

impl Transport for LocalTransport {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        Box::pin(async move {
            let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
            let method = request.method();
            match route(PROTOCOL, method, request.uri().path(), request.headers()) {
                Some(Operation::Chat) => {
                    self.chat(read_chat(PROTOCOL, path, request.body())?).await
                }
                Some(Operation::Embed) => self.embed(path, request.body()).await,
                Some(Operation::Count) => {
                    self.count(read_chat(PROTOCOL, path, request.body())?).await
                }
                Some(Operation::Models) => {
                    let folders = Arc::clone(&self.folders);
                    let models = run_blocking(move || Ok(folders.models())).await?;
                    let models: Vec<ModelInfo> = models.iter().map(describe).collect();
                    Ok(json(write_models(PROTOCOL, &models)))
                }
                Some(Operation::Model) => {
                    let name = path.rsplit_once("/models/").map_or("", |(_, name)| name);
                    let model = self.find(name.to_owned()).await?;
                    Ok(json(write_model(PROTOCOL, &describe(&model))))
                }
                None => Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("local models do not serve {method} {path}"),
                )),
            }
        })
    }
}

impl LocalTransport {
    pub(crate) fn new(folders: Folders, engine: Arc<Engine>) -> Self {
        Self { folders: Arc::new(folders), engine }
    }

    async fn find(&self, name: String) -> Result<LocalModel> {
        let folders = Arc::clone(&self.folders);
        run_blocking(move || folders.find(&name)).await
    }

    /// Gives a job to the model of this name.
    async fn submit(&self, name: &str, job: Job) -> Result<Wake> {
        let model = self.find(name.to_owned()).await?;
        // Starting a thread and taking a lock that is held for microseconds do not block the runtime.
        self.engine.submit(&model.path, job)
    }

    async fn chat(&self, served: ServedChat) -> Result<Response<Body>> {
        let name = served.request.model.clone();
        // A grammar of a large schema takes milliseconds to build.
        let (served, plan) = run_blocking(move || {
            let plan = Plan::of(&served.request)?;
            Ok((served, plan))
        })
        .await?;
        let (out, pieces) = mpsc::channel(MAX_WAITING_PIECES);
        let Plan {
            conversation,
            max_tokens,
            stop,
            sampling,
            grammar,
            logprobs,
            has_tools,
            warnings,
        } = plan;
        let job = ChatJob { conversation, max_tokens, stop, sampling, grammar, logprobs, out };
        let wake = self.submit(&name, Job::Chat(Box::new(job))).await?;
        let mut pieces = Pieces::new(pieces, wake, &self.engine);
        // Everything that is known before the first token fails the call instead of the stream.
        let first = pieces.next().await?;
        let Piece::Started { prompt_tokens, cached_tokens, warnings: more } = first else {
            return Err(unexpected());
        };
        let warnings = warnings.into_iter().chain(more).collect();
        let events = Events::new(&name, prompt_tokens, cached_tokens, has_tools, warnings);
        events.respond(pieces, &served).await
    }

    async fn embed(&self, path: &str, body: &[u8]) -> Result<Response<Body>> {
        let served = read_embed(PROTOCOL, path, body)?;
        let texts = served.request.input.as_slice();
        if texts.len() > MAX_EMBEDDED_TEXTS
            || texts.iter().map(String::len).sum::<usize>() > MAX_PROMPT_BYTES
        {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "one request embeds at most {MAX_EMBEDDED_TEXTS} texts and {MAX_PROMPT_BYTES} bytes"
                ),
            ));
        }
        let (out, embedded) = oneshot::channel();
        let job = Job::Embed(EmbedJob { texts: texts.to_vec(), out });
        self.submit(&served.request.model, job).await?;
        let embedded = embedded.await.map_err(|_| unexpected())??;
        if let (Some(wanted), Some(vector)) = (served.request.dimensions, embedded.vectors.first())
            && wanted as usize != vector.len()
        {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("the vectors of this model have {} dimensions, not {wanted}", vector.len()),
            )
            .with_param("dimensions"));
        }
        let mut response = EmbedResponse::new(&served.request.model, NAME, embedded.vectors);
        response.usage = Some(EmbedUsage::new(embedded.tokens, embedded.tokens));
        Ok(json(write_embed(&response, served.form)))
    }

    async fn count(&self, served: ServedChat) -> Result<Response<Body>> {
        let tools = crate::prompt::tools(&served.request)?;
        let conversation = Conversation::of(&served.request, &tools)?;
        let (out, counted) = oneshot::channel();
        let job = Job::Count(CountJob { conversation, out });
        self.submit(&served.request.model, job).await?;
        let tokens = counted.await.map_err(|_| unexpected())??;
        Ok(json(write_count(PROTOCOL, tokens)))
    }
}

/// Runs what reads files or computes for long on another thread.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(Error::new(ErrorKind::Other, "a thread has ended early").with_source(error))
    })
}

fn describe(model: &LocalModel) -> ModelInfo {
    let mut info = ModelInfo::new(NAME, &model.name);
    info.owned_by = Some(model.source.as_str().to_owned());
    info
}

pub(crate) fn json(body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::whole(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns the error of a thread that ended without a result: the engine failed in a way that it does not report.
pub(crate) fn unexpected() -> Error {
    Error::new(ErrorKind::Server, "the thread of the model has ended without a response")
        .with_hint("the model file may be damaged")
}
