//! What is measured.

/// The protocol of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// OpenAI's chat completions.
    OpenAi,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// Google's generateContent.
    Gemini,
}

/// What the response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A complete response with about so many bytes of text.
    Chat { bytes: usize },
    /// A stream of so many deltas of so many bytes, written in one burst.
    Stream { deltas: usize, bytes: usize },
    /// A stream with one tool call whose arguments arrive in so many fragments, in one burst.
    Tools { fragments: usize },
    /// A stream whose events are written one by one, each when the client has read the one before.
    Paced { deltas: usize },
    /// A stream whose events are written 2 ms apart. The text of a delta is the time at which it was written.
    Timed { deltas: usize },
    /// A stream that stops after its first delta.
    Idle,
}

/// A scenario and its name.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub name: &'static str,
    pub wire: Wire,
    pub kind: Kind,
}

const fn scenario(name: &'static str, wire: Wire, kind: Kind) -> Scenario {
    Scenario { name, wire, kind }
}

const SHORT: Kind = Kind::Chat { bytes: 200 };
const LONG: Kind = Kind::Chat { bytes: 100_000 };
const BURST: Kind = Kind::Stream { deltas: 500, bytes: 0 };
const PACED: Kind = Kind::Paced { deltas: 300 };
const TIMED: Kind = Kind::Timed { deltas: 300 };

/// What a timed delta contains before the server replaces it: as long as a time in nanoseconds, and a space.
pub const STAMP: &str = "0000000000000000000 ";

impl Scenario {
    pub const ALL: &[Self] = &[
        scenario("chat-openai", Wire::OpenAi, SHORT),
        scenario("chat-responses", Wire::Responses, SHORT),
        scenario("chat-anthropic", Wire::Anthropic, SHORT),
        scenario("chat-gemini", Wire::Gemini, SHORT),
        scenario("chat-100k-openai", Wire::OpenAi, LONG),
        scenario("chat-100k-responses", Wire::Responses, LONG),
        scenario("chat-100k-anthropic", Wire::Anthropic, LONG),
        scenario("chat-100k-gemini", Wire::Gemini, LONG),
        scenario("stream-openai", Wire::OpenAi, BURST),
        scenario("stream-responses", Wire::Responses, BURST),
        scenario("stream-anthropic", Wire::Anthropic, BURST),
        scenario("stream-gemini", Wire::Gemini, BURST),
        scenario("paced-openai", Wire::OpenAi, PACED),
        scenario("paced-responses", Wire::Responses, PACED),
        scenario("paced-anthropic", Wire::Anthropic, PACED),
        scenario("paced-gemini", Wire::Gemini, PACED),
        scenario("timed-openai", Wire::OpenAi, TIMED),
        scenario("timed-responses", Wire::Responses, TIMED),
        scenario("timed-anthropic", Wire::Anthropic, TIMED),
        scenario("timed-gemini", Wire::Gemini, TIMED),
        scenario("tools-500", Wire::OpenAi, Kind::Tools { fragments: 500 }),
        scenario("tools-20000", Wire::OpenAi, Kind::Tools { fragments: 20_000 }),
        scenario("text-1m", Wire::OpenAi, Kind::Stream { deltas: 10_000, bytes: 100 }),
        scenario("text-10m", Wire::OpenAi, Kind::Stream { deltas: 100_000, bytes: 100 }),
        scenario("idle", Wire::OpenAi, Kind::Idle),
    ];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|scenario| scenario.name == name)
    }

    /// Returns whether the response is complete, and not a stream.
    pub fn is_chat(&self) -> bool {
        matches!(self.kind, Kind::Chat { .. })
    }

    /// Returns the number of pieces in one response: what costs are divided by.
    pub fn units(&self) -> usize {
        match self.kind {
            Kind::Chat { .. } | Kind::Idle => 1,
            Kind::Stream { deltas, .. } | Kind::Paced { deltas } | Kind::Timed { deltas } => deltas,
            Kind::Tools { fragments } => fragments,
        }
    }

    /// Returns the pieces of the text, or of the arguments of the tool call.
    pub fn pieces(&self) -> Vec<String> {
        match self.kind {
            // Complete responses begin with a word.
            Kind::Chat { bytes } => vec![text(bytes).trim().to_owned()],
            Kind::Stream { deltas, bytes } => (0..deltas).map(|at| piece(at, bytes)).collect(),
            Kind::Paced { deltas } => (0..deltas).map(|at| piece(at, 0)).collect(),
            Kind::Timed { deltas } => vec![STAMP.to_owned(); deltas],
            Kind::Idle => vec![word(0).to_owned()],
            Kind::Tools { fragments } => {
                let mut pieces = vec!["{\"path\":\"".to_owned()];
                pieces.extend((0..fragments - 2).map(|at| word(at).to_owned()));
                pieces.push("\"}".to_owned());
                pieces
            }
        }
    }

    /// Returns the complete text, or the complete arguments.
    pub fn expected(&self) -> String {
        self.pieces().concat()
    }
}

const WORDS: [&str; 16] = [
    " The",
    " sky",
    " is",
    " blue",
    " because",
    " air",
    " scatters",
    " short",
    " waves",
    " of",
    " sunlight",
    " more",
    " than",
    " long",
    " ones",
    ",",
];

fn word(at: usize) -> &'static str {
    WORDS[(at * 7 + at / 16) % WORDS.len()]
}

/// Returns a word, or at least `bytes` bytes of words. Every sixteenth word has something that JSON escapes, as real text has.
fn piece(at: usize, bytes: usize) -> String {
    if bytes == 0 {
        return if at % 16 == 15 { ".\n".to_owned() } else { word(at).to_owned() };
    }
    let mut text = String::with_capacity(bytes + 8);
    let mut next = at;
    while text.len() < bytes {
        text.push_str(word(next));
        next += 1;
    }
    text
}

fn text(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 8);
    let mut at = 0;
    while text.len() < bytes {
        text.push_str(&piece(at, 0));
        at += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found() {
        assert!(
            Scenario::ALL
                .iter()
                .all(|one| Scenario::named(one.name).is_some_and(|found| found.kind == one.kind))
        );
    }

    #[test]
    fn arguments_are_one_json_object() {
        let all = Scenario::named("tools-500").unwrap();
        assert_eq!(all.pieces().len(), 500);
        assert!(all.expected().starts_with("{\"path\":\"") && all.expected().ends_with("\"}"));
    }
}
