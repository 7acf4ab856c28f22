//! Tests with a real PostgreSQL.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agentloop::{ErrorKind, Secret};

use super::migrate::MIGRATIONS;
use super::url::Target;
use super::*;
use crate::servers::patience::{PATIENCE, until};
use crate::servers::port::Port;
use crate::servers::postgres::PostgresServer;
use crate::servers::proxy::{Mode, Proxy};
use crate::store::conformance::{self, key, row};

/// A time that is short enough for a test that waits for it. On a busy machine even a quick operation can take longer.
const SHORT: Duration = Duration::from_millis(700);

fn open(url: &Secret) -> PostgresStore {
    PostgresStore::within(Target::parse(url).unwrap(), PATIENCE, PATIENCE)
}

/// Returns a server, the URL of a new database and its store, if PostgreSQL is installed.
fn open_new() -> Option<(&'static PostgresServer, Secret, PostgresStore)> {
    let server = PostgresServer::shared()?;
    let url = server.database();
    let store = open(&url);
    Some((server, url, store))
}

/// Returns a proxy to a server, and the URL of a new database through it.
fn behind_proxy() -> Option<(Proxy, Secret)> {
    let server = PostgresServer::shared()?;
    let proxy = Proxy::start(server.socket());
    let url = PostgresServer::url_at(proxy.folder(), database_of(&server.database()));
    Some((proxy, url))
}

fn database_of(url: &Secret) -> &str {
    url.expose().rsplit('/').next().unwrap()
}

/// A store without anything of the stores before. It takes less time than a new database.
fn open_empty(server: &PostgresServer, url: &Secret) -> PostgresStore {
    let database = database_of(url);
    server.sql(database, "DROP SCHEMA IF EXISTS agentloop CASCADE");
    open(url)
}

/// Adds a row. A busy machine may need several attempts in a short time.
async fn append(store: &PostgresStore, id: &str, time_ms: i64) {
    until("the row is added", async || {
        let added = store.append(vec![row(id, time_ms)].into()).await;
        added.inspect_err(|error| println!("{error:?}")).is_ok()
    })
    .await;
}

/// A store whose operations may take a short time only.
fn open_impatient(url: &Secret) -> PostgresStore {
    PostgresStore::within(Target::parse(url).unwrap(), SHORT, SHORT)
}

async fn ids(store: &PostgresStore) -> Vec<String> {
    let rows = store.rows(&RowFilter::default(), None).await.unwrap();
    rows.into_iter().map(|row| row.id).collect()
}

#[tokio::test]
async fn postgres_keeps_all_laws() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database();
    conformance::keeps_all_laws(async || open_empty(server, &url)).await;
}

#[test]
fn postgres_agrees_with_memory() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database();
    conformance::agrees_with_memory(16, async || open_empty(server, &url));
}

#[tokio::test]
async fn eight_clients_migrate_an_empty_database_at_once() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database();
    let stores: Vec<PostgresStore> = (0..8).map(|_| open(&url)).collect();
    let versions = futures(stores.iter().map(Store::keys_version)).await;
    assert!(versions.into_iter().all(|version| version.unwrap() == 0));
    let database = database_of(&url);
    let versions = server.sql(database, "SELECT count(*) FROM agentloop.versions");
    assert_eq!(versions, MIGRATIONS.len().to_string());
}

#[tokio::test]
async fn every_earlier_version_is_brought_up_to_date() {
    let Some(server) = PostgresServer::shared() else { return };
    for version in 0..MIGRATIONS.len() {
        let url = server.database();
        let database = database_of(&url).to_owned();
        if version > 0 {
            server.sql(&database, "CREATE SCHEMA agentloop");
            let table = "CREATE TABLE agentloop.versions (version integer PRIMARY KEY, \
                         since timestamptz NOT NULL DEFAULT now())";
            server.sql(&database, table);
        }
        for (number, migration) in (1..).zip(&MIGRATIONS[..version]) {
            server.sql(&database, migration);
            let note = format!("INSERT INTO agentloop.versions (version) VALUES ({number})");
            server.sql(&database, &note);
        }
        let store = open(&url);
        store.append(vec![row("a", 1)].into()).await.unwrap();
        assert_eq!(ids(&store).await, ["a"], "from version {version}");
    }
}

#[tokio::test]
async fn a_newer_database_and_one_that_cannot_store_every_text_are_refused() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database();
    open(&url).keys_version().await.unwrap();
    let database = database_of(&url);
    server.sql(database, "INSERT INTO agentloop.versions (version) VALUES (99)");
    let error = open(&url).append(vec![row("a", 1)].into()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("version 99") && error.hint().is_some(), "{error:?}");

    server.sql("postgres", "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
    let error = open(&server.url("latin")).keys_version().await.unwrap_err();
    assert!(error.to_string().contains("LATIN1") && error.hint().is_some(), "{error:?}");
}

#[tokio::test]
async fn a_user_without_rights_and_a_database_that_is_not_there_are_no_wrong_keys() {
    let Some(server) = PostgresServer::shared() else { return };
    let error = open(&server.url("missing")).keys_version().await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Config, Some("3D000")), "{error:?}");

    let url = server.database();
    server.sql("postgres", "CREATE ROLE visitor LOGIN");
    let visitor = Secret::new(url.expose().replace("agentloop@", "visitor:hunter2@"));
    let error = open(&visitor).keys_version().await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Config, Some("42501")), "{error:?}");
    assert!(!format!("{error:?} {error:#?}").contains("hunter2"));
    // A schema that belongs to the user is enough.
    let database = database_of(&url);
    server.sql(database, "CREATE SCHEMA agentloop AUTHORIZATION visitor");
    assert_eq!(open(&visitor).keys_version().await.unwrap(), 0);
}

#[tokio::test]
async fn concurrent_appends_store_each_row_once() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database();
    let stores: Vec<Arc<PostgresStore>> = (0..8).map(|_| Arc::new(open(&url))).collect();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..64_usize {
        let store = Arc::clone(&stores[number % stores.len()]);
        let mut rows: Vec<LedgerRow> = (0..100).map(|id| row(&format!("{id:03}"), 1)).collect();
        rows.rotate_left(number);
        if number % 2 == 0 {
            rows.reverse();
        }
        tasks.spawn(async move { store.append(rows.into()).await });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap().unwrap();
    }
    let sum = stores[0].usage(&UsageQuery::new(None, RowFilter::default())).await.unwrap();
    assert_eq!(sum[0].calls, 100);
    assert_eq!(sum[0].usd.picos(), 100 * 1_500_000_000);
}

#[tokio::test]
async fn changes_of_keys_by_several_clients_wait_for_each_other() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database();
    let stores: Vec<PostgresStore> = (0..8).map(|_| open(&url)).collect();
    let created = futures(stores.iter().map(|store| store.create_key(key("ci", 1)))).await;
    assert_eq!(created.iter().filter(|created| created.is_ok()).count(), 1);
    let revoked = futures(stores.iter().map(|store| store.revoke_key("ci", 5))).await;
    assert_eq!(revoked.into_iter().filter(|revoked| *revoked.as_ref().unwrap()).count(), 1);
    assert_eq!(stores[3].keys_version().await.unwrap(), 2);
}

#[tokio::test]
async fn commits_are_on_disk_although_the_server_would_not_wait() {
    let Some((_, _, store)) = open_new() else { return };
    let shown = async |session: &mut pool::Session| {
        let row = session.client.query_one("SHOW synchronous_commit", &[]).await?;
        Ok(Ok(row.try_get::<_, String>(0)?))
    };
    assert_eq!(store.writes.run("look", shown).await.unwrap(), "on");
}

#[tokio::test]
async fn a_killed_connection_is_reported_and_the_next_operation_connects() {
    let Some((_, _, store)) = open_new() else { return };
    store.append(vec![row("a", 1)].into()).await.unwrap();
    let killed = async |session: &mut pool::Session| {
        session.client.execute("SELECT pg_terminate_backend(pg_backend_pid())", &[]).await?;
        Ok(Ok(()))
    };
    let error = store.writes.run("end itself", killed).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "{error:?}");
    store.append(vec![row("b", 2)].into()).await.unwrap();
    assert_eq!(ids(&store).await, ["a", "b"]);
}

#[tokio::test]
async fn a_server_that_stops_and_starts_again_loses_nothing() {
    let Some(mut server) = PostgresServer::start(&[]) else { return };
    let url = server.database();
    let store = open(&url);
    store.append(vec![row("a", 1)].into()).await.unwrap();
    server.stop();
    for _ in 0..3 {
        let error = store.append(vec![row("b", 2)].into()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Connection, "{error:?}");
        assert!(error.is_retryable() && error.hint().is_some(), "{error:?}");
    }
    server.resume();
    store.append(vec![row("a", 1), row("b", 2)].into()).await.unwrap();
    assert_eq!(ids(&store).await, ["a", "b"]);
}

#[tokio::test]
async fn a_connection_that_the_server_closed_while_it_was_idle_is_not_used() {
    let Some((server, url, store)) = open_new() else { return };
    store.append(vec![row("a", 1)].into()).await.unwrap();
    // Other tests use the same server: only the connections to this database.
    let database = database_of(&url);
    let ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname";
    server.sql("postgres", &format!("{ended} = '{database}'"));
    // The task of the connection has to notice it.
    until("the connection is known to be closed", async || !store.writes.has_idle()).await;
    store.append(vec![row("b", 2)].into()).await.unwrap();
}

#[tokio::test]
async fn a_server_that_hangs_is_an_error_in_time() {
    let Some((proxy, url)) = behind_proxy() else { return };
    open(&url).append(vec![row("a", 1)].into()).await.unwrap();
    let store = open_impatient(&url);
    append(&store, "b", 2).await;
    proxy.set(Mode::Hang);
    let began = Instant::now();
    // On a connection that is open, and on a new one; those that wait for a connection have the same deadline. One after the other they
    // would take twice as long as is checked below.
    let count = 2 * PATIENCE.as_millis() / SHORT.as_millis();
    let appends = (0..count).map(|_| store.append(vec![row("c", 3)].into()));
    for result in futures(appends).await {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Timeout);
    }
    let error = store.keys_version().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error:?}");
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    proxy.set(Mode::Open);
    append(&store, "d", 4).await;
    let stored = ids(&open(&url)).await;
    // What was sent before the deadline may have been stored.
    assert!(stored.starts_with(&["a".to_owned(), "b".to_owned()]), "{stored:?}");
    assert_eq!(stored.last().map(String::as_str), Some("d"));
}

#[tokio::test]
async fn a_slow_server_is_waited_for() {
    let Some((proxy, url)) = behind_proxy() else { return };
    let store = open(&url);
    store.append(vec![row("a", 1)].into()).await.unwrap();
    proxy.set(Mode::Slow(Duration::from_millis(50)));
    store.append(vec![row("b", 2)].into()).await.unwrap();
    proxy.set(Mode::Cut);
    let error = store.append(vec![row("c", 3)].into()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "{error:?}");
    proxy.set(Mode::Open);
    store.append(vec![row("d", 4)].into()).await.unwrap();
    assert_eq!(ids(&store).await, ["a", "b", "d"]);
}

#[tokio::test]
async fn an_operation_that_is_dropped_leaves_a_clean_connection() {
    let Some((server, url, store)) = open_new() else { return };
    store.append(vec![row("a", 1)].into()).await.unwrap();
    let sleep = async |session: &mut pool::Session| {
        session.client.execute("SELECT pg_sleep(60)", &[]).await?;
        Ok(Ok(()))
    };
    let sleeping = format!(
        "SELECT count(*) FROM pg_stat_activity \
         WHERE datname = '{}' AND state = 'active' AND query = 'SELECT pg_sleep(60)'",
        database_of(&url)
    );
    tokio::select! {
        ended = store.writes.run("sleep", sleep) => panic!("it ended: {ended:?}"),
        () = until("it sleeps", async || server.sql("postgres", &sleeping) == "1") => {}
    }
    store.append(vec![row("b", 2)].into()).await.unwrap();
    assert_eq!(ids(&store).await, ["a", "b"]);
}

#[tokio::test]
async fn the_certificate_is_checked_if_the_url_requires_it() {
    let Some(mut server) = PostgresServer::start(&["ssl=off"]) else { return };
    let url = server.database();
    let database = database_of(&url).to_owned();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (cert, key) = (server.folder().join("cert.pem"), server.folder().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    server.own(&key);
    server.stop();
    let reserved = Port::reserve();
    let port = reserved.number();
    server.set(&[
        "ssl=on",
        &format!("ssl_cert_file={}", cert.display()),
        &format!("ssl_key_file={}", key.display()),
        "listen_addresses=127.0.0.1",
        &format!("port={port}"),
    ]);
    server.resume();
    let open = |host: &str, options: &str| {
        let url = format!("postgres://agentloop@{host}:{port}/{database}?{options}");
        open(&Secret::new(url))
    };
    let uses_tls = async |store: PostgresStore| {
        let look = async |session: &mut pool::Session| {
            let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
            Ok(Ok(session.client.query_one(sql, &[]).await?.try_get::<_, bool>(0)?))
        };
        store.keys.run("look", look).await
    };
    assert!(!uses_tls(open("127.0.0.1", "sslmode=disable")).await.unwrap());
    assert!(uses_tls(open("127.0.0.1", "sslmode=prefer")).await.unwrap());
    let error = uses_tls(open("127.0.0.1", "sslmode=require")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tls, "{error:?}");
    let roots = format!("sslmode=verify-full&sslrootcert={}", cert.display());
    assert!(uses_tls(open("localhost", &roots)).await.unwrap());
    let error = uses_tls(open("127.0.0.1", &roots)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tls, "the name is another one: {error:?}");
}

#[tokio::test]
async fn a_wrong_password_is_not_shown() {
    let Some(mut server) = PostgresServer::start(&[]) else { return };
    server.sql("postgres", "CREATE ROLE secretive LOGIN PASSWORD 'right'");
    let rules = server.folder().join("data/pg_hba.conf");
    std::fs::write(&rules, "local all secretive scram-sha-256\nlocal all all trust\n").unwrap();
    server.stop();
    server.resume();
    let url = |password: &str| {
        let url = server.url("postgres");
        Secret::new(url.expose().replace("agentloop@", &format!("secretive:{password}@")))
    };
    let error = open(&url("hunter2")).keys_version().await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Config, Some("28P01")), "{error:?}");
    assert!(!format!("{error:?} {error:#?}").contains("hunter2"), "{error:?}");
    let error = open(&url("right")).keys_version().await.unwrap_err();
    assert_eq!(error.code(), Some("42501"), "it is let in: {error:?}");
    assert!(!format!("{:?}", open(&url("hunter2"))).contains("hunter2"));
}

/// Waits for all of them at the same time.
async fn futures<F: Future>(all: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = all.into_iter().map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        let mut is_ready = true;
        for (future, output) in &mut all {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(done) => *output = Some(done),
                    std::task::Poll::Pending => is_ready = false,
                }
            }
        }
        if is_ready { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    all.into_iter().filter_map(|(_, output)| output).collect()
}
