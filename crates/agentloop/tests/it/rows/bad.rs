//! Bad input and bad servers: a clear error each, and never a panic.

use agentloop::{AgentLoop, ChatRequest, EmbedRequest, ErrorKind, Provider};
use agentloop_sim::Server;

use crate::support::port::Port;

fn client(url: String) -> AgentLoop {
    let lab = Provider::openai_compatible("lab", url).key("sk-secret-of-this-test");
    AgentLoop::builder().provider(lab).build().unwrap()
}

fn ask(model: &str) -> ChatRequest {
    ChatRequest::new(format!("lab/{model}")).user("Hello")
}

#[tokio::test]
async fn a_body_of_two_hundred_megabytes_is_refused_and_not_held() {
    let server = Server::start("127.0.0.1:0").await.unwrap();
    let ai = client(server.url());
    for error in [
        ai.chat(ask("echo!body=200000000")).await.unwrap_err(),
        ai.stream(ask("echo!body=200000000")).await.unwrap_err(),
        ai.embed(EmbedRequest::new("lab/vectors!body=200000000", "x")).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error:?}");
        assert!(!error.is_retryable());
        assert_eq!(error.provider(), Some("lab"));
    }
    server.shutdown().await;
}

#[tokio::test]
async fn a_refused_connection_names_the_host_and_has_a_hint() {
    let port = Port::reserve();
    let address = port.address();
    let error = client(format!("http://{address}/v1")).chat(ask("echo")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.to_string().contains(&address.to_string()), "{error}");
    assert!(error.hint().is_some() && error.is_retryable());
    assert!(!format!("{error:?}").contains("secret"));
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_a_tls_error() {
    let server = Server::start("127.0.0.1:0").await.unwrap();
    let url = server.url().replace("http://", "https://");
    let error = client(url).chat(ask("echo")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tls, "{error:?}");
    assert!(error.hint().is_some_and(|hint| hint.contains("http")), "{error:?}");
    assert!(!format!("{error:?}").contains("secret"));
}
