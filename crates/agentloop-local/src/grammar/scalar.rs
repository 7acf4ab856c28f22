//! Rules for texts and numbers.

use agentloop::Result;
use serde_json::{Map, Value};

use super::Builder;
use super::schema::repeat;

/// A character of a JSON text.
const CHARACTER: &str = r#"[^"\\\x7F\x00-\x1F] | "\\" ( ["\\bfnrt/] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] )"#;

/// The formats of texts that a grammar expresses.
const FORMATS: [(&str, &str); 4] = [
    ("date", r#"[0-9]{4} "-" ( "0" [1-9] | "1" [0-2] ) "-" ( "0" [1-9] | [12] [0-9] | "3" [01] )"#),
    (
        "time",
        r#"( [01] [0-9] | "2" [0-3] ) ":" [0-5] [0-9] ":" [0-5] [0-9] ( "." [0-9]{3} )? ( "Z" | [+-] [01] [0-9] ":" [0-5] [0-9] )"#,
    ),
    ("date-time", r#"date "T" time"#),
    ("uuid", r#"[0-9a-f]{8} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{12}"#),
];

impl Builder {
    /// Adds the rule of any JSON text.
    pub(super) fn need_text(&mut self) -> Result<String> {
        self.need("char", CHARACTER)?;
        self.need("string", r#""\"" char* "\"""#)
    }

    /// Adds the rule of any JSON number, with as many digits as a double can hold.
    pub(super) fn need_number(&mut self) -> Result<String> {
        self.need("integer", r#""-"? ( "0" | [1-9] [0-9]{0,15} )"#)?;
        self.need("number", r#"integer ( "." [0-9]{1,16} )? ( [eE] [-+]? [0-9]{1,2} )?"#)
    }

    pub(super) fn visit_string(&mut self, fields: &Map<String, Value>) -> Result<String> {
        if fields.contains_key("pattern") {
            self.warn("`pattern` is not enforced by the grammar");
        }
        if let Some(Value::String(format)) = fields.get("format") {
            if let Some((name, content)) = FORMATS.iter().find(|(name, _)| name == format) {
                for (part, content) in &FORMATS[..2] {
                    if *name == "date-time" {
                        self.need(part, content)?;
                    }
                }
                let inner = self.need(name, content)?;
                return self.define("text", format!(r#""\"" {inner} "\"""#));
            }
            self.warn(format!("the format {format:?} is not enforced by the grammar"));
        }
        let text = self.need_text()?;
        let (least, most) = self.bounds(fields, "minLength", "maxLength")?;
        if (least, most) == (0, None) {
            return Ok(text);
        }
        let characters = repeat("char", least, most);
        self.define("text", format!(r#""\"" {characters} "\"""#))
    }

    pub(super) fn visit_number(
        &mut self,
        kind: &str,
        fields: &Map<String, Value>,
    ) -> Result<String> {
        self.need_number()?;
        let minimum = fields.get("minimum").and_then(Value::as_f64);
        let above = fields.get("exclusiveMinimum").and_then(Value::as_f64);
        if minimum.is_some_and(|minimum| minimum != 0.0) || above.is_some_and(|above| above != 0.0)
        {
            self.warn("a minimum other than 0 is not enforced by the grammar");
        }
        let is_positive = minimum.or(above).is_some_and(|minimum| minimum >= 0.0);
        match (kind, is_positive) {
            ("integer", true) => self.need("natural", r#""0" | [1-9] [0-9]{0,15}"#),
            ("integer", false) => Ok("integer".to_owned()),
            (_, true) => {
                self.need("natural", r#""0" | [1-9] [0-9]{0,15}"#)?;
                self.need("positive", r#"natural ( "." [0-9]{1,16} )? ( [eE] [-+]? [0-9]{1,2} )?"#)
            }
            _ => Ok("number".to_owned()),
        }
    }
}
