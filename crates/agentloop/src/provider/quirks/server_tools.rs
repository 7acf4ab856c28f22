//! How a provider takes the tools that it runs itself.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// How a provider takes the tools that it runs itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "snake_case")]
#[non_exhaustive]
pub struct ServerToolQuirks {
    /// How it searches the web.
    pub web_search: WebSearchForm,
    /// How it reads pages.
    pub web_fetch: WebFetchForm,
    /// How it runs code.
    pub code_execution: CodeExecutionForm,
    /// How it searches files.
    pub file_search: FileSearchForm,
    /// The tools of its own that it takes in chat, by their `type`; absent means any.
    pub chat: Option<Vec<Cow<'static, str>>>,
}

impl ServerToolQuirks {
    /// None at all.
    pub(crate) fn refused() -> Self {
        Self {
            web_search: WebSearchForm::Refused,
            web_fetch: WebFetchForm::Refused,
            code_execution: CodeExecutionForm::Refused,
            file_search: FileSearchForm::Refused,
            chat: Some(Vec::new()),
        }
    }
}

quirk! {
    /// How a provider searches the web.
    WebSearchForm {
        /// As the protocol has it: `web_search` in OpenAI's responses, `web_search_20250305` in Anthropic's messages,
        /// `googleSearch` in Google's generateContent. Chat has no form.
        #[default]
        Protocol,
        /// Not at all.
        Refused,
        /// As the protocol has it in OpenAI's responses; not at all in the others.
        Responses,
        /// In chat as the field `web_search_options`, by models whose name says that they search; else as the protocol
        /// has it.
        SearchModels,
        /// `web_search` with `allowed_domains` or `excluded_domains`.
        ExcludedDomains,
        /// `web_search` with `filters: {search_domain_filter}`.
        DomainFilter,
        /// `browser_search`.
        BrowserSearch,
        /// `openrouter:web_search` with `parameters`; as the protocol has it in Anthropic's messages.
        Parameters,
    }
}

quirk! {
    /// How a provider reads pages.
    WebFetchForm {
        /// As the protocol has it: `web_fetch_20250910` in Anthropic's messages, `urlContext` in Google's
        /// generateContent. The others have no form.
        #[default]
        Protocol,
        /// Not at all.
        Refused,
        /// `fetch_url`.
        FetchUrl,
    }
}

quirk! {
    /// How a provider runs code.
    CodeExecutionForm {
        /// As the protocol has it: `code_interpreter` with a container in OpenAI's responses, `code_execution_20250825`
        /// or later in Anthropic's messages, `codeExecution` in Google's generateContent. Chat has no form.
        #[default]
        Protocol,
        /// Not at all.
        Refused,
        /// `code_interpreter` without a container.
        CodeInterpreter,
        /// `sandbox`.
        Sandbox,
    }
}

quirk! {
    /// How a provider searches files.
    FileSearchForm {
        /// As the protocol has it: `file_search` in OpenAI's responses, `fileSearch` in Google's generateContent. The
        /// others have no form.
        #[default]
        Protocol,
        /// Not at all.
        Refused,
    }
}
