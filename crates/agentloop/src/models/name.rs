//! The names under which a model is looked for.

use super::Date;

/// The geographies of inference profiles: how their names begin, before the name of the model. litellm 1.108.4,
/// `get_bedrock_cross_region_inference_regions`, and `in` of its list of models.
pub(super) const GEOGRAPHIES: [&str; 8] =
    ["global", "us", "us-gov", "eu", "apac", "jp", "au", "in"];

/// A name to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form<'a> {
    pub(super) model: &'a str,
    /// Where the name states that the model is served: the geography of a profile, or a region.
    pub(super) place: Option<&'a str>,
    /// Whether the prices of the result apply to the name that was looked up.
    pub(super) same_price: bool,
}

/// What a provider adds to the names of its models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Additions {
    /// A variant behind a colon.
    pub(super) variants: bool,
    /// A geography before the name, or the resource name (ARN) around it.
    pub(super) profiles: bool,
}

/// Returns the name itself, then the name without what providers are documented to add to it: the geography of an inference profile, the
/// day of a snapshot and, where models have variants, a variant.
pub(super) fn forms<'a>(model: &'a str, adds: Additions) -> impl Iterator<Item = Form<'a>> {
    let plain = Form { model, place: None, same_price: true };
    let dateless = |form: Form<'a>| without_day(form.model).map(|model| Form { model, ..form });
    let [resource, profile] = if adds.profiles { profile_forms(model) } else { [None, None] };
    let variant = adds.variants.then(|| model.rsplit_once(':')).flatten().map(|(model, _)| Form {
        model,
        same_price: false,
        ..plain
    });
    let forms =
        [Some(plain), resource, profile, dateless(plain), variant, variant.and_then(dateless)];
    forms.into_iter().flatten()
}

/// Returns whether the name may be that of an inference profile or of a resource.
pub(super) fn may_be_profile(model: &str) -> bool {
    profile_forms(model).iter().any(Option::is_some)
}

/// Returns the name inside a resource name, and the name without its geography.
fn profile_forms(model: &str) -> [Option<Form<'_>>; 2] {
    let resource = resource(model);
    let id = resource.map_or(model, |form| form.model);
    let profile = id.split_once('.').and_then(|(geography, model)| {
        let place = GEOGRAPHIES.iter().find(|known| geography.eq_ignore_ascii_case(known))?;
        Some(Form { model, place: Some(place), same_price: true })
    });
    [resource, profile]
}

/// Reads `arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0`. Of the resources that a model can be called by, only a
/// foundation model and a profile that Amazon defines have the name of a model (botocore 1.44.3: the pattern of `ConversationalModelId`).
/// What an application's own profile, a provisioned, a custom or an imported model costs is not known.
fn resource(model: &str) -> Option<Form<'_>> {
    let mut words = model.strip_prefix("arn:")?.splitn(5, ':');
    let (_partition, _service, region) = (words.next()?, words.next()?, words.next()?);
    let (_account, resource) = (words.next()?, words.next()?);
    let (kind, model) = resource.split_once('/')?;
    let place = match kind {
        "foundation-model" if !region.is_empty() => Some(region),
        "inference-profile" => None,
        _ => return None,
    };
    (!model.is_empty()).then_some(Form { model, place, same_price: true })
}

/// Returns the name without `-2025-08-07`, `-20250807` or `@20250807` at the end.
fn without_day(model: &str) -> Option<&str> {
    let cut = |length: usize| {
        let at = model.len().checked_sub(length)?;
        Some((model.get(..at)?, model.get(at..)?)).filter(|(before, _)| !before.is_empty())
    };
    let is_written_out =
        |day: &str| day.strip_prefix('-').is_some_and(|day| day.parse::<Date>().is_ok());
    if let Some((before, _)) = cut(11).filter(|(_, day)| is_written_out(day)) {
        return Some(before);
    }
    let (before, day) = cut(9)?;
    let day = day.strip_prefix(['-', '@'])?;
    let digits = day.bytes().all(|byte| byte.is_ascii_digit());
    let is_day = digits
        && day.starts_with("20")
        && Date::new(
            day.get(..4)?.parse().ok()?,
            day.get(4..6)?.parse().ok()?,
            day.get(6..)?.parse().ok()?,
        )
        .is_some();
    is_day.then_some(before)
}
