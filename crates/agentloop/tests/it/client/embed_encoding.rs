//! The embeddings request that each provider gets.

use agentloop::{AgentLoop, Config, EmbedInputType, EmbedRequest, inspect};
use serde_json::{Value, json};

/// The URL, the body, and the warnings.
fn encoded(provider: &str, request: &EmbedRequest) -> (String, Value, Vec<String>) {
    let ai = AgentLoop::builder()
        .env("AZURE_RESOURCE_NAME", "r")
        .env("VERTEX_PROJECT", "p")
        .env("AWS_REGION", "us-east-1")
        .env("VERTEX_LOCATION", "l")
        .build()
        .unwrap();
    let mut request = request.clone();
    request.model = format!("{provider}/e");
    let mut encoded = inspect::encode_embed(&ai, &request).unwrap();
    assert_eq!(encoded.len(), 1);
    let encoded = encoded.remove(0);
    let subjects = encoded.warnings.into_iter().filter_map(|warning| warning.subject);
    let body = serde_json::from_str(encoded.body.get()).unwrap();
    (encoded.url, body, subjects.collect())
}

fn full() -> EmbedRequest {
    let mut request = EmbedRequest::new("e", ["a"]).dimensions(8).input_type(EmbedInputType::Query);
    request.user_id = Some("u".to_owned());
    request.extra_body.insert("truncate".to_owned(), json!("END"));
    request
}

#[test]
fn each_provider_gets_its_own_request_format() {
    let rows = [
        (
            "openai",
            "https://api.openai.com/v1/embeddings",
            json!({"model": "e", "dimensions": 8, "encoding_format": "base64", "user": "u",
                   "truncate": "END", "input": ["a"]}),
            vec!["input_type"],
        ),
        (
            "mistral",
            "https://api.mistral.ai/v1/embeddings",
            json!({"model": "e", "output_dimension": 8, "truncate": "END", "input": ["a"]}),
            vec!["input_type", "user"],
        ),
        (
            "together",
            "https://api.together.ai/v1/embeddings",
            json!({"model": "e", "truncate": "END", "input": ["a"]}),
            vec!["dimensions", "input_type", "user"],
        ),
        (
            "perplexity",
            "https://api.perplexity.ai/v1/embeddings",
            json!({"model": "e", "dimensions": 8, "encoding_format": "base64_int8",
                   "truncate": "END", "input": ["a"]}),
            vec!["input_type", "user"],
        ),
        (
            "cohere",
            "https://api.cohere.com/v2/embed",
            json!({"model": "e", "output_dimension": 8, "embedding_types": ["float"],
                   "input_type": "search_query", "truncate": "END", "texts": ["a"]}),
            vec!["user"],
        ),
        (
            "ollama",
            "http://localhost:11434/api/embed",
            json!({"model": "e", "dimensions": 8, "truncate": "END", "input": ["a"]}),
            vec!["input_type", "user"],
        ),
        (
            "azure",
            "https://r.openai.azure.com/openai/v1/embeddings",
            json!({"model": "e", "dimensions": 8, "encoding_format": "base64", "user": "u",
                   "truncate": "END", "input": ["a"]}),
            vec!["input_type"],
        ),
        (
            "fireworks",
            "https://api.fireworks.ai/inference/v1/embeddings",
            json!({"model": "e", "dimensions": 8, "user": "u", "truncate": "END", "input": ["a"]}),
            vec!["input_type"],
        ),
        (
            "google",
            "https://generativelanguage.googleapis.com/v1beta/models/e:embedContent",
            json!({"model": "models/e", "taskType": "RETRIEVAL_QUERY", "outputDimensionality": 8,
                   "truncate": "END", "content": {"parts": [{"text": "a"}]}}),
            vec!["user"],
        ),
        (
            "nvidia",
            "https://integrate.api.nvidia.com/v1/embeddings",
            json!({"model": "e", "dimensions": 8, "input_type": "query", "user": "u",
                   "truncate": "END", "input": ["a"]}),
            vec![],
        ),
        (
            "bedrock",
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/e/invoke",
            json!({"dimensions": 8, "truncate": "END", "inputText": "a"}),
            vec!["input_type", "user"],
        ),
    ];
    for (provider, path, body, warned) in rows {
        let (its_path, its_body, its_warned) = encoded(provider, &full());
        assert_eq!((its_path.as_str(), its_body), (path, body), "{provider}");
        assert_eq!(its_warned, warned, "{provider}");
    }
}

#[test]
fn the_models_of_bedrock_get_the_request_of_their_family() {
    let ai = AgentLoop::builder().env("AWS_REGION", "us-east-1").build().unwrap();
    let mut request = EmbedRequest::new("bedrock/us.cohere.embed-v4:0", ["a", "b"]).dimensions(256);
    request.extra_body.insert("texts".to_owned(), json!(["c"]));
    let encoded = inspect::encode_embed(&ai, &request).unwrap();
    let [one] = &encoded[..] else { panic!("{encoded:?}") };
    assert_eq!(
        one.url,
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.cohere.embed-v4%3A0/invoke"
    );
    let body: Value = serde_json::from_str(one.body.get()).unwrap();
    assert_eq!(
        body,
        json!({"input_type": "search_document", "embedding_types": ["float"],
               "output_dimension": 256, "texts": ["a", "b"]})
    );
    assert_eq!(one.warnings[0].subject.as_deref(), Some("extra_body.texts"));
    // Amazon's own models take one text at a time.
    request.model = "bedrock/amazon.titan-embed-text-v2:0".to_owned();
    request.extra_body =
        serde_json::from_value(json!({"normalize": false, "inputText": "x"})).unwrap();
    let encoded = inspect::encode_embed(&ai, &request).unwrap();
    let bodies: Vec<&str> = encoded.iter().map(|one| one.body.get()).collect();
    assert_eq!(
        bodies,
        [
            r#"{"dimensions":256,"normalize":false,"inputText":"a"}"#,
            r#"{"dimensions":256,"normalize":false,"inputText":"b"}"#
        ]
    );
    assert_eq!(encoded[0].warnings[0].subject.as_deref(), Some("extra_body.inputText"));
}

#[test]
fn the_purpose_of_the_vectors_is_sent_where_it_is_required() {
    let plain = EmbedRequest::new("e", ["a"]);
    assert_eq!(encoded("cohere", &plain).1["input_type"], "search_document");
    assert_eq!(encoded("nvidia", &plain).1["input_type"], "passage");
    assert_eq!(encoded("openai", &plain).1.get("input_type"), None);
    let alike = plain.input_type(EmbedInputType::Similarity);
    let (_, body, warned) = encoded("cohere", &alike);
    assert_eq!((&body["input_type"], warned), (&json!("clustering"), vec!["input_type".into()]));
}

#[test]
fn the_caller_s_own_fields_win_but_for_the_texts() {
    let mut request = EmbedRequest::new("e", ["a"]).dimensions(8);
    for (name, value) in
        [("dimensions", json!(9)), ("encoding_format", json!("float")), ("input", json!("x"))]
    {
        request.extra_body.insert(name.to_owned(), value);
    }
    let (_, body, warned) = encoded("openai", &request);
    let sent = json!({"model": "e", "dimensions": 9, "encoding_format": "float", "input": ["a"]});
    assert_eq!((body, warned), (sent, vec!["extra_body.input".to_owned()]));
}

#[test]
fn texts_are_split_by_the_limits_of_each_provider() {
    for (provider, most) in [
        ("openai", 2048),
        ("azure", 2048),
        ("mistral", 32),
        ("cohere", 96),
        ("google", 100),
        ("vertex", 1),
        ("perplexity", 512),
        ("fireworks", agentloop::limits::EMBED_BATCH),
    ] {
        let ai = AgentLoop::builder()
            .env("AZURE_RESOURCE_NAME", "r")
            .env("VERTEX_PROJECT", "p")
            .env("AWS_REGION", "us-east-1")
            .env("VERTEX_LOCATION", "l")
            .build()
            .unwrap();
        let request = EmbedRequest::new(format!("{provider}/e"), vec!["x"; 2 * most + 1]);
        assert_eq!(inspect::encode_embed(&ai, &request).unwrap().len(), 3, "{provider}");
    }
    // Three texts that together may be more tokens than one call takes.
    let ai = AgentLoop::builder().build().unwrap();
    let request = EmbedRequest::new("openai/e", vec!["x".repeat(150_000); 3]);
    assert_eq!(inspect::encode_embed(&ai, &request).unwrap().len(), 2);
}

#[test]
fn a_provider_of_one_s_own_may_have_any_form() {
    let config = r#"
        [providers.lab]
        base_url = "http://lab.test/x/v1"
        [providers.lab.quirks.embeddings]
        form = "texts_by_type"
        path = "../v2/embed"
        dimensions = "output_dimension"
        input_type = "search"
    "#;
    let ai = AgentLoop::builder().config(&Config::parse(config).unwrap()).build().unwrap();
    let request = EmbedRequest::new("lab/e", "a").dimensions(2);
    let encoded = inspect::encode_embed(&ai, &request).unwrap();
    assert_eq!(encoded[0].url, "http://lab.test/x/v2/embed");
    let body: Value = serde_json::from_str(encoded[0].body.get()).unwrap();
    assert_eq!(
        body,
        json!({"model": "e", "output_dimension": 2, "embedding_types": ["float"],
               "input_type": "search_document", "texts": ["a"]})
    );
}
