//! Headers that are read from the environment. They are treated like keys.

use agentloop::{Config, ErrorKind, Provider, inspect};

use crate::client::fake::{Fake, Reply, ask};

const SECRET: &str = "tenant-this-is-secret";

const CONFIG: &str = "
    [providers.lab]
    base_url = 'https://lab.test/v1'
    headers = { X-Lab-Tenant = 'id ${LAB_TENANT}', x-team = 'a' }
";

fn replies(count: usize) -> Fake {
    Fake::new((0..count).map(|_| Reply::text("hi")))
}

#[tokio::test]
async fn variables_in_headers_of_the_configuration_are_replaced() {
    let fake = replies(1);
    let config = Config::parse(CONFIG).unwrap();
    let ai = fake.builder().config(&config).env("LAB_TENANT", SECRET).build().unwrap();
    ai.chat(ask()).await.unwrap();
    let requests = fake.requests();
    let headers = requests[0].headers();
    assert_eq!(headers["x-lab-tenant"], format!("id {SECRET}").as_str());
    assert!(headers["x-lab-tenant"].is_sensitive());
    assert_eq!(headers["x-team"], "a");
}

#[tokio::test]
async fn a_variable_that_is_not_set_is_an_error_before_anything_is_sent() {
    let config = Config::parse(CONFIG).unwrap();
    for value in [None, Some("")] {
        let fake = replies(0);
        let builder = fake.builder().config(&config);
        let ai = match value {
            Some(value) => builder.env("LAB_TENANT", value),
            None => builder,
        };
        let error = ai.build().unwrap().chat(ask()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert_eq!(error.provider(), Some("lab"));
        assert!(error.message().contains("X-Lab-Tenant"), "{error}");
        assert!(error.hint().unwrap().contains("LAB_TENANT"), "{error:?}");
        assert!(fake.requests().is_empty());
    }
}

#[tokio::test]
async fn values_that_are_not_valid_in_a_header_are_refused_and_not_shown() {
    let config = Config::parse(CONFIG).unwrap();
    for end in ["\r\nx-injected: 1", "\n", "\u{0}", "\u{7f}"] {
        let fake = replies(0);
        let value = format!("{SECRET}{end}");
        let ai = fake.builder().config(&config).env("LAB_TENANT", value).build().unwrap();
        let error = ai.chat(ask()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{end:?}");
        assert!(!format!("{error} {error:?} {error:#?}").contains(SECRET), "{error:?}");
        assert!(fake.requests().is_empty());
    }
}

#[tokio::test]
async fn a_name_that_is_not_valid_in_a_header_is_refused() {
    let fake = replies(0);
    let lab = Provider::openai_compatible("lab", "https://lab.test/v1").env_header("a b\n", "${A}");
    let ai = fake.builder().provider(lab).env("A", SECRET).build().unwrap();
    let error = ai.chat(ask()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains("`a b\\n`"), "{error}");
}

#[tokio::test]
async fn values_are_not_expanded_again_and_headers_of_code_are_sent_as_they_are() {
    let fake = replies(1);
    let lab = Provider::openai_compatible("lab", "https://lab.test/v1")
        .env_header("x-outer", "${OUTER}")
        .header("x-plain", "${OUTER}");
    let builder = fake.builder().provider(lab).env("OUTER", "${INNER}").env("INNER", SECRET);
    builder.build().unwrap().chat(ask()).await.unwrap();
    let requests = fake.requests();
    assert_eq!(requests[0].headers()["x-outer"], "${INNER}");
    // Its value may come from a user, who must not be able to read variables with it.
    assert_eq!(requests[0].headers()["x-plain"], "${OUTER}");
}

#[tokio::test]
async fn a_request_cannot_replace_or_redirect_them() {
    let fake = replies(2);
    let config = Config::parse(CONFIG).unwrap();
    let ai = fake.builder().config(&config).env("LAB_TENANT", SECRET).build().unwrap();
    let response = ai.chat(ask().header("x-lab-tenant", "other")).await.unwrap();
    assert_eq!(fake.requests()[0].headers()["x-lab-tenant"], format!("id {SECRET}").as_str());
    assert!(response.warnings.iter().any(|warning| warning.message.contains("x-lab-tenant")));
    ai.chat(ask().base_url("lab", "https://proxy.test/v1")).await.unwrap();
    assert!(!fake.requests()[1].headers().contains_key("x-lab-tenant"));
}

#[test]
fn they_are_not_printed() {
    let fake = replies(0);
    let config = Config::parse(CONFIG).unwrap();
    let ai = fake.builder().config(&config).env("LAB_TENANT", SECRET).build().unwrap();
    let encoded = inspect::encode(&ai, &ask(), false).unwrap();
    assert_eq!(encoded.headers["x-lab-tenant"], "id ${LAB_TENANT}");
    let target = ai.resolve("lab/m").unwrap();
    for shown in [format!("{ai:?}"), format!("{target:?}"), format!("{config:?}")] {
        assert!(!shown.contains(SECRET), "{shown}");
    }
}
