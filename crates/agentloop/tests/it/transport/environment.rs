//! Settings of the environment. Each test runs itself again in a process that has the variables set: a process
//! cannot safely change its own.

use std::env;
use std::process::Stdio;

use agentloop::transport::HttpTransport;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::transport::support::tls::Trust;
use crate::transport::support::*;

/// Names the URL that the restarted process requests.
const ASK: &str = "AGENTLOOP_TEST_ASK";

/// Set if the request must fail.
const FAILS: &str = "AGENTLOOP_TEST_FAILS";

/// The output of the process for the expected response.
const SAID: &str = "as the environment said";

/// Runs `child` in a process with these variables.
async fn in_environment(url: &str, variables: &[(&str, &str)]) {
    let program = env::current_exe().unwrap();
    let mut command = std::process::Command::new(program);
    command.args(["transport::environment::child", "--exact", "--ignored"]).env(ASK, url);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD"] {
        command.env_remove(name).env_remove(name.to_ascii_lowercase());
    }
    command.envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[tokio::test]
#[ignore = "the other tests run it, with an environment"]
async fn child() {
    let Ok(url) = env::var(ASK) else { return };
    if env::var("HTTP_PROXY").is_ok_and(|proxy| proxy.starts_with("nonsense")) {
        let error = text(&HttpTransport::new(), get(url)).await.unwrap_err();
        assert_eq!(error.kind(), agentloop::ErrorKind::Config);
        assert!(error.message().contains("HTTP_PROXY"), "{error}");
        assert!(!format!("{error:?}").contains("hush"), "{error:?}");
        return;
    }
    if env::var(FAILS).is_ok() {
        let error = text(&HttpTransport::new(), get(url)).await.unwrap_err();
        assert_eq!(error.kind(), agentloop::ErrorKind::Tls, "{error}");
        assert!(error.hint().unwrap().contains("AGENTLOOP_NATIVE_ROOTS=1"));
        return;
    }
    assert_eq!(text(&HttpTransport::new(), get(url)).await.unwrap(), SAID);
}

#[tokio::test]
async fn the_certificate_file_and_the_proxy_of_the_environment_are_used() {
    let trust = Trust::new(&["http/1.1"]);
    let file = env::temp_dir().join(format!("agentloop-test-{}.pem", std::process::id()));
    std::fs::write(&file, &trust.authority_pem).unwrap();
    let (target, target_url) = listen().await;
    let (proxy_url, proxy) = serve(async move |mut inside| {
        let (head, _) = read_request(&mut inside).await.unwrap();
        let address = target_url.strip_prefix("http://").unwrap();
        let mut outside = TcpStream::connect(address).await.unwrap();
        inside.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
        head
    });
    let server = tokio::spawn(async move {
        let mut stream = trust.accept(accept(&target).await).await.unwrap();
        respond(&mut stream, SAID).await;
    });
    let variables = [("SSL_CERT_FILE", file.to_str().unwrap()), ("HTTPS_PROXY", &proxy_url)];
    in_environment("https://secure.test:8443/", &variables).await;
    server.await.unwrap();
    assert!(proxy.await.unwrap().starts_with("connect secure.test:8443 http/1.1\r\n"));
    std::fs::remove_file(file).unwrap();
}

/// Whether a server of an authority in `SSL_CERT_DIR`, which is where the operating system looks, is trusted.
async fn is_trusted_with(variables: &[(&str, &str)]) -> bool {
    let trust = Trust::new(&["http/1.1"]);
    let folder = env::temp_dir().join(format!("agentloop-roots-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("authority.pem"), &trust.authority_pem).unwrap();
    std::fs::write(folder.join("broken.pem"), "-----BEGIN CERTIFICATE-----\nAAAA").unwrap();
    let (listener, url) = listen_tls().await;
    let server = tokio::spawn(async move {
        let Ok(mut stream) = trust.accept(accept(&listener).await).await else { return false };
        respond(&mut stream, SAID).await;
        true
    });
    let mut all = vec![("SSL_CERT_DIR", folder.to_str().unwrap())];
    all.extend_from_slice(variables);
    in_environment(&url, &all).await;
    std::fs::remove_dir_all(&folder).unwrap();
    server.await.unwrap()
}

#[tokio::test]
async fn the_certificates_of_the_operating_system_are_trusted_on_request() {
    assert!(is_trusted_with(&[("AGENTLOOP_NATIVE_ROOTS", "1")]).await);
    assert!(!is_trusted_with(&[("AGENTLOOP_NATIVE_ROOTS", "0"), (FAILS, "tls")]).await);
}

#[tokio::test]
async fn hosts_in_no_proxy_are_reached_without_it() {
    let (listener, _) = listen().await;
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        respond(&mut stream, SAID).await;
    });
    // Nothing listens at the proxy's port. 0.0.0.0 leads to this machine, but is not known to.
    let variables = [("ALL_PROXY", "http://127.0.0.1:1"), ("NO_PROXY", "10.0.0.0/8,0.0.0.0")];
    in_environment(&format!("http://0.0.0.0:{port}/"), &variables).await;
    server.await.unwrap();
}

#[tokio::test]
async fn an_invalid_proxy_is_an_error_and_the_host_is_not_reached() {
    let (listener, _) = listen().await;
    let port = listener.local_addr().unwrap().port();
    let variables = [("HTTP_PROXY", "nonsense://me:hush@proxy:1")];
    in_environment(&format!("http://0.0.0.0:{port}/"), &variables).await;
    assert!(!is_reached(listener), "the host was reached");
}
