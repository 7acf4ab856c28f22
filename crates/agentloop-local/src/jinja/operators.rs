//! The operators, filters and methods of templates, with a budget.

use std::sync::Arc;

use minijinja::value::{Kwargs, Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, escape_formatter, filters, functions};
use minijinja_contrib::pycompat;

use super::budget::{Budget, too_large};
use super::{date, json};

/// The names of the operators as filters, which a template cannot write.
pub(super) const ADD: &str = "agentloop-add";
pub(super) const MULTIPLY: &str = "agentloop-multiply";
pub(super) const CONCATENATE: &str = "agentloop-concatenate";
pub(super) const ADMIT: &str = "agentloop-admit";
pub(super) const WEIGH: &str = "agentloop-weigh";
pub(super) const STORE: &str = "agentloop-store";

/// The largest width and precision in a format.
const MAX_WIDTH_DIGITS: usize = 3;

/// Filters that are not there: they make lists or texts of any length from a number, and templates do not use them.
const REMOVED: [&str; 6] = ["batch", "slice", "sum", "chain", "zip", "pprint"];

/// Sets everything that makes texts and lists.
pub(super) fn add_to(environment: &mut Environment<'_>, budget: &Arc<Budget>) {
    for name in REMOVED {
        environment.remove_filter(name);
    }
    environment.remove_global("debug");
    // Filters whose result is not much larger than what they get.
    let plain: [(&str, Value); 37] = [
        ("abs", Value::from_function(filters::abs)),
        ("attr", Value::from_function(filters::attr)),
        ("bool", Value::from_function(filters::bool)),
        ("capitalize", Value::from_function(filters::capitalize)),
        ("count", Value::from_function(filters::length)),
        ("d", Value::from_function(filters::default)),
        ("default", Value::from_function(filters::default)),
        ("dictsort", Value::from_function(filters::dictsort)),
        ("e", Value::from_function(filters::escape)),
        ("escape", Value::from_function(filters::escape)),
        ("first", Value::from_function(filters::first)),
        ("float", Value::from_function(filters::float)),
        ("groupby", Value::from_function(filters::groupby)),
        ("int", Value::from_function(filters::int)),
        ("items", Value::from_function(filters::items)),
        ("last", Value::from_function(filters::last)),
        ("length", Value::from_function(filters::length)),
        ("lines", Value::from_function(filters::lines)),
        ("list", Value::from_function(filters::list)),
        ("lower", Value::from_function(filters::lower)),
        ("map", Value::from_function(filters::map)),
        ("max", Value::from_function(filters::max)),
        ("min", Value::from_function(filters::min)),
        ("reject", Value::from_function(filters::reject)),
        ("rejectattr", Value::from_function(filters::rejectattr)),
        ("reverse", Value::from_function(filters::reverse)),
        ("round", Value::from_function(filters::round)),
        ("safe", Value::from_function(filters::safe)),
        ("select", Value::from_function(filters::select)),
        ("selectattr", Value::from_function(filters::selectattr)),
        ("sort", Value::from_function(filters::sort)),
        ("split", Value::from_function(filters::split)),
        ("title", Value::from_function(filters::title)),
        ("trim", Value::from_function(filters::trim)),
        ("unique", Value::from_function(filters::unique)),
        ("upper", Value::from_function(filters::upper)),
        (ADMIT, Value::from_function(|value: Value| value)),
    ];
    for (name, filter) in plain {
        add(environment, budget, name, filter, |_, _| Ok(()));
    }
    add(environment, budget, "format", Value::from_function(filters::format), check_format);
    add(environment, budget, "indent", Value::from_function(filters::indent), check_indent);
    add(environment, budget, "join", Value::from_function(filters::join), check_join);
    add(environment, budget, "replace", Value::from_function(filters::replace), check_replace);
    add(environment, budget, "string", Value::from_function(filters::string), check_lengths);
    add(environment, budget, "tojson", Value::from_function(json::to_json), |budget, values| {
        values.first().map_or(Ok(()), |value| budget.check_json(value))
    });
    let own = Arc::clone(budget);
    environment.add_filter(ADD, move |one: &Value, other: &Value| plus(&own, one, other));
    let own = Arc::clone(budget);
    environment.add_filter(MULTIPLY, move |one: &Value, other: &Value| times(&own, one, other));
    let own = Arc::clone(budget);
    environment.add_filter(CONCATENATE, move |one: &Value, other: &Value| {
        own.write([Ok(one.clone()), Ok(other.clone())].into_iter(), "")
    });
    let own = Arc::clone(budget);
    environment.add_filter(WEIGH, move |value: Value| own.weigh(&value).map(|()| value));
    let own = Arc::clone(budget);
    environment.add_filter(STORE, move |value: Value| own.weigh_stored(&value).map(|()| value));
    add_functions(environment, budget);
    let own = Arc::clone(budget);
    environment.set_unknown_method_callback(move |state, value, method, values| {
        own.weigh(value)?;
        values.iter().try_for_each(|value| own.weigh(value))?;
        check_method(&own, value, method, values)?;
        own.admit(pycompat::unknown_method_callback(state, value, method, values)?)
    });
    let own = Arc::clone(budget);
    environment.set_formatter(move |output, state, value| {
        own.charge_output(value)?;
        escape_formatter(output, state, value)
    });
}

type Check = fn(&Budget, &[Value]) -> Result<(), Error>;

/// Adds a filter that checks what it gets, and counts what it returns.
fn add(
    environment: &mut Environment<'_>,
    budget: &Arc<Budget>,
    name: &'static str,
    filter: Value,
    check: Check,
) {
    let own = Arc::clone(budget);
    environment.add_filter(name, move |state: &mut State<'_, '_>, values: Rest<ValueOrKwargs>| {
        let values = values.into_values();
        values.iter().try_for_each(|value| own.weigh(value))?;
        check(&own, &values)?;
        own.admit(filter.call(state, &values)?)
    });
}

fn add_functions(environment: &mut Environment<'_>, budget: &Arc<Budget>) {
    let copying: [(&'static str, Value); 2] = [
        ("dict", Value::from_function(functions::dict)),
        ("namespace", Value::from_function(functions::namespace)),
    ];
    for (name, function) in copying {
        let own = Arc::clone(budget);
        let call = move |state: &mut State<'_, '_>, values: Rest<ValueOrKwargs>| {
            let values = values.into_values();
            // Both copy what they get.
            for value in &values {
                own.weigh(value)?;
                own.admit(value.clone())?;
            }
            function.call(state, &values)
        };
        environment.add_function(name, call);
    }
    environment.add_function("raise_exception", |why: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, why))
    });
    let own = Arc::clone(budget);
    environment.add_function("strftime_now", move |format: &str| {
        own.admit(Value::from(date::now(format)))
    });
}

fn check_lengths(budget: &Budget, values: &[Value]) -> Result<(), Error> {
    let lengths = values.iter().map(|value| budget.length(value));
    lengths.sum::<Option<usize>>().map(drop).ok_or_else(too_large)
}

/// Widths in a format make long texts from short ones.
fn check_format(budget: &Budget, values: &[Value]) -> Result<(), Error> {
    let format = values.first().and_then(Value::as_str).unwrap_or_default();
    let mut digits = 0;
    for letter in format.chars() {
        digits = if letter.is_ascii_digit() { digits + 1 } else { 0 };
        if digits > MAX_WIDTH_DIGITS || letter == '*' {
            return Err(too_large());
        }
    }
    // A value can be written as often as the format names it.
    let longest = values.iter().skip(1).map(|value| budget.length(value).unwrap_or(usize::MAX));
    let longest = longest.max().unwrap_or_default();
    let named = format.matches(['%', '{']).count();
    let length = longest.checked_mul(named).and_then(|all| all.checked_add(format.len()));
    let width = named.checked_mul(10_usize.pow(3));
    budget.charge_text(length.zip(width).and_then(|(length, width)| length.checked_add(width)))
}

fn check_indent(budget: &Budget, values: &[Value]) -> Result<(), Error> {
    let text = values.first().and_then(Value::as_str).unwrap_or_default();
    let named = values.iter().skip(1).filter_map(|value| {
        let kwargs = Kwargs::try_from(value.clone()).ok()?;
        kwargs.get::<Option<usize>>("width").ok().flatten()
    });
    let width = named.chain(values.get(1).and_then(Value::as_usize)).max().unwrap_or(4);
    let lines = text.matches('\n').count() + 1;
    budget.charge_text(lines.checked_mul(width).and_then(|all| all.checked_add(text.len())))
}

fn check_join(budget: &Budget, values: &[Value]) -> Result<(), Error> {
    let Some(Ok(items)) = values.first().map(Value::try_iter) else { return Ok(()) };
    let between = values.get(1).and_then(Value::as_str).unwrap_or_default();
    budget.write(items.map(Ok), between).map(drop)
}

fn check_replace(budget: &Budget, values: &[Value]) -> Result<(), Error> {
    check_lengths(budget, values)?;
    let text = |at: usize| values.get(at).map(Value::to_string).unwrap_or_default();
    budget.check_replaced(&text(0), &text(1), &text(2))
}

fn check_method(
    budget: &Budget,
    value: &Value,
    method: &str,
    values: &[Value],
) -> Result<(), Error> {
    let all = || [std::slice::from_ref(value), values].concat();
    match (value.kind(), method) {
        (ValueKind::String, "replace") => check_replace(budget, &all()),
        (ValueKind::String, "format") => check_format(budget, &all()),
        (ValueKind::String, "join") => match values.first() {
            Some(items) => check_join(budget, &[items.clone(), value.clone()]),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

fn impossible(operator: &str, one: &Value, other: &Value) -> Error {
    let message = format!(
        "tried to use {operator} operator on unsupported types {} and {}",
        one.kind(),
        other.kind()
    );
    Error::new(ErrorKind::InvalidOperation, message)
}

/// Calculates with two numbers, which stay whole if both are.
fn calculate(
    one: &Value,
    other: &Value,
    operator: &str,
    whole: fn(i128, i128) -> Option<i128>,
    real: fn(f64, f64) -> f64,
) -> Result<Value, Error> {
    let failed = || impossible(operator, one, other);
    let is_whole = |value: &Value| value.is_integer() || value.kind() == ValueKind::Bool;
    if is_whole(one) && is_whole(other) {
        let numbers = i128::try_from(one.clone()).ok().zip(i128::try_from(other.clone()).ok());
        let number = numbers.and_then(|(one, other)| whole(one, other)).ok_or_else(failed)?;
        return Ok(i64::try_from(number).map_or_else(|_| Value::from(number), Value::from));
    }
    let number = |value: &Value| match value.kind() {
        ValueKind::Number | ValueKind::Bool => f64::try_from(value.clone()).map_err(|_| failed()),
        _ => Err(failed()),
    };
    Ok(Value::from(real(number(one)?, number(other)?)))
}

fn plus(budget: &Budget, one: &Value, other: &Value) -> Result<Value, Error> {
    if let (Some(text), Some(more)) = (one.as_str(), other.as_str()) {
        budget.charge_text(text.len().checked_add(more.len()))?;
        return Ok(Value::from([text, more].concat()));
    }
    if is_list(one) && is_list(other) {
        return budget.collect(one.try_iter()?.chain(other.try_iter()?)).map(Value::from);
    }
    calculate(one, other, "+", i128::checked_add, |one, other| one + other)
}

fn times(budget: &Budget, one: &Value, other: &Value) -> Result<Value, Error> {
    let (repeated, count) = match one.as_str().is_some() || is_list(one) {
        true => (one, other),
        false => (other, one),
    };
    let times = || count.as_usize().ok_or_else(|| impossible("*", one, other));
    if let Some(text) = repeated.as_str() {
        let times = times()?;
        budget.charge_text(text.len().checked_mul(times))?;
        return Ok(Value::from(text.repeat(times)));
    }
    if is_list(repeated) {
        let items = budget.collect(repeated.try_iter()?)?;
        let times = if items.is_empty() { 0 } else { times()? };
        let all = (0..times).flat_map(|_| items.iter().cloned());
        return budget.collect(all).map(Value::from);
    }
    calculate(one, other, "*", i128::checked_mul, |one, other| one * other)
}
