//! What names, budgets and patterns may be. The admin API and the command line check keys and teams with it.

use agentloop::{Error, ErrorKind, Result, Usd};

use super::{KeyRecord, Limits, TeamRecord};

/// The longest name of a key or a team, and the longest tag, in bytes.
pub const MAX_NAME_BYTES: usize = 64;

/// The most patterns of models of a key.
pub const MAX_PATTERNS: usize = 100;

/// The longest pattern of models, in bytes.
pub const MAX_PATTERN_BYTES: usize = 256;

/// The most tags of a key.
pub const MAX_TAGS: usize = 8;

/// The largest budget, in dollars. Amounts that several gateways share are counted exactly up to it.
pub const MAX_BUDGET_DOLLARS: i128 = 9_000_000;

/// The largest limit of requests or tokens per minute, or of requests at the same time.
pub const MAX_LIMIT: u64 = 1_000_000_000;

const PICOS_PER_DOLLAR: i128 = 1_000_000_000_000;

/// Checks the name of a key or a team: letters, digits, `-`, `_` and `.`, the first one a letter or a digit.
///
/// # Errors
///
/// When it cannot be a name.
///
/// ```
/// assert!(agentloop_gateway::check_name("build-server").is_ok());
/// assert!(agentloop_gateway::check_name("../keys").is_err());
/// ```
pub fn check_name(name: &str) -> Result<()> {
    let begins_well = name.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    if begins_well && is_word(name, "-_.") {
        return Ok(());
    }
    let shown: String = name.chars().filter(|letter| !letter.is_control()).take(80).collect();
    Err(Error::new(ErrorKind::Config, format!("`{shown}` cannot be a name")).with_hint(format!(
        "use at most {MAX_NAME_BYTES} letters, digits, `-`, `_` and `.`, and begin with a letter or a digit"
    )))
}

/// Returns whether a word can be a tag: letters, digits, `-`, `_`, `.` and `:`.
pub(crate) fn is_tag(word: &str) -> bool {
    is_word(word, "-_.:")
}

fn is_word(text: &str, extra: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || extra.contains(letter);
    !text.is_empty() && text.len() <= MAX_NAME_BYTES && text.chars().all(is_plain)
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, message)
}

impl Limits {
    /// Checks the budgets and limits.
    ///
    /// # Errors
    ///
    /// When two budgets have the same period, or a number cannot be used.
    pub fn check(&self) -> Result<()> {
        for (at, budget) in self.budgets.iter().enumerate() {
            let per = budget.per.as_str();
            if self.budgets.iter().take(at).any(|other| other.per == budget.per) {
                return Err(wrong(format!("there are two budgets per {per}")));
            }
            let most = Usd::from_picos(MAX_BUDGET_DOLLARS * PICOS_PER_DOLLAR);
            if budget.usd < Usd::default() || budget.usd > most {
                return Err(wrong(format!("the budget `{budget}` is not between 0 and {most}")));
            }
        }
        let concurrency = self.concurrency.map(|count| u64::try_from(count).unwrap_or(u64::MAX));
        for (name, limit) in [
            ("requests per minute", self.requests_per_minute),
            ("tokens per minute", self.tokens_per_minute),
            ("requests at the same time", concurrency),
        ] {
            if limit.is_some_and(|limit| limit == 0 || limit > MAX_LIMIT) {
                let message = format!("the limit of {name} must be between 1 and {MAX_LIMIT}");
                return Err(wrong(message).with_hint("leave it out for no limit"));
            }
        }
        Ok(())
    }
}

impl KeyRecord {
    /// Checks the name, the team, the models, the tags and the limits.
    ///
    /// # Errors
    ///
    /// When one of them cannot be used. The error names it.
    ///
    /// ```
    /// let mut key = agentloop_gateway::KeyRecord::default();
    /// key.name = "build-server".to_owned();
    /// assert!(key.check().is_ok());
    /// key.models = Some(vec!["a b".to_owned()]);
    /// assert!(key.check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        check_name(&self.name)?;
        if let Some(team) = &self.team {
            check_name(team)?;
        }
        self.check_settings()
    }

    /// Checks the models, the tags and the limits.
    pub(crate) fn check_settings(&self) -> Result<()> {
        if let Some(models) = &self.models {
            if models.is_empty() || models.len() > MAX_PATTERNS {
                return Err(wrong(format!("a key must have 1 to {MAX_PATTERNS} models"))
                    .with_hint("leave them out to allow all models"));
            }
            let is_odd = |letter: char| letter.is_control() || letter.is_whitespace();
            let is_bad = |model: &&String| {
                model.is_empty() || model.len() > MAX_PATTERN_BYTES || model.contains(is_odd)
            };
            if let Some(bad) = models.iter().find(is_bad) {
                let shown: String = bad.chars().filter(|it| !it.is_control()).take(80).collect();
                return Err(wrong(format!("`{shown}` is not the name or pattern of a model"))
                    .with_hint(
                        "write it as openai/gpt-5, a route, or a pattern such as openai/*",
                    ));
            }
        }
        if self.tags.len() > MAX_TAGS || !self.tags.iter().all(|tag| is_tag(tag)) {
            return Err(wrong("the tags cannot be used").with_hint(format!(
                "use at most {MAX_TAGS} of at most {MAX_NAME_BYTES} letters, digits, `-`, `_`, `.` and `:`"
            )));
        }
        self.limits.check()
    }
}

impl TeamRecord {
    /// Checks the name and the limits.
    ///
    /// # Errors
    ///
    /// When one of them cannot be used. The error names it.
    ///
    /// ```
    /// let mut team = agentloop_gateway::TeamRecord::default();
    /// team.name = "a/b".to_owned();
    /// assert!(team.check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        check_name(&self.name)?;
        self.limits.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_words() {
        for name in ["a", "build-server", "7_up", "x.y", &"x".repeat(64)] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", ".", "..", "-x", "_x", "a b", "a/b", "a\n", "é", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        let long = check_name(&"\u{7}ä".repeat(100_000)).unwrap_err().to_string();
        assert!(long.len() < 600 && !long.contains('\u{7}'), "{long}");
    }

    #[test]
    fn every_field_of_a_key_is_checked() {
        let key = |change: &dyn Fn(&mut KeyRecord)| {
            let mut key = KeyRecord { name: "ci".to_owned(), ..KeyRecord::default() };
            change(&mut key);
            key.check()
        };
        let budgets = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        assert!(key(&|_| {}).is_ok());
        assert!(
            key(&|key| key.limits.budgets = budgets(&["5/day", "50/month", "0/total"])).is_ok()
        );
        assert!(key(&|key| key.models = Some(vec!["openai/*".to_owned()])).is_ok());
        assert!(key(&|key| key.tags = vec!["team:web".to_owned()]).is_ok());
        assert!(key(&|key| key.team = Some("../x".to_owned())).is_err());
        assert!(key(&|key| key.models = Some(Vec::new())).is_err());
        assert!(key(&|key| key.models = Some(vec!["x".to_owned(); 101])).is_err());
        assert!(key(&|key| key.models = Some(vec!["a\nb".to_owned()])).is_err());
        assert!(key(&|key| key.models = Some(vec!["x".repeat(257)])).is_err());
        assert!(key(&|key| key.tags = vec!["x".to_owned(); 9]).is_err());
        assert!(key(&|key| key.tags = vec!["a,b".to_owned()]).is_err());
        assert!(key(&|key| key.limits.budgets = budgets(&["5/day", "6/day"])).is_err());
        assert!(key(&|key| key.limits.budgets = budgets(&["9000001/day"])).is_err());
        assert!(key(&|key| key.limits.requests_per_minute = Some(0)).is_err());
        assert!(key(&|key| key.limits.tokens_per_minute = Some(u64::MAX)).is_err());
        assert!(key(&|key| key.limits.concurrency = Some(0)).is_err());
    }
}
