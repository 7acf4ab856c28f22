//! Every bound on what comes over the wire, and on what waits, in one place.
//!
//! Past a bound on size the call fails with [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge): an answer may be
//! refused for its size, but it can never take the process's memory. The bounds of the [cache](crate::middleware::Cache) make
//! no call fail.

use std::time::Duration;

/// The longest line of a stream, in bytes. A generated image comes as base64 on one line.
pub const MAX_LINE_BYTES: usize = 32 << 20;

/// The largest event of a stream, in bytes: all its data lines together.
pub const MAX_EVENT_BYTES: usize = 48 << 20;

/// The largest whole body, in bytes after decompression.
pub const MAX_BODY_BYTES: usize = 128 << 20;

/// The largest body of an error answer that is read; the rest is left unread.
pub const MAX_ERROR_BODY_BYTES: usize = 1 << 20;

/// How many bytes of a failed response's body an [`Error`](crate::Error) keeps.
pub const MAX_ERROR_RAW_BYTES: usize = 16 << 10;

/// How long reading the body of an error response may take. The status already decides what kind of error it is, so a
/// body that arrives slowly or never is cut off and never turns the error into a timeout.
pub const ERROR_BODY_WAIT: Duration = Duration::from_secs(5);

/// The longest time that a configuration or a provider can ask to wait: a year. A longer one in `agentloop.toml` is a configuration error;
/// 0 there means no limit.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 86_400);

/// How much work reading a response does before control returns to the runtime, in bytes after decompression. Timers, cancellation and
/// other tasks get their chance then, however fast the bytes arrive. One JSON document (an event, or a body that arrived whole) is still
/// decoded in one step; [`MAX_EVENT_BYTES`] and [`MAX_BODY_BYTES`] bound those.
pub const POLL_WORK_BYTES: usize = 256 << 10;

/// The least that one piece of a body or one event counts towards [`POLL_WORK_BYTES`], however small it is.
pub const POLL_STEP_BYTES: usize = 256;

/// The most bytes of a stream between two events of the response: comments, blank lines, messages that carry no content.
pub const MAX_BYTES_WITHOUT_EVENT: usize = 64 << 20;

/// The most compressed bytes that may arrive without decompressing to anything, such as empty gzip members.
pub const MAX_COMPRESSED_WITHOUT_OUTPUT: usize = 1 << 20;

/// The longest arguments of one tool call, in bytes.
pub const MAX_ARGUMENTS_BYTES: usize = 16 << 20;

/// The most bytes that a response may hold, whole or streamed. Everything counts: text, arguments, media, citations, state
/// of the provider, log probabilities, warnings, metadata, what a decoder keeps until the end, and for each item of a list
/// its own size. While a response is streamed, events that have not been taken may hold its content up to twice more: as the
/// deltas, and as the finished parts.
pub const MAX_RESPONSE_BYTES: usize = 256 << 20;

/// The most bytes that a response may hold for each byte that was sent of it, after decompression, beyond
/// [`MAX_HELD_FREE_BYTES`]. What a provider really sends is held in one to ten times its size. A provider that has one value
/// copied into every element of a list gets no further than this.
pub const MAX_HELD_PER_BYTE: usize = 64;

/// The bytes that a response may hold however little was sent of it.
pub const MAX_HELD_FREE_BYTES: usize = 16 << 20;

/// The most parts that one choice may have.
pub const MAX_PARTS: usize = 1 << 16;

/// The most choices that one answer may have.
pub const MAX_CHOICES: usize = 1 << 10;

/// How many converted schemas of tools and responses are kept, so that they are not converted at every call. Those that
/// were used longest ago are forgotten first.
pub const MAX_KEPT_SCHEMAS: usize = 1_024;

/// The most memory that these schemas may take together, in bytes, as estimated from their text. One that takes more
/// than an eighth of it is not kept.
pub const MAX_KEPT_SCHEMA_BYTES: usize = 8 << 20;

/// How many levels of a provider's own JSON (in opaque parts, states, arguments and results of its tools, metadata and
/// citations) are kept as a tree. What lies deeper is kept as its text, so that an answer can always be stored as JSON and
/// read again; when it goes back to its provider, it is a tree again.
pub const MAX_KEPT_DEPTH: usize = 96;

/// How many levels JSON in a request (schemas, states, metadata, more fields of the body) may have; deeper it is an
/// [invalid request](crate::ErrorKind::InvalidRequest). What was kept of an answer is never as deep.
pub const MAX_REQUEST_DEPTH: usize = 112;

/// The most pages of a list of models that are requested.
pub const MAX_MODEL_PAGES: usize = 50;

/// The most bytes that all pages of a list of models may have together.
pub const MAX_MODEL_LIST_BYTES: usize = 16 << 20;

/// The most models that a list may have.
pub const MAX_MODELS: usize = 50_000;

/// How long requesting a list of models may take, all pages together. A shorter
/// [`Timeouts::total`](crate::Timeouts::total) applies instead.
pub const MODEL_LIST_TIMEOUT: Duration = Duration::from_secs(120);

/// The most texts in one embeddings call, where the host's own limit is not known: what nearly every host takes.
pub const EMBED_BATCH: usize = 96;

/// The most bytes of text in one embeddings call, where the host's own limit is not known. A longer text goes by itself.
pub const EMBED_BATCH_BYTES: usize = 4 << 20;

/// The most calls that one request for embeddings has under way at once, unless it says otherwise.
pub const EMBED_CONCURRENCY: usize = 4;
/// The most bytes of one medium that is fetched for a host that needs them; a client can be told another number.
pub const MAX_MEDIA_BYTES: usize = 20 << 20;

/// The most bytes of all media together that are fetched for one request. A medium that is named several times counts each time.
pub const MAX_MEDIA_TOTAL_BYTES: usize = 100 << 20;

/// The most media that are fetched for one request.
pub const MAX_MEDIA_PER_REQUEST: usize = 64;

/// How many media of one request are fetched at the same time.
pub const MAX_MEDIA_AT_ONCE: usize = 4;

/// The largest file that is read from a path into a part, in bytes.
pub const MAX_FILE_BYTES: usize = 64 << 20;

/// The most bytes of a response's unknown fields that are kept as provider metadata, as JSON. Further fields are dropped with a
/// warning.
pub const MAX_METADATA_BYTES: usize = 1024 * 1024;

/// The most bytes that one [raw response](crate::RawResponse) has, headers included. What is more is dropped with a warning.
pub const MAX_RAW_BYTES: usize = 16 << 20;

/// The most models, of one provider, that a ledger of costs has sums of their own for; what is more is added up under no
/// name.
pub const MAX_COST_MODELS: usize = 10_000;

/// The most tags that a ledger of costs has sums of their own for; what is more is added up under no name.
pub const MAX_COST_TAGS: usize = 10_000;

/// The most errors of earlier tries that one error holds. The latest are kept.
pub const MAX_CAUSES: usize = 16;

/// The most models, the one that is asked included, that a call falls back to. Further ones are left alone.
pub const MAX_FALLBACKS: usize = 16;

/// The most providers and models of which one [`Fallback`](crate::middleware::Fallback) remembers how they fare.
pub const MAX_COOLDOWNS: usize = 1 << 10;

/// The longest time that a [`Fallback`](crate::middleware::Fallback) leaves a provider or a model alone, whatever wait it
/// asks for, in seconds.
pub const MAX_COOLDOWN_SECONDS: u64 = 60 * 60;

/// The most bytes of answers that a cache keeps in memory, unless it is told otherwise.
pub const CACHE_MAX_BYTES: u64 = 64 << 20;

/// How long a cache keeps an answer, unless it is told otherwise.
pub const CACHE_TTL: Duration = Duration::from_secs(300);

/// The longest that Redis is told to keep an answer.
pub const CACHE_MAX_TTL: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The largest answer that a cache stores or shares, in bytes.
pub const CACHE_MAX_VALUE_BYTES: usize = 16 << 20;

/// The largest answer that is stored in Redis, in bytes: what a network carries within [`CACHE_STORE_DEADLINE`].
pub const CACHE_MAX_REDIS_VALUE_BYTES: usize = 1 << 20;

/// The most idle connections to one Redis.
pub const MAX_REDIS_LINKS: usize = 8;

/// How long an operation of a cache's store may take, unless it is told otherwise; then the call goes on without it.
pub const CACHE_STORE_DEADLINE: Duration = Duration::from_millis(50);

/// How long a cache's store is left alone after it failed.
pub const CACHE_STORE_REST: Duration = Duration::from_secs(5);

/// How long a call waits for the answer to an equal one, unless it is told otherwise; then it asks too.
pub const CACHE_WAIT: Duration = Duration::from_secs(60);

/// How many equal calls a call waits for, one after the other, that end without an answer; then it asks too.
pub const CACHE_MAX_LEADERS: usize = 4;
/// The most calls that wait for one account's limits, unless it is set; the next one fails at once.
pub const LIMITS_QUEUE: usize = 1_024;

/// The longest that a call waits for an account's limits, unless it is set.
pub const LIMITS_MAX_WAIT: Duration = Duration::from_secs(300);

/// The longest that a provider's own word holds further calls back, unless it is set.
pub const LIMITS_MAX_PAUSE: Duration = Duration::from_secs(60);

/// How much of an account's allowance may go at once, unless it is set, and at most: a minute's worth.
pub const LIMITS_BURST: Duration = Duration::from_secs(60);

/// How long limits that several processes share are waited for, before a process goes by its own alone.
pub const LIMITS_SHARED_DEADLINE: Duration = Duration::from_millis(250);

/// How long a process then goes by its own, before it asks again.
pub const LIMITS_SHARED_RETRY: Duration = Duration::from_secs(5);

/// The most tokens that one call can count for, in minutes' worth of its account, whatever its usage says: a provider
/// that counts wrongly must not close an account for ever.
pub const LIMITS_MOST_MINUTES: u64 = 60;

/// How many tokens an answer is taken to have before it is there, where the request sets no `max_tokens`.
pub const LIMITS_ANSWER_TOKENS: u64 = 1_000;

/// How many tokens an image, a sound, a video or a file is taken to have before the provider has counted them.
pub const LIMITS_MEDIUM_TOKENS: u64 = 1_000;

/// How often a model is asked in one run of an agent, unless it is set.
pub const AGENT_MAX_STEPS: u32 = 20;

/// How many tools of one answer run at once, unless it is set.
pub const AGENT_PARALLEL_TOOLS: usize = 8;

/// How long one try of a tool may take, unless it is set.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(300);

/// The most often that a call of a tool is tried again.
pub const MAX_TOOL_RETRIES: u32 = 10;

/// How long is waited before a tool is tried again for the first time; each further wait is twice as long.
pub const TOOL_RETRY_WAIT: Duration = Duration::from_millis(200);

/// The longest such wait.
pub const MAX_TOOL_RETRY_WAIT: Duration = Duration::from_secs(5);

/// How much text of a tool's result the model sees, in characters, unless it is set.
pub const MAX_TOOL_OUTPUT_CHARS: usize = 64_000;

/// How much the results of one step of an agent may have together, in bytes, as the model sees them: text, and media with
/// their data. What is more is cut, with a note that the model reads and a warning on the result.
pub const MAX_STEP_RESULT_BYTES: usize = 16 << 20;

/// How much the results of one run of an agent may have together, in bytes, as the model sees them. No provider takes a
/// request of this size. What is more is cut, with a note that the model reads and a warning on the result.
pub const MAX_RUN_RESULT_BYTES: usize = 64 << 20;

/// How much a run keeps aside of results that the model sees only in part, in bytes. What is more is dropped, with a warning
/// on the result.
pub const MAX_FULL_RESULT_BYTES: usize = 64 << 20;

/// The largest saved run or conversation that is read, in bytes of JSON.
pub const MAX_SAVED_BYTES: usize = 64 << 20;

/// The most values (texts, numbers, lists, objects) that a saved run or conversation may have. Each takes about a hundred
/// bytes in memory, however short it is.
pub const MAX_SAVED_VALUES: usize = 2 << 20;

/// How much news of tools' progress waits to be read; what is more takes the place of what waits.
pub const MAX_WAITING_PROGRESS: usize = 1_024;

/// How long an MCP server may take until it is there, unless it is set. Some are installed when they are started.
pub const MCP_CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a server may take to end by itself when it is closed; then its process is killed.
pub const MCP_CLOSE_WAIT: Duration = Duration::from_secs(2);

/// The largest message of an MCP server, in bytes. A larger one is left unread, and what waits for it ends with its timeout.
pub const MCP_MAX_MESSAGE_BYTES: usize = 32 << 20;

/// The most tools of one MCP server. Further ones are left out.
pub const MCP_MAX_TOOLS: usize = 1_024;

/// The most pages of a list of tools that are asked for.
pub const MCP_MAX_PAGES: usize = 100;

/// How much of what a server writes to its standard error is kept for the error that says that it did not start, in bytes.
pub const MCP_STDERR_BYTES: usize = 4 << 10;

/// How often a stream of an MCP server that breaks off is taken up again.
pub const MCP_RECONNECTS: usize = 5;

/// How many addresses of calls are kept so that they are not made again. With more, all are forgotten.
pub const MAX_KNOWN_ADDRESSES: usize = 64;

/// The most steps that checking a value against a schema may take. A schema of a few kilobytes can ask for more than a
/// computer can do, and a schema may come from an MCP server.
pub const MAX_SCHEMA_CHECKS: u64 = 1 << 20;

/// The most references and subschemas that may lie within each other while a value is checked against a schema.
pub const MAX_SCHEMA_DEPTH: usize = 256;

/// The most JSON values in one message of an MCP server, counted by the `{`, `[` and `,` outside of its strings. A value takes
/// much more memory once it is read. A message with more ends the connection.
pub const MCP_MAX_MESSAGE_VALUES: usize = 1 << 17;

/// The most requests of an MCP server that wait for our response. While there are as many, nothing more is read from the
/// server.
pub const MCP_MAX_SERVER_REQUESTS: usize = 32;

/// The most bytes of names, descriptions and schemas of the tools of one MCP server. Tools beyond that are left out.
pub const MCP_MAX_LIST_BYTES: usize = 8 << 20;

/// The shortest time between two lists of the tools of an MCP server that keeps announcing that they have changed.
pub const MCP_LIST_PAUSE: Duration = Duration::from_secs(1);

/// How long an MCP server may take to list its tools after it announced that they have changed.
pub const MCP_LIST_TIMEOUT: Duration = Duration::from_secs(60);

/// The shortest time between two requests for the event stream of an MCP server, whatever the server asks for.
pub const MCP_STREAM_PAUSE: Duration = Duration::from_secs(1);

/// The most restrictions that a configuration file may add for one model.
pub const MAX_CONFIGURED_RESTRICTIONS: usize = 256;
