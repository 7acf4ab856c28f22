//! What comes in from outside: from where, under which licence, how often, and how much. The lists are those of `deny.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The most crates below the library's default features.
const MAX_CRATES: usize = 75;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn cargo(args: &[&str]) -> String {
    run(args).unwrap()
}

/// Runs cargo, and returns what it prints or why it fails.
fn run(args: &[&str]) -> Result<String, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo).args(args).current_dir(root()).output().unwrap();
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Set where all crates of the lock file have been downloaded, optional ones included.
const REQUIRE_ALL: &str = "AGENTLOOP_REQUIRE_CRATES";

/// Returns the crates of this platform, as cargo describes them.
///
/// A machine that has built only what the tests need does not have the crates of optional features. There the crates
/// of the default features are returned, and a line says so. The continuous integration downloads all and sets
/// [`REQUIRE_ALL`].
fn packages() -> Vec<Value> {
    let host = cargo(&["-vV"]);
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned();
    let metadata = |features: &[&str]| {
        let always =
            ["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform"];
        run(&[always.as_slice(), &[host.as_str()], features].concat())
    };
    let metadata = match metadata(&["--all-features"]) {
        Err(why) if std::env::var_os(REQUIRE_ALL).is_none() => {
            println!("SKIPPED: the crates of optional features are not on this machine: {why}");
            metadata(&[]).or_else(|why| {
                println!("SKIPPED: not all crates of the workspace are on this machine: {why}");
                metadata(&["--no-deps"])
            })
        }
        metadata => metadata,
    };
    let mut metadata: Value = serde_json::from_str(&metadata.unwrap()).unwrap();
    let Value::Array(packages) = metadata["packages"].take() else { panic!("no packages") };
    packages
}

#[test]
fn where_all_crates_are_required_all_are_checked() {
    if std::env::var_os(REQUIRE_ALL).is_some() {
        assert!(packages().len() > 200, "the lock file is not this workspace's");
    }
}

fn deny() -> toml::Table {
    std::fs::read_to_string(root().join("deny.toml")).unwrap().parse().unwrap()
}

/// The strings of a list of `deny.toml`, or the names of its tables.
fn list(deny: &toml::Table, table: &str, key: &str) -> BTreeSet<String> {
    let items = deny[table][key].as_array().unwrap();
    let name = |item: &toml::Value| match item {
        toml::Value::String(text) => text.clone(),
        item => item["name"].as_str().unwrap().to_owned(),
    };
    items.iter().map(name).collect()
}

/// Whether a licence expression can be kept to with these licences.
fn allows(allowed: &BTreeSet<String>, expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    // In the expressions used here, groups contain only alternatives.
    let every = expression.split(" AND ").map(|group| group.trim_matches(['(', ')', ' ']));
    every
        .into_iter()
        .all(|group| group.split(" OR ").any(|licence| allowed.contains(licence.trim())))
}

#[test]
fn every_licence_is_one_that_we_allow() {
    let allowed = list(&deny(), "licenses", "allow");
    assert!(allows(&allowed, "GPL-3.0 OR MIT") && allows(&allowed, "(MIT OR GPL-3.0) AND ISC"));
    assert!(!allows(&allowed, "GPL-3.0") && !allows(&allowed, "MIT AND GPL-3.0"));
    let wrong: Vec<String> = packages()
        .iter()
        .filter(|package| !allows(&allowed, package["license"].as_str().unwrap_or_default()))
        .map(|package| format!("{}: {}", package["name"], package["license"]))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn dependencies_are_from_the_registry_or_this_repository() {
    let wrong: Vec<String> = packages()
        .iter()
        .filter(|package| {
            let source = package["source"].as_str();
            source.is_some_and(|source| {
                source != "registry+https://github.com/rust-lang/crates.io-index"
            })
        })
        .map(|package| format!("{}: {}", package["name"], package["source"]))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn no_dependency_is_banned_and_only_listed_ones_are_duplicated() {
    let deny = deny();
    let (banned, skipped) = (list(&deny, "bans", "deny"), list(&deny, "bans", "skip"));
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    // Of the lock file, so that other platforms count too.
    let lock: toml::Table =
        std::fs::read_to_string(root().join("Cargo.lock")).unwrap().parse().unwrap();
    for package in lock["package"].as_array().unwrap() {
        let text = |key: &str| package[key].as_str().unwrap().to_owned();
        versions.entry(text("name")).or_default().insert(text("version"));
    }
    let found: Vec<&String> = versions.keys().filter(|name| banned.contains(*name)).collect();
    assert!(found.is_empty(), "{found:?}");
    let twice: BTreeSet<String> = versions
        .into_iter()
        .filter(|(_, versions)| versions.len() > 1)
        .map(|(name, _)| name)
        .collect();
    assert_eq!(twice, skipped, "an exception is named for each, and none for what is there once");
}

#[test]
fn the_default_features_have_few_dependencies() {
    let tree = cargo(&[
        "tree",
        "--offline",
        "--locked",
        "-p",
        "agentloop",
        "-e",
        "normal",
        "--prefix",
        "none",
        "--no-dedupe",
    ]);
    let crates: BTreeSet<&str> =
        tree.lines().filter_map(|line| line.split(" (").next()).map(str::trim).collect();
    assert!((20..=MAX_CRATES).contains(&crates.len()), "{} crates: {crates:?}", crates.len());
}
