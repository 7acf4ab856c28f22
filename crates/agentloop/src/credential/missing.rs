//! Credentials that are not compiled in.

use bytes::Bytes;
use http::Request;

use super::{Credential, Environment};
use crate::error::{Error, ErrorKind, Result};
use crate::provider::transport::BoxFuture;

/// A credential whose feature is off.
#[derive(Debug)]
pub(super) struct Missing {
    owner: &'static str,
    feature: &'static str,
}

#[cfg(not(feature = "bedrock"))]
pub(super) const AWS: Missing = Missing { owner: "Amazon Web Services", feature: "bedrock" };
#[cfg(not(feature = "google-cloud"))]
pub(super) const GOOGLE: Missing = Missing { owner: "Google Cloud", feature: "google-cloud" };
#[cfg(not(feature = "entra"))]
pub(super) const ENTRA: Missing = Missing { owner: "Microsoft Entra ID", feature: "entra" };

impl Missing {
    fn error(&self) -> Error {
        let Self { owner, feature } = self;
        let message = format!("no key is set, and the credentials of {owner} are not compiled in");
        Error::new(ErrorKind::MissingKey, message)
            .with_hint(format!("set a key, or enable the feature `{feature}` of agentloop"))
    }
}

impl Credential for Missing {
    fn authorize<'a>(
        &'a self,
        _: &'a mut Request<Bytes>,
        _: Environment<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Err(self.error()) })
    }

    fn check(&self, _: Environment<'_>) -> Result<()> {
        Err(self.error())
    }
}
