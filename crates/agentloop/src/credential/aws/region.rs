//! The regions of Amazon Web Services.

use crate::error::{Error, ErrorKind, Result};
use crate::provider::region::AWS_DOMAINS;

/// Returns the domain of a region.
pub(super) fn domain(region: &str) -> &'static str {
    let found = AWS_DOMAINS.iter().find(|(start, _)| region.starts_with(start));
    found.map_or("amazonaws.com", |(_, domain)| domain)
}

/// Fails if a text cannot be a region.
pub(super) fn check_region(region: &str) -> Result<()> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if !region.is_empty() && region.chars().all(is_letter) {
        return Ok(());
    }
    let message = format!("`{}` is not a region of AWS", region.escape_debug());
    Err(Error::new(ErrorKind::Config, message)
        .with_hint("correct AWS_REGION, or `region` or `sso_region` in ~/.aws/config"))
}
