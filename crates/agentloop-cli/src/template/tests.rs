#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use super::*;

fn parse(text: &str) -> Template {
    Template::parse("review", Path::new("review.md"), text).unwrap()
}

fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn message(result: Result<impl std::fmt::Debug, Failure>) -> String {
    match result {
        Err(Failure::Input { message, .. }) => message,
        other => panic!("expected wrong input, got {other:?}"),
    }
}

#[test]
fn a_template_without_settings_is_its_prompt() {
    let template = parse("Translate to {{ language }}:\n\n{{input}}\n");
    assert_eq!(template.settings, Settings::default());
    assert_eq!(template.variables(), ["language"]);
    let filled = template.fill(&values(&[("language", "French")]), "Good day").unwrap();
    assert_eq!(filled.prompt, "Translate to French:\n\nGood day");
}

#[test]
fn settings_stand_between_two_fences() {
    let template = parse(
        "+++\r\ndescription = \"Review\"\nmodel = \"sim/echo\"\nsystem = \"Write {{tongue}}.\"\neffort = \"low\"\n\
         temperature = 0.2\nmax_tokens = 100\ndefaults = { tongue = \"English\" }\n+++\n\nReview this.\n",
    );
    assert_eq!(template.settings.model.as_deref(), Some("sim/echo"));
    assert_eq!(template.settings.effort, Some(Effort::Low));
    let filled = template.fill(&values(&[]), "diff").unwrap();
    assert_eq!(filled.prompt, "Review this.\n\ndiff");
    assert_eq!(filled.system.as_deref(), Some("Write English."));
    let filled = template.fill(&values(&[("tongue", "Latin")]), "").unwrap();
    assert_eq!(filled.prompt, "Review this.");
    assert_eq!(filled.system.as_deref(), Some("Write Latin."));
}

#[test]
fn a_template_of_a_role_has_no_prompt() {
    let template = parse("+++\nsystem = \"You are a pirate.\"\n+++\n");
    assert_eq!(template.fill(&values(&[]), "Hello").unwrap().prompt, "Hello");
}

#[test]
fn values_are_not_templates() {
    let template = parse("{{a}} {{input}}");
    let filled = template.fill(&values(&[("a", "{{input}} {{b}}")]), "{{a}}").unwrap();
    assert_eq!(filled.prompt, "{{input}} {{b}} {{a}}");
}

#[test]
fn braces_around_anything_else_stay() {
    let template = parse("{{}} {{1}} {{a b}} {{{x}}} {{ {{x}} {{");
    assert_eq!(template.variables(), ["x"]);
    let filled = template.fill(&values(&[("x", "X")]), "").unwrap();
    assert_eq!(filled.prompt, "{{}} {{1}} {{a b}} {X} {{ X {{");
}

#[test]
fn missing_and_unknown_variables_are_errors() {
    let template = parse("{{a}} {{b}} {{a}}");
    let missing = template.fill(&values(&[]), "");
    assert_eq!(message(missing), "the template `review` needs a value for a, b");
    let unknown = template.fill(&values(&[("a", ""), ("b", ""), ("c", "")]), "");
    assert_eq!(message(unknown), "the template `review` has no variable `c`");
}

#[test]
fn errors_of_settings_name_their_line() {
    let parse = |text| message(Template::parse("x", Path::new("x.md"), text));
    assert_eq!(
        parse("+++\nmodel = \"a/b\"\ntemprature = 1\n+++\n"),
        "x.md: line 3: unknown field `temprature`, expected one of `description`, `model`, `system`, `temperature`, \
         `max_tokens`, `effort`, `defaults`"
    );
    assert_eq!(parse("+++\nmodel = \"a/b\"\n"), "x.md: the settings do not end with a line `+++`");
}

#[test]
fn a_name_cannot_leave_the_folder() {
    for name in ["../secret", "a/b", "", ".hidden", "/etc/passwd", "a\u{202e}b", "a b"] {
        assert!(message(find(name)).contains("cannot be the name"), "{name}");
    }
}

#[test]
fn a_template_of_any_shape_is_filled_in_one_pass_and_up_to_a_limit() {
    let long = "x".repeat(20_000);
    let many = parse(&"{{input}}".repeat(50_000));
    assert!(message(many.fill(&values(&[]), &long)).contains("longer than the limit"));
    // Each of them was once searched to its end from every brace.
    for text in
        ["{{".repeat(500_000), "{{ ".repeat(300_000), format!("{{{{{}", "a".repeat(1 << 20))]
    {
        assert_eq!(parse(&text).fill(&values(&[]), "").unwrap().prompt, text.trim_end());
    }
    let names: String = (0..100_000).map(|number| format!("{{{{n{number}}}}}")).collect();
    let names = parse(&names);
    assert_eq!(names.variables().len(), 100_000);
    let shown = message(names.fill(&values(&[]), ""));
    assert!(shown.ends_with("n18, n19 and 99980 more"), "{shown}");
}

#[test]
fn a_name_with_spaces_is_one_up_to_64_bytes() {
    let name = "n".repeat(60);
    let template = parse(&format!("{{{{  {name}  }}}}"));
    assert_eq!(template.variables(), [name]);
    assert!(parse(&format!("{{{{ {} }}}}", "n".repeat(64))).variables().is_empty());
}
