//! Calls of the computer tool.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The pixels that one click of the mouse wheel scrolls. Anthropic counts clicks, OpenAI pixels.
const WHEEL_PIXELS: i64 = 100;

/// A call of the computer tool, in one form for every provider.
///
/// ```
/// use agentloop::agent::{ComputerAction, ComputerCall};
///
/// let call = ComputerCall::new([ComputerAction::Screenshot {}]);
/// assert_eq!(call.actions.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ComputerCall {
    /// The actions, in the order in which to perform them.
    #[serde(default)]
    pub actions: Vec<ComputerAction>,
    /// The safety checks that a person must acknowledge before the actions are performed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_safety_checks: Vec<SafetyCheck>,
}

impl ComputerCall {
    /// Creates a call with these actions, for tests of a handler.
    pub fn new(actions: impl IntoIterator<Item = ComputerAction>) -> Self {
        Self { actions: actions.into_iter().collect(), pending_safety_checks: Vec::new() }
    }
}

/// A safety check of the provider that a person must acknowledge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct SafetyCheck {
    /// The id of the check.
    pub id: String,
    /// The kind of the check.
    pub code: Option<String>,
    /// A description of the check.
    pub message: Option<String>,
}

/// A position on the screen, in pixels from its upper left corner.
///
/// ```
/// use agentloop::agent::Point;
///
/// let point = Point::new(10, 20);
/// assert_eq!((point.x, point.y), (10, 20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Point {
    /// The distance from the left edge.
    pub x: i64,
    /// The distance from the top edge.
    pub y: i64,
}

impl Point {
    /// Creates a position.
    pub fn new(x: i64, y: i64) -> Self {
        Self { x, y }
    }
}

/// An action on a screen. An action without a position is performed where the mouse is.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ComputerAction {
    /// Takes a screenshot.
    Screenshot {},
    /// Clicks a button of the mouse: `left`, `right`, `middle` or `wheel`, `back`, `forward`.
    Click {
        /// The distance from the left edge, in pixels.
        x: Option<i64>,
        /// The distance from the top edge, in pixels.
        y: Option<i64>,
        /// The button.
        #[serde(default = "default_button")]
        button: String,
        /// The keys to hold down during the click.
        keys: Option<Vec<String>>,
    },
    /// Clicks the left button twice.
    DoubleClick {
        /// The distance from the left edge, in pixels.
        x: Option<i64>,
        /// The distance from the top edge, in pixels.
        y: Option<i64>,
    },
    /// Clicks the left button three times.
    TripleClick {
        /// The distance from the left edge, in pixels.
        x: Option<i64>,
        /// The distance from the top edge, in pixels.
        y: Option<i64>,
    },
    /// Moves the mouse.
    Move {
        /// The distance from the left edge, in pixels.
        x: i64,
        /// The distance from the top edge, in pixels.
        y: i64,
    },
    /// Presses the left button at the first position and releases it at the last one.
    Drag {
        /// The positions.
        path: Vec<Point>,
    },
    /// Presses the left button.
    LeftMouseDown {},
    /// Releases the left button.
    LeftMouseUp {},
    /// Scrolls.
    Scroll {
        /// The distance from the left edge, in pixels.
        x: Option<i64>,
        /// The distance from the top edge, in pixels.
        y: Option<i64>,
        /// The pixels to scroll to the right.
        #[serde(default)]
        scroll_x: i64,
        /// The pixels to scroll down.
        #[serde(default)]
        scroll_y: i64,
    },
    /// Types a text.
    Type {
        /// The text.
        text: String,
    },
    /// Presses keys together.
    Keypress {
        /// The keys, for example `ctrl` or `s`.
        keys: Vec<String>,
    },
    /// Holds keys down.
    HoldKey {
        /// The keys.
        keys: Vec<String>,
        /// The duration in milliseconds.
        #[serde(default)]
        ms: u64,
    },
    /// Waits.
    Wait {
        /// The duration in milliseconds.
        ms: Option<u64>,
    },
    /// Requests the position of the mouse.
    CursorPosition {},
    /// Takes a screenshot of a region in full resolution.
    Zoom {
        /// The left, upper, right and lower edge of the region.
        region: Vec<i64>,
    },
}

fn default_button() -> String {
    "left".to_owned()
}

/// Converts `{"action": "left_click", "coordinate": [1, 2]}` of Anthropic, and `{"action": {"type": "click", …}}` and
/// `{"actions": […]}` of OpenAI, to the form of [`ComputerCall`].
pub(super) fn normalize(arguments: Value) -> Value {
    let Value::Object(mut fields) = arguments else { return arguments };
    fields.retain(|_, value| !value.is_null());
    let actions = match fields.remove("action") {
        Some(Value::String(name)) => {
            let checks = fields.remove("pending_safety_checks");
            let action = convert_named_action(&name, std::mem::take(&mut fields));
            if let Some(checks) = checks {
                fields.insert("pending_safety_checks".to_owned(), checks);
            }
            vec![action]
        }
        // A call may contain both forms of one action.
        Some(action @ Value::Object(_)) if !fields.contains_key("actions") => vec![action],
        Some(Value::Object(_)) | None => return Value::Object(remove_nulls(fields)),
        Some(other) => {
            fields.insert("action".to_owned(), other);
            return Value::Object(fields);
        }
    };
    fields.insert("actions".to_owned(), Value::Array(actions));
    Value::Object(remove_nulls(fields))
}

/// Removes the optional fields of actions that are null.
fn remove_nulls(mut fields: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(actions)) = fields.get_mut("actions") {
        for action in actions.iter_mut().filter_map(Value::as_object_mut) {
            action.retain(|_, value| !value.is_null());
        }
    }
    fields
}

/// Converts an action of Anthropic, whose arguments are next to its name.
fn convert_named_action(name: &str, mut rest: Map<String, Value>) -> Value {
    let pair = |value: Option<Value>| -> Option<(Value, Value)> {
        let values = value?.as_array()?.clone();
        Some((values.first()?.clone(), values.get(1)?.clone()))
    };
    let position = pair(rest.remove("coordinate"));
    let keys = |text: Option<Value>| -> Value {
        let text = text.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        match text.as_str() {
            "" => json!([]),
            "+" => json!(["+"]),
            text => json!(text.split('+').collect::<Vec<_>>()),
        }
    };
    let ms = |seconds: Option<Value>| seconds.as_ref().and_then(Value::as_f64).map(|s| s * 1000.0);
    // A negative duration becomes 0 and a huge one the maximum.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    let ms = |seconds: Option<Value>| ms(seconds).map(|ms| ms as u64);
    let mut action = Map::new();
    let mut set = |kind: &str, more: Value| {
        action.insert("type".to_owned(), kind.into());
        if let Value::Object(more) = more {
            action.extend(more);
        }
    };
    let mut has_position = true;
    match name {
        "left_click" | "right_click" | "middle_click" => {
            let button = name.strip_suffix("_click").unwrap_or("left");
            set("click", json!({ "button": button }));
            if let Some(held) = rest.remove("text") {
                set("click", json!({ "keys": keys(Some(held)) }));
            }
        }
        "mouse_move" => set("move", json!({})),
        "key" => set("keypress", json!({ "keys": keys(rest.remove("text")) })),
        "hold_key" => {
            let held = ms(rest.remove("duration")).unwrap_or(0);
            set("hold_key", json!({ "keys": keys(rest.remove("text")), "ms": held }));
        }
        "wait" => set("wait", json!({ "ms": ms(rest.remove("duration")).unwrap_or(0) })),
        "left_click_drag" => {
            let point = |(x, y): &(Value, Value)| json!({ "x": x, "y": y });
            let start = pair(rest.remove("start_coordinate"));
            let path: Vec<Value> = start.iter().chain(&position).map(point).collect();
            set("drag", json!({ "path": path }));
            has_position = false;
        }
        "scroll" => {
            let amount = rest.remove("scroll_amount").and_then(|amount| amount.as_i64());
            let pixels = amount.unwrap_or(1).saturating_mul(WHEEL_PIXELS);
            let (x, y) = match rest.remove("scroll_direction").as_ref().and_then(Value::as_str) {
                Some("up") => (0, -pixels),
                Some("left") => (-pixels, 0),
                Some("right") => (pixels, 0),
                _ => (0, pixels),
            };
            set("scroll", json!({ "scroll_x": x, "scroll_y": y }));
        }
        other => {
            set(other, Value::Object(rest));
        }
    }
    if let Some((x, y)) = position.filter(|_| has_position) {
        action.insert("x".to_owned(), x);
        action.insert("y".to_owned(), y);
    }
    Value::Object(action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_of_every_provider_become_one_form() {
        let click = json!({ "type": "click", "button": "left", "x": 3, "y": 4 });
        for (given, actions) in [
            (json!({ "action": "left_click", "coordinate": [3, 4] }), json!([click])),
            (
                json!({ "action": { "type": "click", "button": "left", "x": 3, "y": 4, "keys": null },
                    "pending_safety_checks": [] }),
                json!([click]),
            ),
            (
                json!({ "actions": [click, { "type": "screenshot" }] }),
                json!([click, { "type": "screenshot" }]),
            ),
            (json!({ "action": "screenshot" }), json!([{ "type": "screenshot" }])),
            (
                json!({ "action": "key", "text": "ctrl+s" }),
                json!([{ "type": "keypress", "keys": ["ctrl", "s"] }]),
            ),
            (
                json!({ "action": "scroll", "coordinate": [1, 2], "scroll_direction": "up", "scroll_amount": 3 }),
                json!([{ "type": "scroll", "scroll_x": 0, "scroll_y": -300, "x": 1, "y": 2 }]),
            ),
            (
                json!({ "action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4] }),
                json!([{ "type": "drag", "path": [{ "x": 1, "y": 2 }, { "x": 3, "y": 4 }] }]),
            ),
            (json!({ "action": "wait", "duration": 1.5 }), json!([{ "type": "wait", "ms": 1500 }])),
            (
                json!({ "action": "zoom", "region": [0, 0, 9, 9] }),
                json!([{ "type": "zoom", "region": [0, 0, 9, 9] }]),
            ),
        ] {
            let normal = normalize(given);
            assert_eq!(normal["actions"], actions);
            assert_eq!(normalize(normal.clone()), normal);
            serde_json::from_value::<ComputerCall>(normal).unwrap();
        }
    }
}
