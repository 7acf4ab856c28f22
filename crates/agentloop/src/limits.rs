//! Every bound on what comes over the wire, and on what waits, in one place.
//!
//! Past a bound on size the call fails with [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge): an answer may be
//! refused for its size, but it can never take the process's memory.

use std::time::Duration;

/// The longest line of a stream, in bytes. A generated image comes as base64 on one line.
pub const MAX_LINE_BYTES: usize = 32 << 20;

/// The largest event of a stream, in bytes: all its data lines together.
pub const MAX_EVENT_BYTES: usize = 48 << 20;

/// The largest whole body, in bytes after decompression.
pub const MAX_BODY_BYTES: usize = 128 << 20;

/// The largest body of an error answer that is read; the rest is left unread.
pub const MAX_ERROR_BODY_BYTES: usize = 1 << 20;

/// The longest arguments of one tool call, in bytes.
pub const MAX_ARGUMENTS_BYTES: usize = 16 << 20;

/// The largest answer that is put together from a stream, in bytes of content.
pub const MAX_RESPONSE_BYTES: usize = 256 << 20;

/// The most parts that one choice may have.
pub const MAX_PARTS: usize = 1 << 16;

/// The most choices that one answer may have.
pub const MAX_CHOICES: usize = 1 << 10;

/// The most pages of a list of models that are asked for.
pub const MAX_MODEL_PAGES: usize = 50;

/// The most texts in one embeddings call, where the host's own limit is not known: what nearly every host takes.
pub const EMBED_BATCH: usize = 96;

/// The most bytes of text in one embeddings call, where the host's own limit is not known. A longer text goes by itself.
pub const EMBED_BATCH_BYTES: usize = 4 << 20;

/// The most calls that one request for embeddings has under way at once, unless it says otherwise.
pub const EMBED_CONCURRENCY: usize = 4;
/// The most bytes of one medium that is fetched for a host that needs them; a client can be told another number.
pub const MAX_MEDIA_BYTES: usize = 20 << 20;

/// The most bytes of all media together that are fetched for one request.
pub const MAX_MEDIA_TOTAL_BYTES: usize = 100 << 20;

/// The most media that are fetched for one request.
pub const MAX_MEDIA_PER_REQUEST: usize = 64;

/// How many media of one request are fetched at the same time.
pub const MAX_MEDIA_AT_ONCE: usize = 4;

/// The largest file that is read from a path into a part, in bytes.
pub const MAX_FILE_BYTES: usize = 64 << 20;

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
