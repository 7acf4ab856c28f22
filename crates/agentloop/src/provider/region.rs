//! The regions of Amazon Web Services, in the names of its machines.

/// The domains of regions, by how their names begin. All others are in `amazonaws.com` (botocore 1.43, `data/partitions.json`).
pub(crate) const AWS_DOMAINS: [(&str, &str); 6] = [
    ("cn-", "amazonaws.com.cn"),
    ("eusc-", "amazonaws.eu"),
    ("us-iso-", "c2s.ic.gov"),
    ("us-isob-", "sc2s.sgov.gov"),
    ("eu-isoe-", "cloud.adc-e.uk"),
    ("us-isof-", "csp.hci.ic.gov"),
];

/// Returns the region in the name of one of Amazon's machines: `bedrock-runtime.eu-west-1.amazonaws.com`.
pub(crate) fn region_of_host(host: &str) -> Option<&str> {
    let domains = AWS_DOMAINS.iter().map(|(_, domain)| *domain).chain(["amazonaws.com", "api.aws"]);
    let mut names = domains.filter_map(|domain| host.strip_suffix(domain)?.strip_suffix('.'));
    let name = names.next()?;
    let region = name.rsplit('.').next()?;
    // `us-east-1`, `us-gov-west-1`: words, and a number at the end.
    let (words, number) = region.rsplit_once('-')?;
    let is_region = words.contains('-') && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_region && name.contains('.') && !number.is_empty()).then_some(region)
}

/// Returns the region that the calls to a base URL are made in, if the URL names it. Prices of models depend on it.
pub(crate) fn region_of_url(url: &str) -> Option<String> {
    let url: http::Uri = url.parse().ok()?;
    region_of_host(url.host()?).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_urls_of_amazon_name_a_region() {
        let region = |url| region_of_url(url);
        for (url, expected) in [
            ("https://bedrock-runtime.eu-west-2.amazonaws.com", Some("eu-west-2")),
            (
                "https://bedrock-runtime.us-gov-west-1.amazonaws.com/openai/v1",
                Some("us-gov-west-1"),
            ),
            ("https://bedrock-mantle.us-east-1.api.aws/openai/v1", Some("us-east-1")),
            ("https://proxy.example.com/bedrock", None),
            ("https://eu-west-2.amazonaws.com.example.com", None),
            ("http://127.0.0.1:8808", None),
            ("not a URL", None),
            ("", None),
        ] {
            assert_eq!(region(url).as_deref(), expected, "{url}");
        }
    }
}
