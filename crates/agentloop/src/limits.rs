//! Every limit on what is received and on what waits, in one place.
//!
//! If a limit on size is exceeded, the call fails with [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge): a response can be refused for its
//! size, but it cannot exhaust the memory of the process. The limits of the [cache](crate::middleware::Cache) do not make a call fail.
//!
//! The constants that are public here are documented limits. Others are defaults of settings and details that may change.

use std::time::Duration;

/// The longest line of a stream, in bytes. A generated image arrives as base64 on one line.
pub const MAX_LINE_BYTES: usize = 32 << 20;

/// The largest event of a stream, in bytes, with all its data lines.
pub const MAX_EVENT_BYTES: usize = 48 << 20;

/// The most bytes that the headers of one binary frame of a stream may have. Amazon documents the same limit.
pub const MAX_FRAME_HEADER_BYTES: usize = 128 << 10;

/// The largest body of a complete response, in bytes after decompression.
pub const MAX_BODY_BYTES: usize = 128 << 20;

/// How many bytes of the body of an error response are read. The rest is ignored.
pub(crate) const MAX_ERROR_BODY_BYTES: usize = 1 << 20;

/// How many bytes of a failed response's body an [`Error`](crate::Error) keeps.
pub const MAX_ERROR_RAW_BYTES: usize = 16 << 10;

/// How long before its end a [credential](crate::credential) is replaced.
pub const CREDENTIAL_AHEAD: Duration = Duration::from_secs(300);

/// How long a call waits for a new credential while the old one is still valid.
pub const CREDENTIAL_AHEAD_WAIT: Duration = Duration::from_secs(5);

/// How long a call waits for a credential if there is none that is valid.
pub const CREDENTIAL_WAIT: Duration = Duration::from_secs(15);

/// How long after an attempt to replace a valid credential the next one is made. A credential that is younger than this is not replaced
/// when a provider refuses it.
pub const CREDENTIAL_RETRY: Duration = Duration::from_secs(30);

/// How long one request for a credential may take.
pub const CREDENTIAL_REQUEST_WAIT: Duration = Duration::from_secs(5);

/// How long one request to the metadata service of a virtual machine may take. It is short, because other machines have no such service.
pub const METADATA_REQUEST_WAIT: Duration = Duration::from_secs(1);

/// The largest response of a service that returns credentials, in bytes.
pub const MAX_CREDENTIAL_BODY_BYTES: usize = 64 << 10;

/// How long a program that prints a token may take.
pub const CREDENTIAL_PROGRAM_WAIT: Duration = Duration::from_secs(10);

/// The longest time for which a token is kept. One that claims to be valid for longer is replaced after this time.
pub const MAX_TOKEN_LIFETIME: Duration = Duration::from_secs(86_400);

/// How long a token is taken to be valid if the service that issued it does not say it.
pub const DEFAULT_TOKEN_LIFETIME: Duration = Duration::from_secs(600);

/// The longest token that is accepted, in bytes.
pub const MAX_TOKEN_BYTES: usize = 32 << 10;

/// The largest file with credentials or profiles, in bytes.
pub const MAX_CREDENTIAL_FILE_BYTES: usize = 1 << 20;

/// The largest file with configuration, models, scripts or certificates, in bytes.
pub const MAX_CONFIG_FILE_BYTES: usize = 4 << 20;

/// How many profiles of Amazon Web Services can be the source of one another.
pub const MAX_PROFILE_CHAIN: usize = 8;

/// How much the clock of a provider that refuses a signature must differ from this machine's before the signature is made again with its time.
pub const MIN_CLOCK_SKEW: Duration = Duration::from_secs(240);

/// The largest difference between the two clocks that is corrected.
pub const MAX_CLOCK_SKEW: Duration = Duration::from_secs(86_400);

/// How long reading the body of an error response may take. The status already decides the kind of the error, so a body that arrives slowly
/// or never is cut off and does not turn the error into a timeout.
pub const ERROR_BODY_WAIT: Duration = Duration::from_secs(5);

/// The longest time that a configuration or a provider can ask to wait: a year. A longer one in `agentloop.toml` is a configuration error;
/// 0 there means no limit.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 86_400);

/// How much work reading a response does before control returns to the runtime, in bytes after decompression. Timers, cancellation and
/// other tasks run then, however fast the bytes arrive. One JSON document (an event, or a complete body) is still decoded in one step;
/// [`MAX_EVENT_BYTES`] and [`MAX_BODY_BYTES`] bound those. A gateway moves its other tasks to another thread before it reads one that is
/// larger than this.
pub const POLL_WORK_BYTES: usize = 256 << 10;

/// The least that one piece of a body or one event counts towards [`POLL_WORK_BYTES`], however small it is.
pub const POLL_STEP_BYTES: usize = 256;

/// The most bytes of a stream between two events of the response: comments, blank lines, messages that carry no content.
pub const MAX_BYTES_WITHOUT_EVENT: usize = 64 << 20;

/// The most compressed bytes that may arrive without decompressing to anything, such as empty gzip members.
pub const MAX_COMPRESSED_WITHOUT_OUTPUT: usize = 1 << 20;

/// The longest arguments of one tool call, in bytes.
pub const MAX_ARGUMENTS_BYTES: usize = 16 << 20;

/// The most bytes that a response may hold, complete or streamed. Everything counts: text, arguments, media, citations, provider state, log
/// probabilities, warnings, metadata, what a decoder keeps until the end, and for each item of a list its own size. While a response is
/// streamed, events that have not been read may hold its content up to twice more: as the deltas, and as the finished parts.
pub const MAX_RESPONSE_BYTES: usize = 256 << 20;

/// The most bytes that a response may hold for each byte that was received of it, after decompression, beyond
/// [`MAX_HELD_FREE_BYTES`]. Real responses are held in one to ten times their size. This bounds a response in which one value is copied
/// into every element of a list.
pub const MAX_HELD_PER_BYTE: usize = 64;

/// The bytes that a response may hold however little was received of it.
pub const MAX_HELD_FREE_BYTES: usize = 16 << 20;

/// The most bytes of a response's id, and of the name of its model, that a [written](crate::protocol::serve::StreamWriter) stream repeats in its
/// events. A longer name is not copied to the parts that are bound to the model either.
pub const MAX_REPEATED_BYTES: usize = 1 << 10;

/// The most parts that one choice may have.
pub const MAX_PARTS: usize = 1 << 16;

/// The most choices that one response may have.
pub const MAX_CHOICES: usize = 1 << 10;

/// How many converted schemas of tools and responses are kept, so that they are not converted for every call. The least recently used ones
/// are removed first.
pub(crate) const MAX_KEPT_SCHEMAS: usize = 1_024;

/// The most memory that these schemas may take together, in bytes, as estimated from their text. A schema that takes more than an eighth
/// of it is not kept.
pub(crate) const MAX_KEPT_SCHEMA_BYTES: usize = 8 << 20;

/// How many levels of a provider's own JSON (in opaque parts, states, arguments and results of its tools, metadata and citations) are kept as
/// a tree. Deeper levels are kept as text, so that a response can always be stored as JSON and read again. They are a tree again when
/// they are sent back to their provider.
pub const MAX_KEPT_DEPTH: usize = 96;

/// How many levels JSON in a request (schemas, states, metadata, extra fields of the body) may have. Deeper JSON is an
/// [invalid request](crate::ErrorKind::InvalidRequest). What is kept of a response is never as deep.
pub const MAX_REQUEST_DEPTH: usize = 112;

/// The most pages of a list of models that are requested.
pub(crate) const MAX_MODEL_PAGES: usize = 50;

/// The most bytes that all pages of a list of models may have together.
pub const MAX_MODEL_LIST_BYTES: usize = 16 << 20;

/// The most models that a list may have.
pub const MAX_MODELS: usize = 50_000;

/// How long requesting a list of models may take, all pages together. A shorter
/// [`Timeouts::total`](crate::Timeouts::total) applies instead.
pub const MODEL_LIST_TIMEOUT: Duration = Duration::from_secs(120);

/// The most texts in one embeddings call if the provider's own limit is not known. Nearly every provider accepts so many.
pub const EMBED_BATCH: usize = 96;

/// The most bytes of text in one embeddings call if the provider's own limit is not known. A longer text is sent in a call of its own.
pub const EMBED_BATCH_BYTES: usize = 4 << 20;

/// The most calls that one embeddings request makes at the same time, unless it sets another number.
pub const EMBED_CONCURRENCY: usize = 4;

/// The most bytes of one image, audio or file that is downloaded for a provider that does not accept URLs. A client can set another limit.
pub const MAX_MEDIA_BYTES: usize = 20 << 20;

/// The most bytes of all media together that are downloaded for one request. A URL that occurs several times counts each time.
pub const MAX_MEDIA_TOTAL_BYTES: usize = 100 << 20;

/// The most media that are downloaded for one request.
pub const MAX_MEDIA_PER_REQUEST: usize = 64;

/// How many media of one request are downloaded at the same time.
pub const MAX_MEDIA_AT_ONCE: usize = 4;

/// The most fields and files of a form that a server reads.
pub const MAX_FORM_PARTS: usize = 256;

/// The most bytes of the headers of one field of a form.
pub const MAX_FORM_HEAD_BYTES: usize = 8 << 10;

/// The largest file that is read from a path into a part, in bytes.
pub const MAX_FILE_BYTES: usize = 64 << 20;

/// The largest file that is uploaded to a provider, or downloaded into memory, in bytes.
pub const MAX_UPLOAD_BYTES: usize = 512 << 20;

/// The largest file that is downloaded from a provider to disk, in bytes.
pub const MAX_DOWNLOAD_BYTES: u64 = 8 << 30;

/// How long an upload to a provider may take. A shorter [`Timeouts::total`](crate::Timeouts::total) applies instead.
pub const UPLOAD_TIMEOUT: Duration = Duration::from_secs(3600);

/// The most pages of a list of files or batches that are requested.
pub const MAX_LIST_PAGES: usize = 200;

/// The most bytes that all pages of a list of files or batches may have together.
pub const MAX_LIST_BYTES: usize = 64 << 20;

/// The most files or batches that a list may have.
pub const MAX_LISTED: usize = 100_000;

/// The largest response to a call that is about one file or batch, in bytes, without its results.
pub const MAX_STATUS_BYTES: usize = 4 << 20;

/// How long a file may be processed by its provider before [`Files::wait`](crate::Files::wait) fails.
pub const FILE_READY_TIMEOUT: Duration = Duration::from_secs(600);

/// How long [`Files::wait`](crate::Files::wait) waits between two requests.
pub const FILE_READY_INTERVAL: Duration = Duration::from_secs(2);

/// The most requests of one batch. Providers accept fewer.
pub const MAX_BATCH_REQUESTS: usize = 100_000;

/// The most bytes that the requests of one batch may have together, as they are sent. Providers accept less.
pub const MAX_BATCH_INPUT_BYTES: usize = 256 << 20;

/// The longest line of a batch's results, in bytes. The result of a longer line is an error, and the lines after it are read.
pub const MAX_BATCH_LINE_BYTES: usize = 32 << 20;

/// The most bytes that all results of a batch may have together.
pub const MAX_BATCH_RESULT_BYTES: u64 = 16 << 30;

/// The most bytes of results that [`Batches::results`](crate::Batches::results) holds in memory. [`Batches::read`](crate::Batches::read) returns one at a time.
pub const MAX_BATCH_COLLECTED_BYTES: u64 = 1 << 30;

/// The most problems with the results of a batch that are kept as warnings. Further ones are counted.
pub const MAX_BATCH_PROBLEMS: usize = 100;

/// The shortest time between two requests for the state of a batch.
pub const MIN_BATCH_INTERVAL: Duration = Duration::from_secs(1);

/// The longest time between two requests for the state of a batch, unless set otherwise.
pub const MAX_BATCH_INTERVAL: Duration = Duration::from_secs(60);

/// How many requests for the state of a batch may fail in a row while [`Batches::wait`](crate::Batches::wait) waits.
pub const MAX_BATCH_POLL_FAILURES: usize = 10;

/// The most bytes of a response's unknown fields that are kept as provider metadata, as JSON. Further fields are dropped with a
/// warning.
pub const MAX_METADATA_BYTES: usize = 1024 * 1024;

/// The most bytes of one [raw response](crate::RawResponse), headers included. The rest is dropped with a warning.
pub const MAX_RAW_BYTES: usize = 16 << 20;

/// The most models of one provider for which a cost ledger keeps separate sums. Further models are added up without a name.
pub(crate) const MAX_COST_MODELS: usize = 10_000;

/// The most tags for which a cost ledger keeps separate sums. Further tags are added up without a name.
pub(crate) const MAX_COST_TAGS: usize = 10_000;

/// The most errors of earlier attempts that one error holds. The latest are kept.
pub const MAX_CAUSES: usize = 16;

/// The most models that a call tries, the requested one included. Further ones are ignored.
pub const MAX_FALLBACKS: usize = 16;

/// The most providers and models whose failures one [`Fallback`](crate::middleware::Fallback) remembers.
pub(crate) const MAX_COOLDOWNS: usize = 1 << 10;

/// The longest time for which a [`Fallback`](crate::middleware::Fallback) does not call a provider or a model, whatever wait it asks for, in seconds.
pub(crate) const MAX_COOLDOWN_SECONDS: u64 = 60 * 60;

/// The most bytes of responses that a cache keeps in memory, unless set otherwise.
pub(crate) const CACHE_MAX_BYTES: u64 = 64 << 20;

/// How long a cache keeps a response, unless set otherwise.
pub(crate) const CACHE_TTL: Duration = Duration::from_secs(300);

/// The longest time for which Redis keeps a response.
#[cfg(feature = "redis")]
pub(crate) const CACHE_MAX_TTL: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The largest response that a cache stores or shares, in bytes.
pub(crate) const CACHE_MAX_VALUE_BYTES: usize = 16 << 20;

/// The largest response that is stored in Redis, in bytes. A network transfers so much within [`CACHE_STORE_DEADLINE`].
#[cfg(feature = "redis")]
pub(crate) const CACHE_MAX_REDIS_VALUE_BYTES: usize = 1 << 20;

/// The most idle connections to one Redis server.
pub const MAX_REDIS_LINKS: usize = 8;

/// How long an operation of a cache's store may take, unless set otherwise. Then the call continues without it.
pub const CACHE_STORE_DEADLINE: Duration = Duration::from_millis(50);

/// How long a cache's store is not used after it failed.
pub const CACHE_STORE_REST: Duration = Duration::from_secs(5);

/// How long a call waits for the response to an equal call, unless set otherwise. Then it is sent itself.
pub(crate) const CACHE_WAIT: Duration = Duration::from_secs(60);

/// How many equal calls a call waits for, one after the other, if they end without a response. Then it is sent itself.
pub const CACHE_MAX_LEADERS: usize = 4;

/// The most calls that wait for one account's limits, unless set otherwise. Further calls fail at once.
pub(crate) const LIMITS_QUEUE: usize = 1_024;

/// The longest time for which a call waits for an account's limits, unless set otherwise.
pub(crate) const LIMITS_MAX_WAIT: Duration = Duration::from_secs(300);

/// The longest time for which a provider's request to wait delays further calls, unless set otherwise.
pub(crate) const LIMITS_MAX_PAUSE: Duration = Duration::from_secs(60);

/// How much of an account's allowance can be used at once, unless set otherwise, and at most: the allowance of one minute.
pub(crate) const LIMITS_BURST: Duration = Duration::from_secs(60);

/// How long a process waits for limits that several processes share, before it applies its own limits alone.
pub(crate) const LIMITS_SHARED_DEADLINE: Duration = Duration::from_millis(250);

/// How long a process then applies its own limits alone, before it uses the shared ones again.
pub(crate) const LIMITS_SHARED_RETRY: Duration = Duration::from_secs(5);

/// The most tokens that one call can count for, in minutes of its account's allowance, whatever its usage is. A provider that reports a wrong
/// usage must not block an account for ever.
pub(crate) const LIMITS_MOST_MINUTES: u64 = 60;

/// How many tokens a response is expected to have if the request sets no `max_tokens`.
pub(crate) const LIMITS_RESPONSE_TOKENS: u64 = 1_000;

/// How many tokens an image, audio, video or file is expected to have, before the provider has counted them.
pub const LIMITS_MEDIUM_TOKENS: u64 = 1_000;

/// How often one run of an agent calls the model, unless set otherwise.
pub const AGENT_MAX_STEPS: u32 = 20;

/// How many tools of one response run at the same time, unless set otherwise.
#[cfg(feature = "agent")]
pub(crate) const AGENT_PARALLEL_TOOLS: usize = 8;

/// How long one attempt of a tool may take, unless set otherwise.
#[cfg(feature = "agent")]
pub(crate) const TOOL_TIMEOUT: Duration = Duration::from_secs(300);

/// The most retries of one tool call.
#[cfg(feature = "agent")]
pub(crate) const MAX_TOOL_RETRIES: u32 = 10;

/// The wait before the first retry of a tool. Each further wait is twice as long.
#[cfg(feature = "agent")]
pub(crate) const TOOL_RETRY_WAIT: Duration = Duration::from_millis(200);

/// The longest wait before a retry of a tool.
#[cfg(feature = "agent")]
pub(crate) const MAX_TOOL_RETRY_WAIT: Duration = Duration::from_secs(5);

/// How many characters of a tool's result the model receives, unless set otherwise.
#[cfg(feature = "agent")]
pub(crate) const MAX_TOOL_OUTPUT_CHARS: usize = 64_000;

/// How many bytes the results of one step of an agent may have together, as the model receives them: text, and media with their data.
/// The rest is cut off, with a note that the model reads and a warning on the result.
pub const MAX_STEP_RESULT_BYTES: usize = 16 << 20;

/// How many bytes the results of one run of an agent may have together, as the model receives them. No provider accepts a request of this
/// size. The rest is cut off, with a note that the model reads and a warning on the result.
pub const MAX_RUN_RESULT_BYTES: usize = 64 << 20;

/// How many bytes a run keeps of results that the model receives only in part. The rest is dropped, with a warning on the result.
pub const MAX_FULL_RESULT_BYTES: usize = 64 << 20;

/// The largest saved run or conversation that is read, in bytes of JSON.
pub const MAX_SAVED_BYTES: usize = 64 << 20;

/// The most values (texts, numbers, lists, objects) that a saved run or conversation may have. Each takes about a hundred
/// bytes in memory, however short it is.
pub const MAX_SAVED_VALUES: usize = 2 << 20;

/// How many progress events of tools wait to be read. Further ones replace waiting ones.
pub const MAX_WAITING_PROGRESS: usize = 1_024;

/// How long an MCP server may take to start, unless set otherwise. Some are installed when they are started.
#[cfg(feature = "mcp")]
pub(crate) const MCP_CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a server may take to end when it is closed. Then its process is killed.
#[cfg(feature = "mcp")]
pub(crate) const MCP_CLOSE_WAIT: Duration = Duration::from_secs(2);

/// The largest message of an MCP server, in bytes. A larger one is not read, and the call that waits for it ends with its timeout.
#[cfg(feature = "mcp")]
pub(crate) const MCP_MAX_MESSAGE_BYTES: usize = 32 << 20;

/// The most tools of one MCP server. Further ones are ignored.
#[cfg(feature = "mcp")]
pub(crate) const MCP_MAX_TOOLS: usize = 1_024;

/// The most pages of a list of tools that are requested.
#[cfg(feature = "mcp")]
pub(crate) const MCP_MAX_PAGES: usize = 100;

/// How many bytes of a server's standard error are kept for the error that reports that it did not start.
#[cfg(feature = "mcp")]
pub(crate) const MCP_STDERR_BYTES: usize = 4 << 10;

/// How often a stream of an MCP server is resumed after it was cut off.
#[cfg(feature = "mcp")]
pub(crate) const MCP_RECONNECTS: usize = 5;

/// How many URLs of calls are kept so that they are not built again. With more, all are removed.
pub(crate) const MAX_KNOWN_URLS: usize = 64;

/// The most memory of names of models that are kept with what they lead to, so that they are not resolved again, in bytes. A name is
/// counted with 4 KiB for its target, so about a thousand are kept.
pub(crate) const MAX_KNOWN_TARGET_BYTES: usize = 4 << 20;

/// How many times a response that does not match its schema is requested again, unless
/// [`StructuredRequest::retries`](crate::structured::StructuredRequest::retries) is set.
#[cfg(feature = "structured")]
pub const STRUCTURED_RETRIES: u32 = 2;

/// The most times that a response that does not match its schema is requested again.
#[cfg(feature = "structured")]
pub const MAX_STRUCTURED_RETRIES: u32 = 10;

/// The most steps that checking a value against a schema may take. A schema of a few kilobytes can take longer than any computer has time for,
/// and a schema may come from an MCP server.
pub const MAX_SCHEMA_CHECKS: u64 = 1 << 20;

/// The most regular expressions of a schema against which values are checked.
#[cfg(feature = "validate")]
pub(crate) const MAX_SCHEMA_PATTERNS: usize = 1_000;

/// How deep references and subschemas may be nested while a value is checked against a schema.
#[cfg(feature = "validate")]
pub(crate) const MAX_SCHEMA_DEPTH: usize = 256;

/// The most JSON values in one message of an MCP server, counted by the `{`, `[` and `,` outside of its strings. A value takes much more memory
/// once it is parsed. A message with more values ends the connection.
#[cfg(feature = "mcp")]
pub(crate) const MCP_MAX_MESSAGE_VALUES: usize = 1 << 17;

/// The most requests of an MCP server that wait for our response. While so many wait, nothing more is read from the server.
pub const MCP_MAX_SERVER_REQUESTS: usize = 32;

/// The most bytes of names, descriptions and schemas of the tools of one MCP server. Further tools are ignored.
pub const MCP_MAX_LIST_BYTES: usize = 8 << 20;

/// The shortest time between two lists of the tools of an MCP server that keeps announcing that they have changed.
#[cfg(feature = "mcp")]
pub(crate) const MCP_LIST_PAUSE: Duration = Duration::from_secs(1);

/// How long an MCP server may take to list its tools after it announced that they have changed.
pub const MCP_LIST_TIMEOUT: Duration = Duration::from_secs(60);

/// The shortest time between two requests for the event stream of an MCP server, whatever the server asks for.
#[cfg(feature = "mcp")]
pub(crate) const MCP_STREAM_PAUSE: Duration = Duration::from_secs(1);

/// The most restrictions that a configuration file may add for one model.
pub(crate) const MAX_CONFIGURED_RESTRICTIONS: usize = 256;
