//! Tools that count how often they run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentloop::FunctionDefinition;
use agentloop::agent::{
    CancelToken, Outcome, RunRequest, Tool, ToolContext, ToolError, ToolStatus,
};
use serde_json::{Value, json};

#[derive(Clone, Default)]
pub(crate) struct Tools {
    ran: Arc<Mutex<HashMap<(u32, usize), u32>>>,
    cancel: Arc<Mutex<Option<CancelToken>>>,
}

impl Tools {
    pub(crate) fn cancel_with(&self, cancel: &CancelToken) {
        *self.cancel.lock().unwrap() = Some(cancel.clone());
    }

    /// Runs with complete responses are not cancelled by their tools.
    pub(crate) fn run_with(&self, _: &RunRequest) {
        *self.cancel.lock().unwrap() = None;
    }

    fn count(&self, context: &ToolContext) {
        *self.ran.lock().unwrap().entry((context.step(), context.index())).or_default() += 1;
    }

    pub(crate) fn all(&self) -> Vec<Tool> {
        let schema = json!({
            "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]
        });
        let tool = |name: &'static str| {
            let tools = self.clone();
            Tool::dynamic(name, "A test", schema.clone(), move |args: Value, context| {
                let tools = tools.clone();
                async move { tools.run(name, &args, context).await }
            })
            .status(|args| Some(format!("with {}", args.get("n")?)))
        };
        let outside = FunctionDefinition::new("outside", schema.clone());
        vec![
            tool("ok"),
            tool("fail"),
            tool("panic"),
            tool("slow"),
            tool("big"),
            tool("alone").sequential(),
            tool("ask"),
            tool("look").reviewed(),
            tool("cancels"),
            Tool::external(outside),
        ]
    }

    async fn run(
        &self,
        name: &'static str,
        args: &Value,
        context: ToolContext,
    ) -> Result<String, ToolError> {
        self.count(&context);
        context.progress("begun");
        match name {
            "fail" => Err(ToolError::new("it does not work")),
            "panic" => panic!("it breaks"),
            "slow" => {
                for step in 0..3 {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    context.progress_at(f64::from(step) / 3.0, "on the way");
                }
                Ok("at last".to_owned())
            }
            "big" => Ok("long ".repeat(100)),
            "cancels" => {
                if let Some(cancel) = self.cancel.lock().unwrap().as_ref() {
                    cancel.cancel();
                }
                tokio::task::yield_now().await;
                Ok("too late".to_owned())
            }
            _ => Ok(format!("{name} of {args}")),
        }
    }

    /// Checks that each call ran at most once, and that each call with a result of its tool ran.
    pub(crate) fn check_once(&self, outcome: &Outcome) {
        let ran = self.ran.lock().unwrap();
        for (call, times) in ran.iter() {
            assert_eq!(*times, 1, "{call:?} ran {times} times");
        }
        for step in &outcome.steps {
            for result in &step.results {
                let did = ran.contains_key(&(step.number, result.index));
                match result.status {
                    ToolStatus::TimedOut | ToolStatus::Failed => assert!(did, "{result:?}"),
                    ToolStatus::Completed => {
                        assert!(did || result.attempts == 0, "{result:?}");
                    }
                    ToolStatus::Canceled | ToolStatus::Withheld => {}
                    _ => assert!(!did, "{result:?}"),
                }
            }
        }
    }
}
