//! The agent and its settings.

use std::collections::HashMap;
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

/// Sends requests to a model and runs the tools that it calls, until the model responds without calls.
///
/// An agent holds tools and rules but no conversation, so it can have any number of runs, also at the same time. It is
/// cheap to clone. See the [module](super) for an example.
///
/// ```
/// use agentloop::agent::Agent;
/// use agentloop::{AgentLoop, ChatRequest};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
/// let agent = Agent::new(ai).max_steps(5);
/// let outcome = agent.run(ChatRequest::new("sim/echo").user("Hello")).await?;
/// assert!(outcome.text().contains("Hello"));
/// # Ok(())
/// # }
/// ```
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
    pub(super) max_repeats: Option<u32>,
    pub(super) max_tokens: Option<u64>,
    pub(super) max_cost: Option<Usd>,
    pub(super) max_output_chars: usize,
    pub(super) parallel: usize,
    pub(super) default_policy: Policy,
    pub(super) policies: HashMap<String, Policy>,
    /// The fingerprints of the tools that may run without approval, by name.
    pub(super) allowed: HashMap<String, String>,
    pub(super) approver: Option<Arc<dyn Approver>>,
    pub(super) before_step: Option<BeforeStep>,
    pub(super) repair: Option<Repair>,
    pub(super) conditions: Vec<(String, Condition)>,
}

impl Agent {
    /// Creates an agent without tools that sends its requests through `ai`.
    pub fn new(ai: AgentLoop) -> Self {
        Self {
            ai,
            settings: Arc::new(Settings {
                tools: ToolSet::new(),
                resources: Resources::default(),
                max_steps: AGENT_MAX_STEPS,
                final_answer: false,
                max_repeats: None,
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

    /// Adds several tools.
    #[must_use]
    pub fn tools(self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.set(|settings| tools.into_iter().for_each(|tool| settings.tools.insert(tool)))
    }

    /// Adds a tool that the provider runs itself. The definition is sent unchanged, and the agent never runs the tool.
    #[must_use]
    pub fn provider_tool(self, tool: ToolDefinition) -> Self {
        self.set(|settings| settings.tools.insert_provider_tool(tool))
    }

    /// Adds a source of tools, such as an MCP server. Its tools may change from step to step.
    #[must_use]
    pub fn tool_source(self, source: impl ToolSource + 'static) -> Self {
        self.set(|settings| settings.tools.insert_source(Arc::new(source)))
    }

    /// Adds a value that the tools can use, such as a pool of connections. Tools get it by its type with
    /// [`ToolContext::resource`](super::ToolContext::resource); a second value of the same type replaces the first.
    ///
    /// ```
    /// use agentloop::agent::{Agent, Tool, ToolContext, ToolError};
    /// use serde_json::{Value, json};
    ///
    /// struct Inventory(u32);
    ///
    /// # fn example(agent: Agent) -> Agent {
    /// let count = Tool::dynamic("count", "Counts the stock", json!({"type": "object"}), |_: Value, context: ToolContext| async move {
    ///     let inventory = context.resource::<Inventory>().ok_or_else(|| ToolError::new("no inventory"))?;
    ///     Ok(inventory.0)
    /// });
    /// agent.tool(count).resource::<Inventory>(Inventory(42))
    /// # }
    /// ```
    #[must_use]
    pub fn resource<T: Send + Sync + 'static>(self, value: impl Into<Arc<T>>) -> Self {
        self.set(|settings| settings.resources.insert(value.into()))
    }

    /// Sets how many requests one run may send to the model. The default is [`AGENT_MAX_STEPS`], the minimum 1. Calls of
    /// the last response do not run; their results say that the limit was reached.
    #[must_use]
    pub fn max_steps(self, steps: u32) -> Self {
        self.set(|settings| settings.max_steps = steps.max(1))
    }

    /// Stops a run in which this many steps in a row make the same calls with the same results. Small models sometimes do that
    /// until a limit is reached. By default there is no such limit, because a tool may report the state of something that the model
    /// waits for. The minimum is 2.
    ///
    /// ```
    /// # use agentloop::{AgentLoop, agent::Agent};
    /// let agent = Agent::new(AgentLoop::from_env()).max_repeats(4).final_answer();
    /// ```
    #[must_use]
    pub fn max_repeats(self, steps: u32) -> Self {
        self.set(|settings| settings.max_repeats = Some(steps.max(2)))
    }

    /// Sends one more request, without tools, if the model still calls tools when [`max_steps`](Self::max_steps) or
    /// [`max_repeats`](Self::max_repeats) is reached.
    #[must_use]
    pub fn final_answer(self) -> Self {
        self.set(|settings| settings.final_answer = true)
    }

    /// Stops a run that has used this many tokens, before the tools of its last response run. A response without a token
    /// count stops the run as well.
    #[must_use]
    pub fn max_tokens(self, tokens: u64) -> Self {
        self.set(|settings| settings.max_tokens = Some(tokens))
    }

    /// Stops a run that has cost this much, before the tools of its last response run. A response whose cost is unknown
    /// stops the run as well.
    #[must_use]
    pub fn max_cost(self, cost: Usd) -> Self {
        self.set(|settings| settings.max_cost = Some(cost))
    }

    /// Sets how many characters of a result the model sees, for tools that do not
    /// [set](super::Tool::max_output_chars) it themselves. The default is 64,000.
    #[must_use]
    pub fn max_output_chars(self, chars: usize) -> Self {
        self.set(|settings| settings.max_output_chars = chars)
    }

    /// Sets how many tools may run at the same time. The default is 8; 1 runs them one after the
    /// other.
    #[must_use]
    pub fn parallel_tools(self, tools: usize) -> Self {
        self.set(|settings| settings.parallel = tools.max(1))
    }

    /// Sets the policy of tools that do not set one themselves. The default is [`Policy::Allow`].
    #[must_use]
    pub fn default_policy(self, policy: Policy) -> Self {
        self.set(|settings| settings.default_policy = policy)
    }

    /// Sets the policy of the tool with this name. It overrides the policy that the tool sets itself.
    ///
    /// ```
    /// # use agentloop::agent::Agent;
    /// use agentloop::agent::Policy;
    ///
    /// # fn example(agent: Agent) -> Agent {
    /// agent.default_policy(Policy::Ask).policy("read_file", Policy::Allow).policy("delete_file", Policy::Deny)
    /// # }
    /// ```
    #[must_use]
    pub fn policy(self, tool: impl Into<String>, policy: Policy) -> Self {
        self.set(|settings| {
            settings.policies.insert(tool.into(), policy);
        })
    }

    /// Lets this tool run without approval as long as its [definition](Tool::fingerprint) stays the same.
    ///
    /// Prefer this to [`policy`](Self::policy) for tools of servers, because `policy` applies to a name: if a server changes
    /// the definition behind the name, each call needs approval again.
    #[must_use]
    pub fn allow(self, tool: &Tool) -> Self {
        let (name, definition) = (tool.name().to_owned(), tool.fingerprint());
        self.set(|settings| {
            settings.allowed.insert(name, definition);
        })
    }

    /// Sets the approver, which decides about the calls of tools whose policy is [`Policy::Ask`].
    #[must_use]
    pub fn approver(self, approver: impl Approver + 'static) -> Self {
        self.set(|settings| settings.approver = Some(Arc::new(approver)))
    }

    /// Stops the run when its steps meet a condition. The condition is checked after each step whose tools have run, and
    /// [`StopReason::Condition`](super::StopReason::Condition) holds its name.
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

    /// Calls `hook` before each step. It may change the model, the tools, the tool choice and the messages of that step.
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

    /// Calls an asynchronous `hook` before each step, for example to summarize a long conversation. See
    /// [`before_step`](Self::before_step).
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

    /// Calls `hook` with each call that cannot run: the tool is unknown, or the arguments are not JSON or do not match the
    /// schema. If the hook returns a call, that call runs and replaces the original in the conversation. If it returns
    /// `None`, the model receives the error.
    ///
    /// ```
    /// # use agentloop::agent::Agent;
    /// use agentloop::agent::ToolStatus;
    ///
    /// # fn example(agent: Agent) -> Agent {
    /// agent.repair(|broken| {
    ///     let mut call = broken.call.clone();
    ///     call.name = call.name.to_lowercase();
    ///     let known = broken.problem == ToolStatus::UnknownTool && broken.tools.get(&call.name).is_some();
    ///     Box::pin(std::future::ready(known.then_some(call)))
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn repair(
        self,
        hook: impl for<'a> Fn(BrokenCall<'a>) -> BoxFuture<'a, Option<ToolCallPart>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.set(|settings| settings.repair = Some(Arc::new(hook)))
    }
}

impl Settings {
    /// Returns the policy that applies to a tool.
    pub(super) fn policy_of(&self, tool: &Tool) -> Policy {
        let named = self.policies.get(tool.name()).copied();
        let usual = named.or(tool.policy).unwrap_or(self.default_policy);
        match self.allowed.get(tool.name()) {
            None => usual,
            Some(_) if named == Some(Policy::Deny) => Policy::Deny,
            Some(definition) if *definition == tool.fingerprint() => Policy::Allow,
            // The name was allowed, but with another definition.
            Some(_) if usual == Policy::Deny => Policy::Deny,
            Some(_) => Policy::Ask,
        }
    }

    /// Returns whether a decision about a tool applies to its definition, not to its name alone.
    pub(super) fn is_bound_to_definition(&self, tool: &Tool) -> bool {
        self.allowed.contains_key(tool.name()) || self.policy_of(tool) != Policy::Allow
    }

    pub(super) fn rules(&self) -> Rules<'_> {
        Rules {
            max_steps: self.max_steps,
            final_answer: self.final_answer,
            max_repeats: self.max_repeats,
            max_tokens: self.max_tokens,
            max_cost: self.max_cost,
            conditions: &self.conditions,
        }
    }
}

shown! { Agent: self { tools: self.settings.tools, max_steps: self.settings.max_steps } }
