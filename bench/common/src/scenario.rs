//! What is measured.

/// Which protocol is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    OpenAi,
    Anthropic,
    Gemini,
}

/// What the answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole answer of about so many bytes of text.
    Chat { bytes: usize },
    /// A stream of so many deltas of so many bytes.
    Stream { deltas: usize, bytes: usize },
    /// A stream with one tool call whose arguments come in so many fragments.
    Tools { fragments: usize },
    /// A stream whose deltas come one by one and say when they were sent.
    Paced { deltas: usize },
    /// A stream that stops after its first delta.
    Idle,
}

/// One of them, by its name.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub name: &'static str,
    pub wire: Wire,
    pub kind: Kind,
}

impl Scenario {
    pub const ALL: [Self; 12] = [
        Self { name: "chat", wire: Wire::OpenAi, kind: Kind::Chat { bytes: 200 } },
        Self { name: "chat-100k", wire: Wire::OpenAi, kind: Kind::Chat { bytes: 100_000 } },
        Self {
            name: "stream-openai",
            wire: Wire::OpenAi,
            kind: Kind::Stream { deltas: 500, bytes: 0 },
        },
        Self {
            name: "stream-anthropic",
            wire: Wire::Anthropic,
            kind: Kind::Stream { deltas: 500, bytes: 0 },
        },
        Self {
            name: "stream-gemini",
            wire: Wire::Gemini,
            kind: Kind::Stream { deltas: 500, bytes: 0 },
        },
        Self { name: "tools-500", wire: Wire::OpenAi, kind: Kind::Tools { fragments: 500 } },
        Self { name: "tools-20000", wire: Wire::OpenAi, kind: Kind::Tools { fragments: 20_000 } },
        Self {
            name: "text-1m",
            wire: Wire::OpenAi,
            kind: Kind::Stream { deltas: 10_000, bytes: 100 },
        },
        Self {
            name: "text-10m",
            wire: Wire::OpenAi,
            kind: Kind::Stream { deltas: 100_000, bytes: 100 },
        },
        Self { name: "paced", wire: Wire::OpenAi, kind: Kind::Paced { deltas: 300 } },
        Self { name: "idle", wire: Wire::OpenAi, kind: Kind::Idle },
        Self { name: "chat-anthropic", wire: Wire::Anthropic, kind: Kind::Chat { bytes: 200 } },
    ];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name == name)
    }

    /// How many pieces one answer has: what costs are divided by.
    pub fn units(&self) -> usize {
        match self.kind {
            Kind::Chat { .. } | Kind::Idle => 1,
            Kind::Stream { deltas, .. } | Kind::Paced { deltas } => deltas,
            Kind::Tools { fragments } => fragments,
        }
    }

    /// The pieces of the text, or of the arguments of the tool call.
    pub fn pieces(&self) -> Vec<String> {
        match self.kind {
            // Whole answers begin with a word.
            Kind::Chat { bytes } => vec![text(bytes).trim().to_owned()],
            Kind::Stream { deltas, bytes } => (0..deltas).map(|at| piece(at, bytes)).collect(),
            Kind::Idle => vec![word(0).to_owned()],
            Kind::Paced { .. } => Vec::new(),
            Kind::Tools { fragments } => {
                let mut pieces = vec!["{\"path\":\"".to_owned()];
                pieces.extend((0..fragments - 2).map(|at| word(at).to_owned()));
                pieces.push("\"}".to_owned());
                pieces
            }
        }
    }

    /// The whole of it.
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

/// A word, or so many bytes of them. Every sixteenth has something that JSON escapes, as real text has.
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
