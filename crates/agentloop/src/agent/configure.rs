//! An agent, and how it is set up.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::approval::{Approver, Policy};
use super::hook::{BeforeStep, BrokenCall, Condition, NextStep, Repair};
use super::machine::Rules;
use super::outcome::Step;
use super::tool::{Resources, Tool, ToolSet, ToolSource};
use crate::chat::{ToolCallPart, ToolDefinition, Usd};
use crate::client::AgentLoop;
use crate::error::Result;
use crate::limits::{AGENT_MAX_STEPS, AGENT_PARALLEL_TOOLS, MAX_TOOL_OUTPUT_CHARS};
use crate::transport::BoxFuture;

/// Asks a model, runs the tools that it calls, and asks again, until it has answered.
///
/// It holds tools and rules and no conversation: one agent has any number of runs, at once if need be. It is cheap to
/// clone. See the [module](super) for an example.
#[derive(Clone)]
pub struct Agent {
    pub(super) ai: AgentLoop,
    pub(super) settings: Arc<Settings>,
}

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) tools: ToolSet,
    pub(super) resources: Resources,
    pub(super) max_steps: u32,
    pub(super) final_answer: bool,
    pub(super) max_tokens: Option<u64>,
    pub(super) max_cost: Option<Usd>,
    pub(super) max_output_chars: usize,
    pub(super) parallel: usize,
    pub(super) default_policy: Policy,
    pub(super) policies: HashMap<String, Policy>,
    /// By name, the fingerprints of the tools that may run without asking.
    pub(super) allowed: HashMap<String, String>,
    pub(super) approver: Option<Arc<dyn Approver>>,
    pub(super) before_step: Option<BeforeStep>,
    pub(super) repair: Option<Repair>,
    pub(super) conditions: Vec<(String, Condition)>,
}

impl Agent {
    /// An agent without tools, whose calls go through `ai`.
    pub fn new(ai: AgentLoop) -> Self {
        Self {
            ai,
            settings: Arc::new(Settings {
                tools: ToolSet::new(),
                resources: Resources::default(),
                max_steps: AGENT_MAX_STEPS,
                final_answer: false,
                max_tokens: None,
                max_cost: None,
                max_output_chars: MAX_TOOL_OUTPUT_CHARS,
                parallel: AGENT_PARALLEL_TOOLS,
                default_policy: Policy::Allow,
                policies: HashMap::new(),
                allowed: HashMap::new(),
                approver: None,
                before_step: None,
                repair: None,
                conditions: Vec::new(),
            }),
        }
    }

    fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(self, tool: impl Into<Tool>) -> Self {
        self.set(|settings| settings.tools.insert(tool.into()))
    }

    /// Adds tools.
    #[must_use]
    pub fn tools(self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.set(|settings| tools.into_iter().for_each(|tool| settings.tools.insert(tool)))
    }

    /// Adds a tool that the provider runs itself, in the provider's own words: declared, and never run here.
    #[must_use]
    pub fn provider_tool(self, tool: ToolDefinition) -> Self {
        self.set(|settings| settings.tools.insert_provider_tool(tool))
    }

    /// Adds tools that come from elsewhere and may change from step to step.
    #[must_use]
    pub fn tool_source(self, source: impl ToolSource + 'static) -> Self {
        self.set(|settings| settings.tools.insert_source(Arc::new(source)))
    }

    /// Gives the tools something to work with: a pool of connections, for example. One of each type; they find it with
    /// [`ToolContext::resource`](super::ToolContext::resource).
    #[must_use]
    pub fn resource<T: Send + Sync + 'static>(self, value: impl Into<Arc<T>>) -> Self {
        self.set(|settings| settings.resources.insert(value.into()))
    }

    /// Sets how often the model is asked in one run; [`AGENT_MAX_STEPS`] without this, and at least once. Calls of the
    /// last answer do not run then: they get a result that says so.
    #[must_use]
    pub fn max_steps(self, steps: u32) -> Self {
        self.set(|settings| settings.max_steps = steps.max(1))
    }

    /// When the model was asked as often as it may be and still calls tools, asks it once more for an answer without.
    #[must_use]
    pub fn final_answer(self) -> Self {
        self.set(|settings| settings.final_answer = true)
    }

    /// Stops a run that has used so many tokens, before the tools of its last answer run. Answers whose tokens nobody
    /// counted stop it too.
    #[must_use]
    pub fn max_tokens(self, tokens: u64) -> Self {
        self.set(|settings| settings.max_tokens = Some(tokens))
    }

    /// Stops a run that has cost so much, before the tools of its last answer run. An answer whose cost nobody knows
    /// stops it too.
    #[must_use]
    pub fn max_cost(self, cost: Usd) -> Self {
        self.set(|settings| settings.max_cost = Some(cost))
    }

    /// Sets how much text of a result the model sees, in characters, where the tool does not say it;
    /// [`MAX_TOOL_OUTPUT_CHARS`] without this.
    #[must_use]
    pub fn max_output_chars(self, chars: usize) -> Self {
        self.set(|settings| settings.max_output_chars = chars)
    }

    /// Sets how many tools run at once; [`AGENT_PARALLEL_TOOLS`] without this, and 1 for one after the other.
    #[must_use]
    pub fn parallel_tools(self, tools: usize) -> Self {
        self.set(|settings| settings.parallel = tools.max(1))
    }

    /// Sets whether tools that say nothing of it may run unasked. They may, without this.
    #[must_use]
    pub fn default_policy(self, policy: Policy) -> Self {
        self.set(|settings| settings.default_policy = policy)
    }

    /// Sets whether the tool of that name may run unasked, whatever it says itself.
    #[must_use]
    pub fn policy(self, tool: impl Into<String>, policy: Policy) -> Self {
        self.set(|settings| {
            settings.policies.insert(tool.into(), policy);
        })
    }

    /// Lets this tool run without asking for as long as its [definition](Tool::fingerprint) stays the same.
    ///
    /// For tools of servers, prefer it to [`policy`](Self::policy), which holds for a name: if a server puts another
    /// definition behind the name, each call of it is asked for.
    #[must_use]
    pub fn allow(self, tool: &Tool) -> Self {
        let (name, definition) = (tool.name().to_owned(), tool.fingerprint());
        self.set(|settings| {
            settings.allowed.insert(name, definition);
        })
    }

    /// Sets who is asked whether tools may run.
    #[must_use]
    pub fn approver(self, approver: impl Approver + 'static) -> Self {
        self.set(|settings| settings.approver = Some(Arc::new(approver)))
    }

    /// Stops the run when the steps so far meet a condition: it is asked after each step whose tools have run. The
    /// outcome tells its name.
    ///
    /// ```
    /// # use agentloop::agent::Agent;
    /// # fn example(agent: Agent) -> Agent {
    /// agent.stop_when("saved", |steps| {
    ///     steps.last().is_some_and(|step| step.results.iter().any(|result| result.tool == "save"))
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn stop_when(
        self,
        name: impl Into<String>,
        met: impl Fn(&[Step]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.set(|settings| settings.conditions.push((name.into(), Arc::new(met))))
    }

    /// Looks at each step before it is taken, and may change the model, the tools, the choice and the messages of it.
    /// An error ends the run.
    ///
    /// ```
    /// # use agentloop::agent::Agent;
    /// # fn example(agent: Agent) -> Agent {
    /// agent.before_step(|step| {
    ///     if step.number > 1 {
    ///         step.request.model = "groq/openai/gpt-oss-20b".to_owned();
    ///         step.tools.remove("search");
    ///     }
    ///     Ok(())
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn before_step(
        self,
        hook: impl Fn(&mut NextStep<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.before_step_async(move |step| {
            let done = hook(step);
            Box::pin(std::future::ready(done))
        })
    }

    /// The same, for a look that has to wait for something: a summary of a long conversation, for example.
    #[must_use]
    pub fn before_step_async(
        self,
        hook: impl for<'a, 'b> Fn(&'a mut NextStep<'b>) -> BoxFuture<'a, Result<()>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.set(|settings| settings.before_step = Some(Arc::new(hook)))
    }

    /// Tries to mend a call that cannot run: one of a tool that is not there, or with arguments that are no JSON or do not
    /// match. The mended call runs, and stands so in the conversation; without one the model is told what is wrong.
    #[must_use]
    pub fn repair(
        self,
        mend: impl for<'a> Fn(BrokenCall<'a>) -> BoxFuture<'a, Option<ToolCallPart>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.set(|settings| settings.repair = Some(Arc::new(mend)))
    }
}

impl Settings {
    /// Whether a tool may run unasked.
    pub(super) fn policy_of(&self, tool: &Tool) -> Policy {
        let said = self.policies.get(tool.name()).copied();
        let usual = said.or(tool.policy).unwrap_or(self.default_policy);
        match self.allowed.get(tool.name()) {
            None => usual,
            Some(_) if said == Some(Policy::Deny) => Policy::Deny,
            Some(definition) if *definition == tool.fingerprint() => Policy::Allow,
            // The name was allowed with another definition.
            Some(_) if usual == Policy::Deny => Policy::Deny,
            Some(_) => Policy::Ask,
        }
    }

    /// Whether what was decided on a tool holds for its definition, not for its name alone.
    pub(super) fn is_bound(&self, tool: &Tool) -> bool {
        self.allowed.contains_key(tool.name()) || self.policy_of(tool) != Policy::Allow
    }

    pub(super) fn rules(&self) -> Rules<'_> {
        Rules {
            max_steps: self.max_steps,
            final_answer: self.final_answer,
            max_tokens: self.max_tokens,
            max_cost: self.max_cost,
            conditions: &self.conditions,
        }
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("tools", &self.settings.tools)
            .field("max_steps", &self.settings.max_steps)
            .finish_non_exhaustive()
    }
}
