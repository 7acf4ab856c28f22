//! Answers to a chat: a whole body or a stream, of any provider that speaks the protocol, in pieces of any size.

use agentloop::inspect::{self, DecodeOptions, HttpResponse};
use agentloop::{ChatMessage, ChatRequest, ChatStreamEvent, Protocol};

use super::laws::{self, client, decode};
use crate::seeds::{fixtures, input, parts, stream_of};

const STATUSES: [u16; 4] = [200, 200, 429, 503];

pub(super) fn seeds(protocol: Protocol) -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = fixtures(protocol)
        .into_iter()
        .map(|(stream, bytes)| input(u8::from(stream), 7, bytes))
        .collect();
    for error in [r#"{"error":{"message":"no","type":"t","code":"c"}}"#, "<html>Bad gateway</html>"]
    {
        seeds.push(input(4, 1, error));
        seeds.push(input(1, 1, format!("event: error\ndata: {error}\n\n")));
    }
    if protocol == Protocol::Bedrock {
        let begun = "messageStart {\"role\":\"assistant\"}\ncontentBlockDelta {\"contentBlockIndex\":0,\"delta\":{\"text\":\"a\"}}\n";
        for end in [
            "!throttlingException {\"message\":\"slow\"}\n",
            "!unheardOfException {}\n",
            "?InternalError x\n",
            "contentBlockStop {\"contentBlockIndex\":0}\ncontentBlockDelta {\"contentBlockIndex\":0,\"delta\":{\"text\":\"b\"}}\n",
        ] {
            seeds.push(input(1, 3, format!("{begun}{end}")));
            seeds.push(input(1, 3, end));
        }
    }
    seeds
}

pub(super) fn check(protocol: Protocol, bytes: &[u8]) {
    let Some((how, size, bytes)) = parts(bytes) else { return };
    let speakers = laws::speakers(protocol);
    let provider = speakers[usize::from(how >> 3) % speakers.len()];
    let mut options = DecodeOptions::new(provider);
    options.protocol = Some(protocol);
    options.stream = how & 1 == 1;
    let bytes = if options.stream { &stream_of(protocol, bytes) } else { bytes };
    let mut answer = HttpResponse::new(bytes.to_vec());
    answer.status = STATUSES[usize::from(how >> 1) % STATUSES.len()];
    let whole = decode(&options, answer.clone());
    whole.keeps_the_laws(bytes.len());
    let cut = decode(&options, answer.cut(usize::from(size)));
    assert_eq!(whole.shown(), cut.shown(), "cut after each {size} bytes");
    let Some(ChatStreamEvent::MessageDone { response }) = whole.events.last() else { return };
    // What was said can be said again, to the one that said it and to all others.
    let said = response.clone().into_message();
    for other in Protocol::ALL {
        let speaker = if *other == protocol { provider } else { laws::speakers(*other)[0] };
        let mut request = ChatRequest::new(format!("{speaker}/some-model")).user("Hello");
        request.protocol = Some(*other);
        request.messages.push(said.clone());
        request.messages.push(ChatMessage::user("Go on"));
        inspect::encode(client(), &request, options.stream).unwrap();
    }
}
