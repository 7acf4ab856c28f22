//! Checks values against a JSON Schema.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::judge::describe;
use super::work::Work;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_SCHEMA_CHECKS;

/// The most reasons that are reported to the model.
const MAX_REASONS: usize = 8;

/// How large the regular expressions of a schema may become together, and one of them.
const MAX_PATTERNS_BYTES: usize = 64 << 20;
const MAX_PATTERN_BYTES: usize = 4 << 20;

/// How many steps a match of one that looks around may take.
const MAX_BACKTRACKS: usize = 20_000;

/// Checks values against a schema and reports why one does not match.
pub(crate) struct Matcher {
    validator: Validator,
    work: Work,
}

impl Matcher {
    /// Compiles a schema. `whose` names it in the error if it is not valid.
    pub(super) fn new(whose: &str, schema: &Value) -> Result<Self> {
        let refused = |why| Error::new(ErrorKind::InvalidRequest, format!("{whose} {why}"));
        let work = Work::new(schema).map_err(refused)?;
        let size = MAX_PATTERNS_BYTES / work.patterns.max(MAX_PATTERNS_BYTES / MAX_PATTERN_BYTES);
        let patterns = PatternOptions::fancy_regex().size_limit(size).dfa_size_limit(size);
        let patterns = patterns.backtrack_limit(MAX_BACKTRACKS);
        let options = jsonschema::options().offline().with_pattern_options(patterns);
        let validator = options.build(schema).map_err(|error| {
            let place = error.instance_path().to_string();
            let message =
                format!("{whose} is not a valid JSON Schema, at {}", describe(&place, &error));
            Error::new(ErrorKind::InvalidRequest, message)
        })?;
        Ok(Self { validator, work })
    }

    /// Returns whether the value matches. A value that takes more than
    /// [`MAX_SCHEMA_CHECKS`](crate::limits::MAX_SCHEMA_CHECKS) steps to check does not match.
    pub(super) fn matches(&self, value: &Value) -> bool {
        self.work.is_bounded(value) && self.validator.is_valid(value)
    }

    /// Returns the first reasons why a value does not match, each with its JSON pointer.
    pub(super) fn reasons(&self, value: &Value) -> String {
        if !self.work.is_bounded(value) {
            return format!("checking it takes more than {MAX_SCHEMA_CHECKS} steps");
        }
        let reasons: Vec<String> = self
            .validator
            .iter_errors(value)
            .take(MAX_REASONS)
            .map(|error| describe(&error.instance_path().to_string(), &error))
            .collect();
        reasons.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::tests::hostile::SHAPES;

    /// How many bytes a validator takes for each byte of its schema: a tree of values and one of nodes.
    const MAX_PER_BYTE: usize = 80;

    /// Returns what building a validator takes at its peak, and why it was refused.
    fn built(schema: &Value) -> (usize, Option<String>) {
        let mut matcher = None;
        let info = allocation_counter::measure(|| matcher = Some(Matcher::new("it", schema)));
        let refused = matcher.and_then(Result::err).map(|error| error.to_string());
        (usize::try_from(info.bytes_max).unwrap(), refused)
    }

    #[test]
    fn what_a_validator_takes_is_bounded_by_its_schema() {
        for (name, make) in SHAPES {
            for times in [1, 4] {
                let schema = make(times);
                let most = (1 << 20) + MAX_PER_BYTE * schema.to_string().len();
                let (peak, _) = built(&schema);
                assert!(peak <= most, "{name} × {times}: {peak} of {most}");
            }
        }
        let (_, make) = SHAPES.iter().find(|(name, _)| name.contains("long name")).unwrap();
        let (_, refused) = built(&make(1));
        assert!(refused.unwrap().contains("too long names"));
    }

    #[test]
    fn regular_expressions_share_their_room() {
        let schema = |count: usize| {
            let pattern = |at: usize| {
                (format!("p{at}"), json!({"pattern": format!("\\p{{L}}{{{}}}x", 10 + at % 80)}))
            };
            json!({"properties": (0..count).map(pattern).collect::<serde_json::Map<_, _>>()})
        };
        let (peak, refused) = built(&schema(10));
        assert!(peak < 16 << 20 && refused.is_none(), "{peak} {refused:?}");
        let (peak, refused) = built(&schema(1_000));
        assert!(peak < 128 << 20 && refused.is_some(), "{peak} {refused:?}");
        let (peak, refused) = built(&schema(1_001));
        assert!(peak < 1 << 20 && refused.unwrap().contains("regular expressions"), "{peak}");
    }

    #[test]
    fn a_match_that_takes_too_many_steps_is_none() {
        let matcher = Matcher::new("it", &json!({"pattern": "^(?=(a+)+$)b"})).unwrap();
        assert!(!matcher.matches(&json!("a".repeat(40) + "c")));
        let matcher = Matcher::new("it", &json!({"pattern": "^(?=a)a+$"})).unwrap();
        assert!(matcher.matches(&json!("aaa")) && !matcher.matches(&json!("b")));
    }
}
