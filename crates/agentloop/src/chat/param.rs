//! The parameters of a chat request by name: what is set, cleared, bounded or read from JSON.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ChatRequest;

/// A field of a request that may be unset.
trait Field {
    fn is_set(&self) -> bool;
}

impl<T> Field for Option<T> {
    fn is_set(&self) -> bool {
        self.is_some()
    }
}

impl<T> Field for Vec<T> {
    fn is_set(&self) -> bool {
        !self.is_empty()
    }
}

/// Some of the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ParamSet(u32);

impl ParamSet {
    #[inline]
    pub(crate) fn contains(self, param: Param) -> bool {
        self.0 & (1 << param as u32) != 0
    }

    pub(crate) fn remove(&mut self, param: Param) {
        self.0 &= !(1 << param as u32);
    }

    /// Returns the parameters, in the order of [`Param::ALL`].
    pub(crate) fn iter(self) -> impl Iterator<Item = Param> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let at = usize::try_from(left.trailing_zeros()).ok()?;
            left &= left.wrapping_sub(1);
            Param::ALL.get(at).copied()
        })
    }
}

/// A parameter, its field of [`ChatRequest`], and its name in JSON.
macro_rules! params {
    ($($variant:ident = $field:ident $name:literal,)*) => {
        /// A parameter of a chat request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum Param {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant,
            )*
        }

        impl Param {
            /// Every parameter.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name that the parameter has in the JSON of a [`ChatRequest`].
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl ChatRequest {
            /// Returns whether the request has a value for the parameter, including one that requests nothing.
            pub(crate) fn has(&self, param: Param) -> bool {
                match param {
                    $(Param::$variant => self.$field.is_set(),)*
                }
            }

            /// Returns the parameters that the request has a value for. Looking at all of them once costs less than asking for
            /// each by its name.
            pub(crate) fn params(&self) -> ParamSet {
                ParamSet(0 $(| (u32::from(self.$field.is_set()) << Param::$variant as u32))*)
            }

            /// Removes a parameter.
            pub(crate) fn clear(&mut self, param: Param) {
                match param {
                    $(Param::$variant => self.$field = Default::default(),)*
                }
            }

            /// Returns the value of a parameter as JSON, under the names of this crate.
            pub(crate) fn json(&self, param: Param) -> serde_json::Result<Value> {
                match param {
                    $(Param::$variant => serde_json::to_value(&self.$field),)*
                }
            }

            /// Sets a parameter to a value in JSON, as it is written in a request.
            ///
            /// # Errors
            ///
            /// Fails if the parameter cannot have this value.
            pub(crate) fn set_json(&mut self, param: Param, value: &Value) -> serde_json::Result<()> {
                match param {
                    $(Param::$variant => self.$field = read(value)?,)*
                }
                Ok(())
            }
        }
    };
}

params! {
    Temperature = temperature "temperature",
    TopP = top_p "top_p",
    TopK = top_k "top_k",
    MaxTokens = max_tokens "max_tokens",
    Stop = stop "stop",
    Seed = seed "seed",
    N = n "n",
    FrequencyPenalty = frequency_penalty "frequency_penalty",
    PresencePenalty = presence_penalty "presence_penalty",
    Tools = tools "tools",
    ToolChoice = tool_choice "tool_choice",
    ParallelToolCalls = parallel_tool_calls "parallel_tool_calls",
    ResponseFormat = response_format "response_format",
    Modalities = modalities "modalities",
    Audio = audio "audio",
    Image = image "image",
    Verbosity = verbosity "verbosity",
    ReasoningEffort = reasoning_effort "reasoning_effort",
    Thinking = thinking "thinking",
    Logprobs = logprobs "logprobs",
    TopLogprobs = top_logprobs "top_logprobs",
    LogitBias = logit_bias "logit_bias",
    ServiceTier = service_tier "service_tier",
    PromptCacheKey = prompt_cache_key "prompt_cache_key",
    User = user_id "user",
    Metadata = metadata "metadata",
}

/// Reads a value; `null` is the same as none. It is read alone and not as the field of a request, because that would compile the reader of
/// whole requests, with all kinds of messages, into every program.
fn read<T: DeserializeOwned + Default>(value: &Value) -> serde_json::Result<T> {
    serde_json::from_value::<Option<T>>(value.clone()).map(Option::unwrap_or_default)
}

impl Param {
    /// Returns the parameter of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|param| param.name() == name)
    }

    /// Returns the range of a numeric parameter, and whether it must be an integer.
    #[expect(clippy::cast_precision_loss, reason = "the bounds of the types, not values")]
    pub(crate) fn domain(self) -> Option<(f64, f64, bool)> {
        match self {
            Self::Temperature | Self::TopP | Self::FrequencyPenalty | Self::PresencePenalty => {
                Some((f64::MIN, f64::MAX, false))
            }
            Self::TopK | Self::N | Self::TopLogprobs => Some((0.0, f64::from(u32::MAX), true)),
            Self::MaxTokens => Some((0.0, u64::MAX as f64, true)),
            Self::Seed => Some((i64::MIN as f64, i64::MAX as f64, true)),
            _ => None,
        }
    }

    /// Returns the least and the greatest value of the parameter within a range, or `None` if the range has none.
    pub(crate) fn bounds(self, min: f64, max: f64) -> Option<(f64, f64)> {
        let (least, most, whole) = self.domain()?;
        if min.is_nan() || max.is_nan() {
            return None;
        }
        let (min, max) = if whole { (min.ceil(), max.floor()) } else { (min, max) };
        let (min, max) = (min.max(least), max.min(most));
        (min <= max).then_some((min, max))
    }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ChatRequest {
    /// Returns whether the request uses the parameter to request something.
    pub(crate) fn is_set(&self, param: Param) -> bool {
        match param {
            Param::Logprobs => self.logprobs == Some(true),
            Param::Stop => self.stop.as_ref().is_some_and(|stop| !stop.as_slice().is_empty()),
            _ => self.has(param),
        }
    }

    /// Returns the value of a numeric parameter.
    #[expect(clippy::cast_precision_loss, reason = "values are compared with bounds, not sent")]
    pub(crate) fn number(&self, param: Param) -> Option<f64> {
        match param {
            Param::Temperature => self.temperature,
            Param::TopP => self.top_p,
            Param::FrequencyPenalty => self.frequency_penalty,
            Param::PresencePenalty => self.presence_penalty,
            Param::TopK => self.top_k.map(f64::from),
            Param::N => self.n.map(f64::from),
            Param::TopLogprobs => self.top_logprobs.map(f64::from),
            Param::MaxTokens => self.max_tokens.map(|tokens| tokens as f64),
            Param::Seed => self.seed.map(|seed| seed as f64),
            _ => None,
        }
    }

    /// Sets a numeric parameter. Integers are limited to the range of their type.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
    pub(crate) fn set_number(&mut self, param: Param, value: f64) {
        match param {
            Param::Temperature => self.temperature = Some(value),
            Param::TopP => self.top_p = Some(value),
            Param::FrequencyPenalty => self.frequency_penalty = Some(value),
            Param::PresencePenalty => self.presence_penalty = Some(value),
            Param::TopK => self.top_k = Some(value as u32),
            Param::N => self.n = Some(value as u32),
            Param::TopLogprobs => self.top_logprobs = Some(value as u32),
            Param::MaxTokens => self.max_tokens = Some(value as u64),
            Param::Seed => self.seed = Some(value as i64),
            _ => {}
        }
    }

    /// Returns a number that is outside of a range, and the nearest one inside.
    pub(crate) fn outside(&self, param: Param, min: f64, max: f64) -> Option<(f64, f64)> {
        let asked = self.number(param).filter(|value| value.is_finite())?;
        let (min, max) = param.bounds(min, max)?;
        (!(min..=max).contains(&asked)).then(|| (asked, asked.clamp(min, max)))
    }

    /// Returns the value of a text parameter.
    pub(crate) fn text(&self, param: Param) -> Option<&str> {
        match param {
            Param::User => self.user_id.as_deref(),
            Param::PromptCacheKey => self.prompt_cache_key.as_deref(),
            Param::ServiceTier => self.service_tier.as_deref(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_of_parameters_has_those_with_a_value() {
        assert!(Param::ALL.len() <= 32, "a set has 32 bits");
        assert_eq!(ChatRequest::new("m").params().iter().count(), 0);
        let request =
            ChatRequest::new("m").temperature(0.5).user_id("u").stop(Vec::<String>::new()).top_k(1);
        let set = request.params();
        for param in Param::ALL.iter().copied() {
            assert_eq!(set.contains(param), request.has(param), "{param}");
        }
        let mut without = set;
        without.remove(Param::TopK);
        assert!(!without.contains(Param::TopK) && without.contains(Param::User));
        let listed: Vec<Param> = set.iter().collect();
        let wanted = Param::ALL.iter().copied().filter(|param| request.has(*param));
        assert_eq!(listed, wanted.collect::<Vec<_>>());
    }
}
