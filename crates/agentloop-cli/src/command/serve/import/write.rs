//! Writes the settings as TOML.

use std::fmt::Write as _;

use toml_edit::{Key, Value};

use super::deployment::{Deployments, Instance};
use super::route::{Route, Strategy};
use super::settings::Settings;

/// Writes an `agentloop.toml`.
pub(super) fn toml(deployments: &Deployments, settings: &Settings<'_>, routes: &[Route]) -> String {
    let mut out = String::new();
    if let Some(provider) = &deployments.default_provider {
        out.push_str(&format!("default_provider = {}\n\n", text(provider)));
    }
    write_timeouts(&mut out, settings);
    for instance in &deployments.providers {
        write_provider(&mut out, instance);
    }
    if settings.strict {
        out.push_str("[gateway]\nstrict = true\n\n");
    }
    if let Some(variable) = &settings.key {
        out.push_str(&format!("[gateway.keys.master]\nkey_env = {}\n\n", text(variable)));
    }
    for instance in deployments.providers.iter().filter(|instance| instance.variables.len() > 1) {
        let variables: Vec<String> = instance.variables.iter().map(|name| text(name)).collect();
        let (name, list) = (key(&instance.name), variables.join(", "));
        out.push_str(&format!("[gateway.pools.{name}]\nkey_env = [{list}]\n\n"));
    }
    for route in routes {
        write_route(&mut out, route);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn write_timeouts(out: &mut String, settings: &Settings<'_>) {
    let times = [("idle", settings.idle), ("total", settings.total)];
    if times.iter().all(|(_, time)| time.is_none()) {
        return;
    }
    out.push_str("[timeouts]\n");
    for (name, time) in times {
        if let Some(time) = time {
            out.push_str(&format!("{name} = {}\n", number(time)));
        }
    }
    out.push('\n');
}

fn write_provider(out: &mut String, instance: &Instance) {
    let mut table = String::new();
    if let Some(url) = &instance.base_url {
        let _ = writeln!(table, "base_url = {}", text(url));
        // The built-in provider has these settings already.
        if instance.name != instance.family.provider {
            table.push_str(instance.family.settings);
        }
    }
    if let Some(profile) = &instance.profile {
        let _ = writeln!(table, "credential = {{ aws = {{ profile = {} }} }}", text(profile));
    } else if instance.family.uses_aws() && instance.name != instance.family.provider {
        table.push_str("credential = \"aws\"\n");
    }
    if let [variable] = instance.variables.as_slice() {
        let is_usual = instance.name == instance.family.provider
            && instance.family.usual_variable().as_ref() == Some(variable);
        if !is_usual {
            let _ = writeln!(table, "key_env = {}", text(variable));
        }
    }
    if !table.is_empty() {
        out.push_str(&format!("[providers.{}]\n{table}\n", key(&instance.name)));
    }
}

fn write_route(out: &mut String, route: &Route) {
    out.push_str(&format!("[gateway.routes.{}]\n", key(&route.name)));
    match route.strategy {
        Strategy::Ordered => {}
        Strategy::Weighted => out.push_str("strategy = \"weighted\"\n"),
        Strategy::LeastLoaded => out.push_str("strategy = \"least_loaded\"\n"),
    }
    if let Some(retries) = route.retries {
        out.push_str(&format!("retries = {retries}\n"));
    }
    let first = route.members.first().map_or(1.0, |member| member.weight);
    let has_weights = route.strategy != Strategy::Ordered
        && route.members.iter().any(|member| member.weight.to_bits() != first.to_bits());
    let members = route.members.iter().map(|member| match has_weights {
        true => {
            format!("{{ model = {}, weight = {} }}", text(&member.model), number(member.weight))
        }
        false => text(&member.model),
    });
    let members: Vec<String> = members.collect();
    if let [member] = members.as_slice() {
        out.push_str(&format!("models = [{member}]\n\n"));
        return;
    }
    out.push_str("models = [\n");
    let own = members.len().saturating_sub(route.fallbacks);
    for (index, member) in members.iter().enumerate() {
        if index == own && route.fallbacks > 0 {
            let comment = match route.strategy {
                Strategy::Ordered => "    # Fallbacks.\n",
                _ => "    # Fallbacks: the weights are so small that they are tried last.\n",
            };
            out.push_str(comment);
        }
        out.push_str(&format!("    {member},\n"));
    }
    out.push_str("]\n\n");
}

/// Writes a text with quotes.
fn text(text: &str) -> String {
    Value::from(text).to_string()
}

/// Writes a name, with quotes if it needs them.
fn key(name: &str) -> String {
    Key::new(name).to_string()
}

/// Writes a number as short as possible.
fn number(number: f64) -> String {
    match number.fract() == 0.0 && number.abs() < 1e15 {
        true => format!("{number:.0}"),
        false => Value::from(number).to_string(),
    }
}
