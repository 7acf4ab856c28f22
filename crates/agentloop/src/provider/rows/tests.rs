use std::collections::BTreeSet;
use std::path::Path;

use crate::Provider;

/// Each provider has one file, and each file one provider.
#[test]
fn every_file_is_a_provider_that_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/provider/rows");
    let names = std::fs::read_dir(folder).unwrap().filter_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.strip_suffix(".rs").map(str::to_owned)
    });
    let files: BTreeSet<String> =
        names.filter(|name| !["mod", "common", "tests"].contains(&name.as_str())).collect();
    let listed: Vec<String> =
        Provider::all().iter().map(|provider| provider.name.to_string()).collect();
    assert_eq!(listed.len(), files.len(), "a provider is listed twice, or not at all");
    assert_eq!(files, listed.into_iter().collect());
}

#[test]
fn every_file_states_its_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/provider/rows");
    for provider in Provider::all() {
        let text = std::fs::read_to_string(folder.join(format!("{}.rs", provider.name))).unwrap();
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
        let has_source = head.iter().any(|line| line.contains("Source"));
        assert!(has_source, "{}: the module comment names no source", provider.name);
        assert!(text.contains(&format!("pub fn {}() -> Self", provider.name)), "{}", provider.name);
    }
}
