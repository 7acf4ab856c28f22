//! Groups of models as routes.

use std::collections::HashMap;

use agentloop_gateway::MAX_ROUTE_MODELS;

use super::deployment::Deployments;
use super::report::Report;
use super::settings::{Name, Settings};

/// How much less than the model before it a fallback weighs.
///
/// A weighted route has no order, so a fallback has a weight at which it is practically never chosen first.
const FALLBACK: f64 = 1e-6;

/// The most retries of a route.
const MAX_RETRIES: usize = 10;

/// A route.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) name: String,
    pub(super) members: Vec<Member>,
    pub(super) strategy: Strategy,
    pub(super) retries: Option<usize>,
    /// How many of the members, at the end, are fallbacks.
    pub(super) fallbacks: usize,
}

/// A model of a route.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) model: String,
    pub(super) weight: f64,
    order: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    Ordered,
    Weighted,
    LeastLoaded,
}

/// The groups, in the order of the file.
#[derive(Default)]
struct Groups<'a> {
    places: HashMap<&'a str, usize>,
    all: Vec<(&'a str, Vec<Member>)>,
}

impl Groups<'_> {
    fn get(&self, name: &str) -> Option<&[Member]> {
        let place = self.places.get(name)?;
        self.all.get(*place).map(|(_, members)| members.as_slice())
    }
}

/// Builds a route for each group and each alias.
pub(super) fn build(
    deployments: &Deployments,
    settings: &Settings<'_>,
    report: &mut Report,
) -> Vec<Route> {
    let groups = group(deployments);
    report_unknown(&groups, settings, report);
    let mut routes: Vec<Route> = Vec::new();
    for (name, members) in &groups.all {
        routes.push(route(name, members, &groups, settings, report));
    }
    for (alias, target) in &settings.aliases {
        if groups.get(alias).is_some() || routes.iter().any(|route| route.name == *alias) {
            report.add(&target.path, target.node, "a model of this name exists");
        } else if let Some(members) = groups.get(target.text) {
            let mut copy = route(target.text, members, &groups, settings, &mut Report::default());
            (*alias).clone_into(&mut copy.name);
            routes.push(copy);
        } else {
            report.add(&target.path, target.node, "no model of this name was translated");
        }
    }
    routes
}

/// Collects the models of each group. A model that occurs with several keys is one member: its keys are a pool.
fn group(deployments: &Deployments) -> Groups<'_> {
    let mut groups = Groups::default();
    for deployment in &deployments.models {
        let next = groups.all.len();
        let place = *groups.places.entry(&deployment.group).or_insert(next);
        if place == next {
            groups.all.push((&deployment.group, Vec::new()));
        }
        let Some((_, members)) = groups.all.get_mut(place) else { continue };
        match members.iter_mut().find(|member| member.model == deployment.model) {
            Some(member) => {
                member.weight += deployment.weight;
                member.order = member.order.min_of(deployment.order);
            }
            None => members.push(Member {
                model: deployment.model.clone(),
                weight: deployment.weight,
                order: deployment.order,
            }),
        }
    }
    groups
}

/// The smaller of two orders, if there are any.
trait MinOf {
    fn min_of(self, other: Self) -> Self;
}

impl MinOf for Option<f64> {
    fn min_of(self, other: Self) -> Self {
        match (self, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
}

/// Reports names of fallbacks that are not those of groups.
fn report_unknown(groups: &Groups<'_>, settings: &Settings<'_>, report: &mut Report) {
    let of_groups = settings.fallbacks.iter().flat_map(|(_, names)| names);
    for name in of_groups.chain(&settings.default_fallbacks) {
        if groups.get(name.text).is_none() {
            report.add(&name.path, name.node, "no model of this name was translated");
        }
    }
    for (group, names) in &settings.fallbacks {
        if let (None, Some(first)) = (groups.get(group), names.first()) {
            let why = format!("no model of the name `{group}` was translated");
            report.add(&first.path, first.node, why);
        }
    }
}

fn route(
    name: &str,
    own: &[Member],
    groups: &Groups<'_>,
    settings: &Settings<'_>,
    report: &mut Report,
) -> Route {
    let mut members = own.to_vec();
    let mut strategy = match members.len() {
        0 | 1 => Strategy::Ordered,
        _ if settings.is_least_loaded => Strategy::LeastLoaded,
        _ => Strategy::Weighted,
    };
    if members.iter().any(|member| member.order.is_some()) && members.len() > 1 {
        strategy = Strategy::Ordered;
        // LiteLLM tries models without an order last.
        let order = |member: &Member| member.order.unwrap_or(f64::INFINITY);
        members.sort_by(|one, other| order(one).total_cmp(&order(other)));
    }
    let own = members.len();
    let mut lightest = members.iter().map(|member| member.weight).fold(f64::INFINITY, f64::min);
    for fallback in fallbacks(name, settings) {
        for member in groups.get(fallback.text).unwrap_or_default() {
            if !members.iter().any(|known| known.model == member.model) {
                lightest *= FALLBACK;
                members.push(Member { weight: lightest, ..member.clone() });
            }
        }
    }
    if members.len() > MAX_ROUTE_MODELS {
        report.add_line(format!(
            "the model `{name}` has more than {MAX_ROUTE_MODELS} models and fallbacks; the others are left out"
        ));
        members.truncate(MAX_ROUTE_MODELS);
    }
    let fallbacks = members.len().saturating_sub(own);
    if fallbacks > 0 && strategy == Strategy::LeastLoaded {
        report.add_line(format!(
            "the model `{name}` has fallbacks, so its models are chosen by weight instead of by load"
        ));
        strategy = Strategy::Weighted;
    }
    let retries = match (settings.retries, fallbacks) {
        (None, 0) => None,
        (None, _) => Some(members.len() - 1),
        (Some(retries), fallbacks) => {
            Some(usize::try_from(retries).unwrap_or(MAX_RETRIES).saturating_add(fallbacks))
        }
    };
    let retries = retries.map(|retries| retries.min(MAX_RETRIES));
    Route { name: name.to_owned(), members, strategy, retries, fallbacks }
}

/// Returns the fallbacks of a group.
fn fallbacks<'s, 'a>(group: &str, settings: &'s Settings<'a>) -> Vec<&'s Name<'a>> {
    let own = settings.fallbacks.iter().filter(|(name, _)| *name == group);
    let own: Vec<&Name<'_>> = own.flat_map(|(_, names)| names).collect();
    match own.is_empty() {
        true => settings.default_fallbacks.iter().collect(),
        false => own,
    }
}
