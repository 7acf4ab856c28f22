//! Assertions that a service account signs: JSON Web Tokens with RS256.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::json;

use super::file::ServiceAccount;
use crate::calendar::seconds_since_1970;
use crate::error::{Error, ErrorKind, Result};
use crate::secret::Secret;

/// How long an assertion is valid; Google accepts no more than an hour.
const LIFETIME: Duration = Duration::from_secs(3600);

/// How far in the past an assertion begins, because one of the future is refused and clocks differ.
const EARLIER: Duration = Duration::from_secs(60);

/// Signs an assertion that asks for a token.
///
/// Its audience is the service that it is sent to, so a service that a file names cannot exchange it at another one.
///
/// # Errors
///
/// When the key cannot be read. The error shows nothing of it.
pub(super) fn sign(account: &ServiceAccount, scope: &str, now: SystemTime) -> Result<Secret> {
    let pair = read_key(account.key.expose()).ok_or_else(|| {
        let message = format!("the private key of {} cannot be read", account.email.escape_debug());
        Error::new(ErrorKind::MissingKey, message)
            .with_hint("create a new key for the service account in Google's console")
    })?;
    let begins = seconds_since_1970(now).saturating_sub(EARLIER.as_secs());
    let mut header = json!({ "alg": "RS256", "typ": "JWT" });
    if let Some(id) = &account.key_id {
        header["kid"] = json!(id);
    }
    let claims = json!({
        "iss": account.email,
        "scope": scope,
        "aud": account.token_url,
        "iat": begins,
        "exp": begins.saturating_add(LIFETIME.as_secs()),
    });
    let encode = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let mut token = format!("{}.{}", encode(&header), encode(&claims));
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), token.as_bytes(), &mut signature)
        .map_err(|_| Error::new(ErrorKind::Auth, "signing the assertion failed"))?;
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(&signature, &mut token);
    Ok(Secret::new(token))
}

/// Reads a key in PEM: PKCS #8, which Google issues, or PKCS #1.
fn read_key(pem: &str) -> Option<RsaKeyPair> {
    let body = |name: &str| {
        let (_, rest) = pem.split_once(&format!("-----BEGIN {name}-----"))?;
        let (body, _) = rest.split_once(&format!("-----END {name}-----"))?;
        let body: String = body.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        STANDARD.decode(body).ok()
    };
    match body("PRIVATE KEY") {
        Some(der) => RsaKeyPair::from_pkcs8(&der).ok(),
        None => RsaKeyPair::from_der(&body("RSA PRIVATE KEY")?).ok(),
    }
}
