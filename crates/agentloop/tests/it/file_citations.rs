//! Citations of files: typed when they are read, and unchanged when they are sent back.

use agentloop::protocol::serve;
use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, ChatResponse, Citation, FileCitation, Protocol,
    ResponsePart, WarningKind, inspect,
};
use serde_json::{Value, json};

use crate::support::{Wire, decode};

fn chat(provider: &'static str, annotations: &Value) -> ChatResponse {
    let body = json!({ "id": "r", "model": "m", "choices": [{ "index": 0, "finish_reason": "stop",
        "message": { "role": "assistant", "content": "Rome.", "annotations": annotations } }] });
    decode(&Wire::of(provider), body.to_string().as_bytes()).response().unwrap()
}

fn responses(annotations: &Value) -> ChatResponse {
    let body = json!({ "id": "r", "object": "response", "status": "completed", "model": "m", "output": [
        { "id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [
            { "type": "output_text", "text": "Rome.", "annotations": annotations, "logprobs": [] }] }] });
    decode(&Wire::of_responses(false), body.to_string().as_bytes()).response().unwrap()
}

fn gemini(chunk: &Value) -> ChatResponse {
    let body = json!({ "responseId": "r", "modelVersion": "m", "candidates": [{ "index": 0,
        "finishReason": "STOP", "content": { "role": "model", "parts": [{ "text": "Städte." }] },
        "groundingMetadata": { "groundingChunks": [chunk], "groundingSupports": [
            { "segment": { "endIndex": 8, "text": "Städte." }, "groundingChunkIndices": [0] }] } }] });
    decode(&Wire::of("google"), body.to_string().as_bytes()).response().unwrap()
}

fn files(response: &ChatResponse) -> Vec<&FileCitation> {
    let citations = response.choices[0].citations();
    citations
        .map(|citation| match citation {
            Citation::File(file) => file,
            other => panic!("{other:?}"),
        })
        .collect()
}

/// The body of a request with the message, and the subjects of the dropped parts.
fn sent(model: &str, protocol: Option<Protocol>, message: ChatMessage) -> (Value, Vec<String>) {
    let ai = AgentLoop::builder().build().unwrap();
    let mut request = ChatRequest::new(model).user("question").message(message).user("more");
    request.protocol = protocol;
    let encoded = inspect::encode(&ai, &request, false).unwrap();
    let dropped = encoded.warnings.iter().filter(|warning| warning.kind == WarningKind::Dropped);
    let dropped = dropped.map(|warning| warning.subject.clone().unwrap_or_default()).collect();
    (serde_json::from_str(encoded.body.get()).unwrap(), dropped)
}

/// Every kind of annotation that the Responses protocol has, and one that is not known.
fn annotations() -> Value {
    json!([
        { "type": "url_citation", "url": "https://a.test", "title": "A", "start_index": 0, "end_index": 4 },
        { "type": "file_citation", "file_id": "file_1", "filename": "a.txt", "index": 4 },
        { "type": "container_file_citation", "container_id": "cntr_1", "file_id": "cfile_1",
          "filename": "b.png", "start_index": 0, "end_index": 0 },
        { "type": "file_path", "file_id": "file_2", "index": 3 },
        { "type": "place_citation", "place": "Rome" },
    ])
}

#[test]
fn annotations_of_files_are_typed() {
    let response = responses(&annotations());
    let citations = serde_json::to_value(response.choices[0].citations().collect::<Vec<_>>());
    let citations = citations.unwrap();
    let state = |at: usize| json!({ "provider": "openai", "data": annotations()[at] });
    assert_eq!(
        citations[1],
        json!({ "type": "file_citation", "fileId": "file_1", "filename": "a.txt", "index": 4,
                "providerState": state(1) })
    );
    assert_eq!(
        citations[2],
        json!({ "type": "file_citation", "fileId": "cfile_1", "filename": "b.png",
                "containerId": "cntr_1", "startIndex": 0, "endIndex": 0, "providerState": state(2) })
    );
    assert_eq!(
        citations[3],
        json!({ "type": "file_citation", "fileId": "file_2", "index": 3, "providerState": state(3) })
    );
    assert_eq!(citations[4]["type"], "opaque");
    let again: Vec<Citation> = serde_json::from_value(citations).unwrap();
    assert!(again.iter().eq(response.choices[0].citations()));
}

#[test]
fn all_citations_are_sent_back_to_the_responses_protocol_unchanged() {
    let message = responses(&annotations()).into_message();
    let (body, dropped) = sent("openai/m", Some(Protocol::OpenAiResponses), message);
    assert_eq!(body["input"][1]["content"][0]["annotations"], annotations());
    assert_eq!(dropped, [""; 0]);
}

#[test]
fn a_citation_that_the_responses_protocol_does_not_accept_is_a_warning() {
    // A page without a title, and a file of which too little is known.
    let mut response = responses(&json!([{ "type": "url_citation", "url": "https://a.test" }]));
    let (body, dropped) =
        sent("openai/m", Some(Protocol::OpenAiResponses), response.clone().into_message());
    assert_eq!(body["input"][1]["content"][0]["annotations"], json!([]));
    assert_eq!(dropped, ["messages[1].content[0]"]);
    let ResponsePart::Text(text) = &mut response.choices[0].content[0] else { panic!() };
    let known = json!({ "type": "file_citation", "fileId": "f", "filename": "a", "index": 1 });
    let unknown = json!({ "type": "file_citation", "fileId": "f" });
    text.citations = serde_json::from_value(json!([known, unknown])).unwrap();
    let (body, dropped) =
        sent("openai/m", Some(Protocol::OpenAiResponses), response.into_message());
    assert_eq!(
        body["input"][1]["content"][0]["annotations"],
        json!([{ "type": "file_citation", "file_id": "f", "filename": "a", "index": 1 }])
    );
    assert_eq!(dropped, ["messages[1].content[0]"]);
}

#[test]
fn the_other_protocol_of_the_provider_and_other_providers_warn() {
    let message = responses(&annotations()).into_message();
    let (body, dropped) = sent("openai/m", Some(Protocol::OpenAiChat), message.clone());
    assert_eq!(body["messages"][1], json!({ "role": "assistant", "content": "Rome." }));
    assert_eq!(dropped, ["messages[1].content[0]"]);
    for model in ["anthropic/m", "google/m", "mistral/m"] {
        let (body, dropped) = sent(model, None, message.clone());
        assert!(!body.to_string().contains("file_1"), "{model}: {body}");
        assert_eq!(dropped, ["messages[1].content"], "{model}");
    }
    // A message of the provider itself.
    let mut own = message;
    own.origin.as_mut().unwrap().provider = "anthropic".to_owned();
    if let Some(agentloop::MessageContent::Parts(parts)) = &mut own.content
        && let agentloop::ContentPart::Text(text) = &mut parts[0]
    {
        text.provider_state = None;
        text.citations.remove(0);
    }
    let (_, dropped) = sent("anthropic/m", None, own);
    assert_eq!(dropped.len(), 1, "{dropped:?}");
    // A page that a response cites is for its reader.
    let page = chat(
        "openai",
        &json!([{ "type": "url_citation", "url_citation": { "url": "https://a.test" } }]),
    );
    let (_, dropped) = sent("openai/m", Some(Protocol::OpenAiChat), page.into_message());
    assert_eq!(dropped, [""; 0]);
}

#[test]
fn a_parsed_file_is_sent_back_to_the_provider_that_parsed_it() {
    let parsed = json!({ "type": "file", "file": { "hash": "5e1c", "name": "a.pdf",
        "content": [{ "type": "text", "text": "Rome is the capital." }] } });
    let page = json!({ "type": "url_citation", "url_citation": { "url": "https://a.test" } });
    let response = chat("openrouter", &json!([page, parsed]));
    let Some(Citation::File(file)) = response.choices[0].citations().nth(1) else { panic!() };
    assert_eq!((file.file_id.as_deref(), file.filename.as_deref()), (Some("5e1c"), Some("a.pdf")));
    let (body, dropped) = sent("openrouter/m", None, response.clone().into_message());
    assert_eq!(body["messages"][1]["annotations"], json!([parsed]));
    assert_eq!(dropped, [""; 0]);
    // The message as OpenRouter returned it, which does not name its origin.
    let message = json!({ "role": "assistant", "content": "Rome.", "annotations": [parsed] });
    let (body, dropped) =
        sent("openrouter/m", None, serde_json::from_value(message.clone()).unwrap());
    assert_eq!((&body["messages"][1], dropped.len()), (&message, 0));
    // Others do not know the field.
    for model in ["openai/gpt-4.1", "groq/m", "google/m"] {
        let (body, dropped) = sent(model, None, response.clone().into_message());
        assert!(!body.to_string().contains("5e1c"), "{model}: {body}");
        assert_eq!(dropped.len(), 1, "{model}: {dropped:?}");
    }
}

#[test]
fn a_document_of_a_file_search_is_a_file() {
    let chunk = json!({ "retrievedContext": { "title": "a.txt", "text": "Städte sind groß.",
        "fileSearchStore": "fileSearchStores/s", "documentName": "fileSearchStores/s/documents/d",
        "customMetadata": [{ "key": "k", "stringValue": "v" }] } });
    let response = gemini(&chunk);
    let files = files(&response);
    let mut kept = chunk;
    kept["retrievedContext"].as_object_mut().unwrap().remove("text");
    assert_eq!(
        serde_json::to_value(files[0]).unwrap(),
        json!({ "fileId": "fileSearchStores/s/documents/d", "filename": "a.txt",
                "containerId": "fileSearchStores/s", "citedText": "Städte sind groß.",
                "startIndex": 0, "endIndex": 7,
                "providerState": { "provider": "google", "data": kept } })
    );
    // In a response they are for its reader; in a message of unknown origin they may be meant to be sent.
    let mut message = response.into_message();
    let (_, dropped) = sent("google/m", None, message.clone());
    assert_eq!(dropped, [""; 0]);
    message.origin = None;
    let (_, dropped) = sent("google/m", None, message);
    assert_eq!(dropped, ["messages[1].content"]);
    // A URL makes it a page, and an empty source is kept unchanged.
    let response = gemini(&json!({ "retrievedContext": { "uri": "https://a.test" } }));
    assert!(matches!(response.choices[0].citations().next(), Some(Citation::Url(_))));
    let response = gemini(&json!({ "retrievedContext": {} }));
    assert!(matches!(response.choices[0].citations().next(), Some(Citation::Opaque(_))));
}

#[test]
fn a_served_citation_of_a_file_reads_as_it_was() {
    let chunk = json!({ "retrievedContext": { "title": "a.txt", "text": "Städte.",
        "fileSearchStore": "s", "documentName": "d", "pageNumber": 3 } });
    let parsed = json!([{ "type": "file", "file": { "hash": "5e1c", "name": "a.pdf" } }]);
    let list = annotations();
    let of_files = json!([list[1], list[2], list[3]]);
    for (response, protocol, wire) in [
        (responses(&of_files), Protocol::OpenAiResponses, Wire::of_responses(false)),
        (chat("openrouter", &parsed), Protocol::OpenAiChat, Wire::of("openrouter")),
        (gemini(&chunk), Protocol::Gemini, Wire::of("google")),
    ] {
        let body = serve::write_body(protocol, &response);
        let again = decode(&wire, &body).response().unwrap();
        assert_eq!(files(&again), files(&response), "{protocol:?}");
    }
    // A server of another protocol has them too.
    for protocol in [Protocol::OpenAiResponses, Protocol::OpenAiChat] {
        let body = serve::write_body(protocol, &gemini(&chunk));
        let wire = Wire { protocol: Some(protocol), ..Wire::of("openai") };
        let again = decode(&wire, &body).response().unwrap();
        let file = files(&again)[0];
        assert_eq!((file.file_id.as_deref(), file.filename.as_deref()), (Some("d"), Some("a.txt")));
        assert_eq!((file.start_index, file.end_index), (Some(0), Some(7)));
    }
}
