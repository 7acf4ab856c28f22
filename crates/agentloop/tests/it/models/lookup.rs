//! Lookups never guess.

use agentloop::models::{DataFile, ModelCatalog};

use crate::models::file;
use crate::models::write::Content;

fn catalog() -> ModelCatalog {
    let file = file(&[
        r#"{"id":"lab/one","context_window":1}"#,
        r#"{"id":"lab/one-2025-08-07","context_window":2}"#,
        r#"{"id":"lab/Org/Big-One","context_window":3}"#,
        r#"{"id":"openrouter/org/one","context_window":4,"prices":[{"per_million":{"input":"1","output":"2"}}]}"#,
        r#"{"id":"openrouter/org/one:free","context_window":5,"prices":[{"per_million":{"input":"0","output":"0"}}]}"#,
        r#"{"id":"lab-2/one","context_window":6}"#,
    ]);
    ModelCatalog::parse(file.to_text().unwrap()).unwrap()
}

#[test]
fn a_name_is_found_unchanged_and_without_additions_of_providers() {
    for (provider, model, context) in [
        ("lab", "one", Some(1)),
        ("lab", "ONE", Some(1)),
        ("LAB", "one", Some(1)),
        ("lab", "one-2025-08-07", Some(2)),
        ("lab", "one-2025-08-08", Some(1)),
        ("lab", "one-20250808", Some(1)),
        ("lab", "one@20250808", Some(1)),
        ("lab", "org/big-one", Some(3)),
        ("lab-2", "one", Some(6)),
        ("openrouter", "org/one", Some(4)),
        ("openrouter", "org/one:free", Some(5)),
        ("openrouter", "org/one:nitro", Some(4)),
        ("openrouter", "org/one-2025-01-01:nitro", Some(4)),
    ] {
        let found = catalog().lookup(provider, model);
        assert_eq!(found.and_then(|known| known.context_window), context, "{provider}/{model}");
    }
}

#[test]
fn a_similar_name_is_unknown() {
    for (provider, model) in [
        ("lab", "on"),
        ("lab", "one-mini"),
        ("lab", "one-latest"),
        ("lab", "one-2025-13-07"),
        ("lab", "one-12345678"),
        ("lab", "one-250807"),
        ("lab", "one:free"),
        ("lab", "us.one"),
        ("lab", "big-one"),
        ("lab", ""),
        ("lab", "-2025-08-07"),
        ("lab", "\u{e9}-2025-08-07"),
        ("", "one"),
        ("other", "one"),
        ("lab/one", ""),
        ("a", "a"),
        ("z", "z"),
    ] {
        assert_eq!(catalog().lookup(provider, model), None, "{provider}/{model}");
    }
}

#[test]
fn a_variant_may_cost_something_else() {
    let prices = |model: &str| catalog().lookup("openrouter", model).unwrap().prices.len();
    assert_eq!((prices("org/one"), prices("org/one:free"), prices("org/one:nitro")), (1, 1, 0));
}

#[test]
fn a_profile_has_the_prices_of_its_geography() {
    let mut file = file(&[
        r#"{"id":"lab/a.one","context_window":1,"prices":[{"per_million":{"input":"1"},"regions":["eu","x-y-1"]},
            {"per_million":{"input":"2"},"regions":["us"]},{"per_million":{"input":"3"},"service_tier":"batch"}]}"#,
        r#"{"id":"lab/eu.a.one","context_window":2}"#,
        r#"{"id":"other/a.one","context_window":3}"#,
    ]);
    file.profiles = vec!["lab".to_owned()];
    let text = file.to_text().unwrap();
    assert_eq!(Content::of(DataFile::parse(&text).unwrap()), file);
    let catalog = ModelCatalog::parse(text).unwrap();
    let inputs = |model: &str, region: Option<&str>| {
        let found = match region {
            Some(region) => catalog.lookup_in("lab", model, region),
            None => catalog.lookup("lab", model),
        };
        let prices = found.unwrap().prices;
        assert!(region.is_none() || prices.iter().all(|price| price.regions.is_empty()));
        prices.iter().filter_map(|p| Some(p.per_million.input?.to_string())).collect::<Vec<_>>()
    };
    assert_eq!(inputs("a.one", None), ["1", "2", "3"], "where it is called is not known");
    assert_eq!(inputs("us.a.one", None), ["2", "3"]);
    assert_eq!(inputs("us.a.one", Some("x-y-1")), ["2", "3"], "the name decides");
    assert_eq!(inputs("a.one", Some("x-y-1")), ["1", "3"]);
    assert_eq!(inputs("a.one", Some("x-y-2")), ["3"]);
    assert_eq!(inputs("jp.a.one", None), ["3"]);
    assert_eq!(inputs("arn:p:s:x-y-1::foundation-model/a.one", None), ["1", "3"]);
    assert_eq!(inputs("arn:p:s:x-y-1:1:inference-profile/us.a.one", None), ["2", "3"]);
    let context = |provider: &str, model: &str| catalog.lookup(provider, model)?.context_window;
    assert_eq!(context("lab", "eu.a.one"), Some(2), "a record of its own counts");
    for model in [
        "us.",
        "us",
        ".a.one",
        "us.us.a.one",
        "mars.a.one",
        "arn:",
        "arn:::::",
        "arn:p:s:r::/a.one",
        "arn:p:s:r::foundation-model",
        "arn:p:s:r::foundation-model/",
        "arn:p:s:::foundation-model/a.one",
        "arn:p:s:r::custom-model/a.one",
        "us.arn:p:s:r::foundation-model/a.one",
    ] {
        assert_eq!(context("lab", model), None, "{model}");
    }
    assert_eq!(context("other", "us.a.one"), None, "it has no profiles");
    let units = catalog.lookup("lab", "a.one").unwrap();
    assert!(units.price(1, crate::models::today(), None).is_none(), "a price of a region alone");
}

#[test]
fn a_file_of_none_one_or_two_is_searched_too() {
    for count in 0..3 {
        let names: Vec<String> = (0..count).map(|n| format!(r#"{{"id":"lab/m{n}"}}"#)).collect();
        let records: Vec<&str> = names.iter().map(String::as_str).collect();
        let catalog = ModelCatalog::parse(file(&records).to_text().unwrap()).unwrap();
        for n in 0..3 {
            let found = catalog.lookup("lab", &format!("m{n}")).is_some();
            assert_eq!(found, n < count, "{n} of {count}");
        }
    }
}

#[test]
fn a_whole_record_survives_the_file() {
    let record = r#"{"id":"lab/all","kind":"chat","context_window":9,"max_input_tokens":8,"max_output_tokens":7,
        "abilities":{"tools":true,"parallel_tools":false,"forced_tools":true,"image_input":false,"audio_input":true,
        "video_input":false,"pdf_input":true,"image_output":false,"audio_output":true,"reasoning":false,
        "structured_output":true,"temperature":false,"prompt_caching":true,"web_search":false},
        "efforts":["none","minimal","low","medium","high","xhigh","max"],"knowledge_cutoff":"2025-08",
        "deprecation_date":"2027-01-31","prices":[{"from":"2026-01-01","until":"2027-01-01","hours":["135/01:30-04:00","7/00:00-00:00"],"above_prompt_tokens":5,
        "regions":["eu","eu-west-2"],"service_tier":"flex","per_million":{"input":"1","output":"2.5","cache_read":"0.1","cache_write":"1.25",
        "cache_write_1h":"2","reasoning":"3","audio_input":"4","audio_output":"5","image_output":"6"},
        "per_request":"0.005","per_call":{"web_search_requests":"0.01"}}]}"#;
    let vectors = r#"{"id":"lab/vectors","kind":"embedding","dimensions":3}"#;
    let unsized_vectors = r#"{"id":"lab/vectors-2","kind":"embedding"}"#;
    let file = file(&[record, vectors, unsized_vectors]);
    assert_eq!(Content::of(DataFile::parse(&file.to_text().unwrap()).unwrap()), file);
    assert_eq!(file.models["lab/all"], crate::models::record(record));
}

#[test]
fn a_broken_file_is_an_error_with_its_line() {
    let head = r#"{"generated":"2026-11-15","sources":[],"models":{"#;
    for (text, expected) in [
        (String::new(), "it is not a file of models"),
        ("{}".to_owned(), "it is not a file of models"),
        (
            format!("{head}\n\"lab/b\":{{}},\n\"lab/a\":{{}}\n}}}}\n"),
            "line 3: `lab/a` is not in order",
        ),
        (format!("{head}\n\"lab/a\":{{\"a\":\"?\"}}\n}}}}\n"), "line 2: `?` is not known"),
        (format!("{head}\n\"lab/a\":{{\"u\":\"i1 y2\"}}\n}}}}\n"), "line 2: `i1 y2` is not known"),
        (format!("{head}\nlab\n}}}}\n"), "line 2: it is not a model"),
    ] {
        let error = ModelCatalog::parse(text).unwrap_err();
        assert_eq!(error.message(), expected);
    }
}
