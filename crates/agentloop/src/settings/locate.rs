//! Finds the setting that an error is about.
//!
//! A type that is read from JSON does not report where a mistake is. The setting is found by leaving out the others: while the
//! error stays the same, the mistake is in what is left. Halving the settings of each table keeps this to a few attempts, also
//! for a large file.

use std::ops::Range;

use serde_json::Value;

/// Returns the path of the setting that alone causes the error `message`, as positions in its tables and lists. `fails`
/// returns the error of other settings.
pub(super) fn culprit(
    root: &Value,
    message: &str,
    fails: &dyn Fn(Value) -> Option<String>,
) -> Vec<usize> {
    let mut path = Vec::new();
    // Is the error the same with only these children of the value at `path`?
    let is_caused_by = |path: &[usize], children: Range<usize>| {
        let mut rest = root.clone();
        let Some(value) = at(&mut rest, path) else { return false };
        let mut positions = 0..;
        let mut stays = || positions.next().is_some_and(|position| children.contains(&position));
        match value {
            Value::Object(fields) => fields.retain(|_, _| stays()),
            Value::Array(list) => list.retain(|_| stays()),
            _ => return false,
        }
        fails(rest).is_some_and(|other| other == message)
    };
    // Where the error is the same without any children, one is missing: the mistake is in the table itself.
    while !is_caused_by(&path, 0..0) {
        let mut children = 0..len(&mut root.clone(), &path);
        while children.len() > 1 {
            let middle = children.start + children.len() / 2;
            children = if is_caused_by(&path, children.start..middle) {
                children.start..middle
            } else {
                middle..children.end
            };
        }
        if children.is_empty() || !is_caused_by(&path, children.clone()) {
            break;
        }
        path.push(children.start);
    }
    path
}

fn at<'v>(root: &'v mut Value, path: &[usize]) -> Option<&'v mut Value> {
    path.iter().try_fold(root, |value, position| match value {
        Value::Object(fields) => fields.values_mut().nth(*position),
        Value::Array(list) => list.get_mut(*position),
        _ => None,
    })
}

fn len(root: &mut Value, path: &[usize]) -> usize {
    match at(root, path) {
        Some(Value::Object(fields)) => fields.len(),
        Some(Value::Array(list)) => list.len(),
        _ => 0,
    }
}
