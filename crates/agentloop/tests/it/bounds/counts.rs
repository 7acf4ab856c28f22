//! Counts of tokens that no sum can hold.

use agentloop::ChatStreamEvent;
use agentloop::inspect::{self, DecodeOptions, HttpResponse};

use super::bodies::{self, Sent};
use super::read;

const MOST: i64 = i64::MAX;

fn is_counted(sent: &Sent) {
    let (outcome, _) = read(sent);
    let Some(ChatStreamEvent::MessageDone { response }) = outcome.unwrap() else {
        panic!("no response")
    };
    assert!(response.usage.total_tokens.is_some_and(|total| total >= MOST as u64), "{response:?}");
}

#[test]
fn three_times_the_largest_number_of_tokens_does_not_overflow() {
    let reasoning = format!(r#"{{"reasoning_tokens":{MOST}}}"#);
    let chat = format!(
        r#","usage":{{"prompt_tokens":{MOST},"completion_tokens":{MOST},"total_tokens":{MOST},"completion_tokens_details":{reasoning},"prompt_tokens_details":{{"cached_tokens":{MOST},"cache_write_tokens":{MOST},"audio_tokens":{MOST}}}}}"#
    );
    is_counted(&bodies::chat(r#"{"content":"a"}"#, &chat));
    let mut other = bodies::chat(r#"{"content":"a"}"#, &chat);
    other.provider = "xai";
    is_counted(&other);

    let mut responses = bodies::responses("[]");
    let usage = format!(
        r#""usage":{{"input_tokens":{MOST},"output_tokens":{MOST},"total_tokens":{MOST},"output_tokens_details":{reasoning},"input_tokens_details":{{"cached_tokens":{MOST}}},"cost_in_usd_ticks":{MOST}}},"output""#
    );
    let body = String::from_utf8(responses.pieces[0].to_vec()).unwrap();
    responses.pieces = vec![body.replace(r#""output""#, &usage).into()];
    is_counted(&responses);

    let usage = format!(
        r#""usage":{{"input_tokens":{MOST},"output_tokens":{MOST},"cache_read_input_tokens":{MOST},"cache_creation":{{"ephemeral_5m_input_tokens":{MOST},"ephemeral_1h_input_tokens":{MOST}}}}},"content""#
    );
    let mut anthropic = bodies::anthropic("[]");
    let body = String::from_utf8(anthropic.pieces[0].to_vec()).unwrap();
    anthropic.pieces = vec![body.replace(r#""content""#, &usage).into()];
    is_counted(&anthropic);

    let share = format!(r#"{{"modality":"TEXT","tokenCount":{MOST}}}"#);
    let usage = format!(
        r#""usageMetadata":{{"promptTokenCount":{MOST},"candidatesTokenCount":{MOST},"thoughtsTokenCount":{MOST},"toolUsePromptTokenCount":{MOST},"cachedContentTokenCount":{MOST},"totalTokenCount":{MOST},"promptTokensDetails":[{share},{share},{share}]}},"candidates""#
    );
    let mut gemini = bodies::gemini(r#"[{"text":"a"}]"#, "");
    let body = String::from_utf8(gemini.pieces[0].to_vec()).unwrap();
    gemini.pieces = vec![body.replace(r#""candidates""#, &usage).into()];
    is_counted(&gemini);
}

#[test]
fn a_sum_of_the_tokens_of_texts_does_not_overflow() {
    let ai = agentloop::AgentLoop::builder().build().unwrap();
    let one = format!(r#"{{"embeddings":{{"values":[1],"statistics":{{"token_count":{MOST}}}}}}}"#);
    let answer = HttpResponse::new(format!(r#"{{"predictions":[{one},{one},{one}]}}"#));
    let response = inspect::decode_embed(&ai, &DecodeOptions::new("google"), &answer).unwrap();
    assert!(response.usage.is_none(), "no number says it");
}

#[test]
fn a_negative_number_of_tokens_is_ignored() {
    let usage = r#","usage":{"prompt_tokens":-5,"completion_tokens":-1,"total_tokens":-6}"#;
    let (outcome, _) = read(&bodies::chat(r#"{"content":"a"}"#, usage));
    let Some(ChatStreamEvent::MessageDone { response }) = outcome.unwrap() else {
        panic!("no response")
    };
    assert!(response.usage.is_empty());
}
