//! Where the parameters are in a request.

use crate::chat::Param;
use crate::protocol::params::Place;

/// The names of `options` (`api/types.go`: `Options` and `Runner`). A caller who writes one of them beside `options` means the
/// option: the server ignores the name there without a word.
pub(super) const OPTIONS: [&str; 20] = [
    "num_keep",
    "seed",
    "num_predict",
    "top_k",
    "top_p",
    "min_p",
    "typical_p",
    "repeat_last_n",
    "temperature",
    "repeat_penalty",
    "presence_penalty",
    "frequency_penalty",
    "stop",
    "num_ctx",
    "num_batch",
    "num_gpu",
    "main_gpu",
    "use_mmap",
    "num_thread",
    "draft_num_predict",
];

/// Returns where the protocol has a parameter.
pub(in crate::protocol) fn place(param: Param) -> Place {
    Place::At(match param {
        Param::Temperature => "options.temperature",
        Param::TopP => "options.top_p",
        Param::TopK => "options.top_k",
        Param::MaxTokens => "options.num_predict",
        Param::Stop => "options.stop",
        Param::Seed => "options.seed",
        Param::FrequencyPenalty => "options.frequency_penalty",
        Param::PresencePenalty => "options.presence_penalty",
        Param::Logprobs => "logprobs",
        // `server/routes.go` refuses other numbers.
        Param::TopLogprobs => return Place::Between("top_logprobs", 0.0, 20.0),
        Param::ResponseFormat => "format",
        Param::ReasoningEffort | Param::Thinking => "think",
        Param::Tools => "tools",
        _ => return Place::Nowhere,
    })
}
