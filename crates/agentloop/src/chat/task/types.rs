//! Writes the structs of requests and responses, with the fields that all of them have.

/// Writes a request type: its own fields after the model, then the fields that all requests have.
macro_rules! task_request {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[non_exhaustive]
        pub struct $name {
            /// `"provider/model"`, an alias, or a model of the default provider.
            pub model: String,
            $($(#[$field_meta])* pub $field: $type,)*
            /// Labels that [`Costs`](crate::middleware::Costs) counts the call under. They are not sent.
            #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
            pub tags: Vec<String>,
            /// More fields for the request's body, under the provider's own names, sent untouched.
            #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Map::is_empty")]
            pub extra_body: Map<String, Value>,
            /// More headers. They never replace the ones that authenticate.
            #[serde(
                default,
                deserialize_with = "nullable",
                skip_serializing_if = "ExtraHeaders::is_empty"
            )]
            pub extra_headers: ExtraHeaders,
            /// The models to call if this one fails, in place of those of the
            /// [`Fallback`](crate::middleware::Fallback) middleware. Without that middleware they are ignored with a
            /// warning. They are not sent.
            #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
            pub fallbacks: Vec<String>,
            /// Whether the response also has the status, the headers and the body as the provider sent them. It is
            /// not sent.
            #[serde(
                default,
                deserialize_with = "nullable",
                skip_serializing_if = "std::ops::Not::not"
            )]
            pub include_raw: bool,
            /// Fails where a setting would otherwise be left out with a warning. It is not sent.
            #[serde(
                default,
                deserialize_with = "nullable",
                skip_serializing_if = "std::ops::Not::not"
            )]
            pub strict: bool,
            /// The timeouts, in place of the client's.
            #[serde(skip)]
            pub timeouts: Option<Timeouts>,
            /// The keys and base URLs that [`key`](Self::key) and [`base_url`](Self::base_url) set.
            #[serde(skip)]
            pub(crate) access: Option<Box<Access>>,
        }

        impl $name {
            call_setters!(uncached);

            /// Fails where a setting would otherwise be left out with a warning: see [`strict`](Self#structfield.strict).
            #[must_use]
            pub fn strict(mut self) -> Self {
                self.strict = true;
                self
            }
        }
    };
}

/// Writes a response type: the model and the provider, its own fields, then the fields that all responses have.
macro_rules! task_response {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[non_exhaustive]
        pub struct $name {
            /// The model, as the provider names it.
            pub model: String,
            /// The provider.
            pub provider: String,
            $($(#[$field_meta])* pub $field: $type,)*
            /// The tokens used. `None` if the provider did not report them.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub usage: Option<Usage>,
            /// The cost. `None` if it is not known.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub cost: Option<Cost>,
            /// The request id, which the provider's support asks for.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub request_id: Option<String>,
            /// Parameters that were dropped, renamed or clamped.
            #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
            pub warnings: Vec<Warning>,
            /// The response as the provider sent it, if the request set `include_raw`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub raw: Option<RawResponse>,
        }

        impl $name {
            /// Creates a response of a model without content, with unknown usage and cost.
            pub fn new(model: impl Into<String>, provider: impl Into<String>) -> Self {
                Self { model: model.into(), provider: provider.into(), ..Self::default() }
            }
        }
    };
}

pub(super) use {task_request, task_response};
