//! The names under which a model is looked for.

use super::Date;

/// A name to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form<'a> {
    pub(super) model: &'a str,
    /// Whether the prices of the result apply to the name that was looked up.
    pub(super) same_price: bool,
}

/// Returns the name itself, then the name without what providers are documented to add to it: the day of a snapshot and, where
/// models have variants, a variant.
pub(super) fn forms<'a>(model: &'a str, has_variants: bool) -> impl Iterator<Item = Form<'a>> {
    let plain = Form { model, same_price: true };
    let dateless = |form: Form<'a>| without_day(form.model).map(|model| Form { model, ..form });
    let variant = has_variants
        .then(|| model.rsplit_once(':'))
        .flatten()
        .map(|(model, _)| Form { model, same_price: false });
    [Some(plain), dateless(plain), variant, variant.and_then(dateless)].into_iter().flatten()
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
