//! The tool `calculator` evaluates an expression.

mod number;
mod parse;
#[cfg(test)]
mod tests;

use agentloop::agent::{Tool, ToolError};
use serde_json::{Value, json};

pub(super) fn tool() -> Tool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "expression": {
                "type": "string",
                "description": "The expression, for example 2 * (3 + 4) ^ 2",
                "examples": ["2 * (3 + 4)"],
            },
        },
        "required": ["expression"],
    });
    let about = "Evaluates an arithmetic expression with + - * / % ^, parentheses, pi, e, sqrt, abs, round, floor, ceil, exp, ln, \
                 log2, log10, sin, cos, tan (radians), min, max. Integers are exact, other numbers have 15 digits.";
    Tool::dynamic("calculator", about, parameters, |arguments: Value, _| async move {
        let expression = arguments.get("expression").and_then(Value::as_str).unwrap_or_default();
        parse::evaluate(expression).map(|number| number.to_string()).map_err(ToolError::new)
    })
    .status(|arguments| Some(arguments.get("expression")?.as_str()?.to_owned()))
}
