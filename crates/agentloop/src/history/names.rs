//! Replaces tool names that the provider does not accept.

use std::collections::HashSet;

use serde_json::Value;

use super::hash;
use crate::chat::{
    ChatMessage, ChatRequest, ContentPart, Role, ToolChoice, ToolDefinition, Warning, WarningKind,
};
use crate::protocol::{NamePattern, ToolNames};

impl NamePattern {
    fn longest(self) -> usize {
        match self {
            Self::Word64 => 64,
            Self::Word128 | Self::Dotted128 => 128,
        }
    }

    fn allows(self, c: char) -> bool {
        let dotted = self == Self::Dotted128 && matches!(c, '.' | ':');
        c.is_ascii_alphanumeric() || matches!(c, '_' | '-') || dotted
    }

    fn begins(self, c: char) -> bool {
        self != Self::Dotted128 || c.is_ascii_alphabetic() || c == '_'
    }

    /// Returns whether a name can be sent unchanged.
    pub(super) fn fits(self, name: &str) -> bool {
        name.len() <= self.longest()
            && name.chars().all(|c| self.allows(c))
            && name.starts_with(|c| self.begins(c))
    }

    /// Returns a valid name in place of one that is invalid or already used.
    fn name(self, original: &str, attempt: usize) -> String {
        let named = hash::tidy(original, attempt, self.longest() - 1, |c| self.allows(c));
        // The hash follows a `_`, so only the first character can be invalid.
        if named.starts_with(|c| self.begins(c)) { named } else { format!("_{named}") }
    }
}

impl ToolNames {
    /// Returns the names of a request, for a provider that accepts `pattern`.
    ///
    /// Names stay distinct. The tools are named first, then the calls in the order of the conversation, so a
    /// conversation that grows does not change a name that was sent before.
    pub(crate) fn new(request: &ChatRequest, pattern: NamePattern) -> Self {
        let mut known = Known { pattern, taken: HashSet::new(), seen: HashSet::new() };
        for name in request.tools.iter().filter_map(providers_own) {
            known.keep(name);
        }
        let defined: Vec<&str> = request.tools.iter().filter_map(ToolDefinition::name).collect();
        // A valid name is kept, wherever it is in the list.
        for name in defined.iter().filter(|name| pattern.fits(name)) {
            known.keep(name);
        }
        let mut changed = Self::default();
        let chosen = match &request.tool_choice {
            Some(ToolChoice::Function(name)) => Some(name.as_str()),
            _ => None,
        };
        let names_in = request.messages.iter().flat_map(names_in);
        for name in defined.into_iter().chain(chosen).chain(names_in) {
            known.add(name, &mut changed);
        }
        changed
    }

    /// Adds a warning for each definition that is sent under another name.
    pub(super) fn warnings(&self, request: &ChatRequest, warnings: &mut Vec<Warning>) {
        for name in request.tools.iter().filter_map(ToolDefinition::name) {
            let sent = self.sent(name);
            if sent != name {
                let subject = format!("tools.{name}");
                let message = format!(
                    "{subject}: the provider does not accept this name; it is sent as `{sent}`"
                );
                warnings.push(Warning::new(WarningKind::Renamed, subject, message));
            }
        }
    }
}

struct Known<'a> {
    pattern: NamePattern,
    taken: HashSet<String>,
    seen: HashSet<&'a str>,
}

impl<'a> Known<'a> {
    fn keep(&mut self, name: &'a str) {
        self.taken.insert(name.to_owned());
        self.seen.insert(name);
    }

    fn add(&mut self, name: &'a str, changed: &mut ToolNames) {
        if self.seen.contains(name) {
            return;
        }
        if self.pattern.fits(name) && !self.taken.contains(name) {
            return self.keep(name);
        }
        let mut attempt = 0;
        let mut sent = self.pattern.name(name, attempt);
        while self.taken.contains(&sent) {
            attempt += 1;
            sent = self.pattern.name(name, attempt);
        }
        changed.replace(name, &sent);
        self.taken.insert(sent);
        self.seen.insert(name);
    }
}

/// Returns the name of a provider's own tool, which is sent unchanged.
fn providers_own(tool: &ToolDefinition) -> Option<&str> {
    let fields = match tool {
        ToolDefinition::Function { .. } => return None,
        ToolDefinition::Server(tool) => return Some(tool.kind()),
        ToolDefinition::Provider(fields) => fields,
    };
    let inner = fields.get("type").and_then(Value::as_str).and_then(|kind| fields.get(kind));
    fields.get("name").or_else(|| inner?.get("name")).and_then(Value::as_str)
}

/// Returns the names of the tools that a message refers to.
fn names_in(message: &ChatMessage) -> impl Iterator<Item = &str> {
    let (parts, beside, result) = match message.role {
        Role::Assistant => (message.parts(), &message.tool_calls[..], None),
        Role::Tool => (&[][..], &[][..], message.name.as_deref()),
        Role::System | Role::User => (&[][..], &[][..], None),
    };
    let parts = parts.iter().filter_map(|part| match part {
        ContentPart::ToolCall(call) => Some(call.name.as_str()),
        _ => None,
    });
    parts.chain(beside.iter().map(|call| call.function.name.as_str())).chain(result)
}
