//! The tables, and how they came to be what they are.
//!
//! A migration is never changed after a release: a new one is added at the end. It must end within the deadline of an operation, so
//! a table with many rows is not written again.

use agentloop::{Error, ErrorKind};

use super::error::Failure;
use super::pool::Session;

/// The migrations. The n-th makes version n of n - 1.
pub(super) const MIGRATIONS: [&str; 2] =
    [include_str!("migrations/0001.sql"), include_str!("migrations/0002.sql")];

/// The advisory lock that one client at a time migrates under: `agentlop` in ASCII.
const LOCK: i64 = 0x6167_656e_746c_6f70;

/// Checks the version of the database, and brings it up to date.
pub(super) async fn check(session: &mut Session) -> Result<(), Failure> {
    if !is_current(&session.client, MIGRATIONS.len()).await? {
        migrate_to(session, MIGRATIONS.len()).await?;
    }
    Ok(())
}

/// Brings an older or empty database to a version.
pub(super) async fn migrate_to(session: &mut Session, latest: usize) -> Result<(), Failure> {
    let transaction = session.client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    // A user without the right to create schemas can use one that is there.
    let schema = "SELECT to_regnamespace('agentloop') IS NOT NULL";
    if !transaction.query_one(schema, &[]).await?.try_get::<_, bool>(0)? {
        transaction.batch_execute("CREATE SCHEMA agentloop").await?;
    }
    let versions = "CREATE TABLE IF NOT EXISTS agentloop.versions (\
                    version integer PRIMARY KEY, since timestamptz NOT NULL DEFAULT now())";
    transaction.batch_execute(versions).await?;
    // Another client may have been first.
    let present = transaction.query_one(VERSION, &[]).await?.try_get::<_, i32>(0)?;
    for (number, migration) in (1_i32..).zip(MIGRATIONS).take(latest) {
        if number > present {
            transaction.batch_execute(migration).await?;
            let note = "INSERT INTO agentloop.versions (version) VALUES ($1)";
            transaction.execute(note, &[&number]).await?;
        }
    }
    transaction.commit().await?;
    Ok(())
}

const VERSION: &str = "SELECT coalesce(max(version), 0) FROM agentloop.versions";

/// Returns whether the tables have the latest version. Fails for a newer one, and for a database that cannot store every text.
async fn is_current(client: &tokio_postgres::Client, latest: usize) -> Result<bool, Failure> {
    let about = "SELECT current_setting('server_encoding'), \
                 to_regclass('agentloop.versions') IS NOT NULL";
    let about = client.query_one(about, &[]).await?;
    let encoding: String = about.try_get(0)?;
    if encoding != "UTF8" {
        let message = format!("the encoding of the PostgreSQL database is {encoding}");
        let hint = "create it with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0";
        return Err(Error::new(ErrorKind::Config, message).with_hint(hint).into());
    }
    if !about.try_get::<_, bool>(1)? {
        return Ok(false);
    }
    let version = client.query_one(VERSION, &[]).await?.try_get::<_, i32>(0)?;
    let version = usize::try_from(version).unwrap_or_default();
    if version > latest {
        let message = format!(
            "the PostgreSQL database has version {version} of the tables, and this program knows {latest}"
        );
        let hint = "update this program: a newer one has changed the database";
        return Err(Error::new(ErrorKind::Config, message).with_hint(hint).into());
    }
    Ok(version == latest)
}
