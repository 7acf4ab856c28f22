//! The regions of Amazon Web Services.

use crate::error::{Error, ErrorKind, Result};

/// The domains of regions, by how their names begin. All others are in `amazonaws.com` (botocore 1.43, `data/partitions.json`).
const DOMAINS: [(&str, &str); 6] = [
    ("cn-", "amazonaws.com.cn"),
    ("eusc-", "amazonaws.eu"),
    ("us-iso-", "c2s.ic.gov"),
    ("us-isob-", "sc2s.sgov.gov"),
    ("eu-isoe-", "cloud.adc-e.uk"),
    ("us-isof-", "csp.hci.ic.gov"),
];

/// Returns the domain of a region.
pub(super) fn domain(region: &str) -> &'static str {
    let found = DOMAINS.iter().find(|(start, _)| region.starts_with(start));
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

/// Returns the region in the name of one of Amazon's hosts: `bedrock-runtime.eu-west-1.amazonaws.com`.
pub(super) fn region_of_host(host: &str) -> Option<&str> {
    let domains = DOMAINS.iter().map(|(_, domain)| *domain).chain(["amazonaws.com", "api.aws"]);
    let mut names = domains.filter_map(|domain| host.strip_suffix(domain)?.strip_suffix('.'));
    let name = names.next()?;
    let region = name.rsplit('.').next()?;
    // `us-east-1`, `us-gov-west-1`: words, and a number at the end.
    let (words, number) = region.rsplit_once('-')?;
    let is_region = words.contains('-') && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_region && name.contains('.') && !number.is_empty()).then_some(region)
}
