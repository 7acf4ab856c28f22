//! Changes of JSON that leave it JSON.

use serde_json::{Value, json};

use crate::rng::Rng;

/// The most values that are kept to put elsewhere.
const MAX_STOCK: usize = 5_000;

/// What readers of text look for.
const TOKENS: &[&str] =
    &["<think>", "</think>", "```", "{\"a\":", "data:", "%2F", "/../", "#/$defs/node"];

/// Keeps every value inside this one that is not too large.
pub(crate) fn collect(value: &Value, stock: &mut Vec<Value>) {
    if stock.len() >= MAX_STOCK {
        return;
    }
    if value.to_string().len() < 300 {
        stock.push(value.clone());
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, stock)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, stock)),
        _ => {}
    }
}

/// Changes one value, anywhere inside.
pub(crate) fn change(value: &mut Value, stock: &[Value], rng: &mut Rng) {
    let mut place = rng.below(count(value));
    let Some(found) = nth(value, &mut place) else { return };
    match (rng.below(4), found) {
        (0, Value::Object(fields)) if !fields.is_empty() => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let (one, two) = (rng.pick(&names).clone(), rng.pick(&names).clone());
            if let Some(taken) = fields.shift_remove(&one)
                && rng.below(2) == 0
            {
                // Under another field's name, or under one of its own.
                fields.insert(if one == two { format!("{one}_") } else { two }, taken);
            }
        }
        (0 | 1, Value::Array(items)) if !items.is_empty() => {
            let (one, two) = (rng.below(items.len()), rng.below(items.len()));
            match rng.below(4) {
                0 => drop(items.remove(one)),
                1 => items.insert(one, items[two].clone()),
                2 => items.swap(one, two),
                _ => items.extend(items.clone().into_iter().take(40)),
            }
        }
        (0 | 1, Value::String(text)) => change_text(text, rng),
        (0 | 1, found @ Value::Number(_)) => *found = number(rng),
        (2, found) if !stock.is_empty() => *found = rng.pick(stock).clone(),
        (_, found) => *found = odd(found, rng),
    }
}

fn change_text(text: &mut String, rng: &mut Rng) {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let at = *rng.pick(&places);
    match rng.below(7) {
        0 => text.clear(),
        1 => text.truncate(at),
        2 => text
            .insert(at, *rng.pick(&['\0', '"', '\\', '\n', ' ', '🙂', '\u{feff}', '\u{301}', '{'])),
        3 => text.insert_str(at, TOKENS[rng.below(TOKENS.len())]),
        4 => *text = text.repeat(1 + rng.below(60)).chars().take(20_000).collect(),
        5 => *text = text.to_uppercase(),
        _ => drop(text.drain(..at)),
    }
}

fn number(rng: &mut Rng) -> Value {
    let numbers = [
        json!(0),
        json!(-1),
        json!(1),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u32::MAX),
        json!(1u64 << 32),
        json!(1e308),
        json!(-0.0),
        json!(0.5),
        json!(1e-320),
        json!(1u64 << 53),
        json!(65_536),
        json!(1_000_000),
    ];
    rng.pick(&numbers).clone()
}

fn odd(found: &Value, rng: &mut Rng) -> Value {
    match rng.below(9) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(""),
        3 => json!([]),
        4 => json!({}),
        5 => number(rng),
        6 => json!([found]),
        7 => json!(found.to_string()),
        _ => (0..1 + rng.below(200)).fold(found.clone(), |inner, _| json!({ "items": inner })),
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

fn nth<'a>(value: &'a mut Value, place: &mut usize) -> Option<&'a mut Value> {
    if *place == 0 {
        return Some(value);
    }
    *place -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, place)),
        Value::Object(fields) => fields.values_mut().find_map(|field| nth(field, place)),
        _ => None,
    }
}
