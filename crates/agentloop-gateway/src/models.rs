//! The models that clients can name.

use agentloop::{AgentLoop, ModelInfo, Provider};

use crate::route::Router;
use crate::store::KeyRecord;

/// The most models of the list.
const MAX_LISTED: usize = 5000;

/// Returns the routes, and the known models of each provider that has a key, as `provider/model`.
pub(crate) fn list(client: &AgentLoop, router: &Router) -> Vec<ModelInfo> {
    let mut models: Vec<ModelInfo> =
        router.names().map(|name| ModelInfo::new("agentloop", name)).collect();
    for model in &mut models {
        model.owned_by = Some("agentloop".to_owned());
    }
    for provider in client.providers() {
        // Of the built-in providers that need no key it is not known whether their server runs.
        let is_usable = match client.check_key(&provider.name) {
            Ok(true) => true,
            Ok(false) => Provider::builtin(&provider.name).is_none(),
            Err(_) => false,
        };
        if !is_usable {
            continue;
        }
        for known in client.catalog().of_provider(&provider.name) {
            let id = &known.id;
            // The data of a configuration names the provider, too.
            let id = id.strip_prefix(&format!("{}/", provider.name)).unwrap_or(id);
            let mut model =
                ModelInfo::new(provider.name.as_ref(), format!("{}/{id}", provider.name));
            model.context_window = known.context_window;
            model.max_output_tokens = known.max_output_tokens;
            model.owned_by = Some(provider.name.to_string());
            models.push(model);
        }
    }
    models.truncate(MAX_LISTED);
    models
}

/// Returns the models that a key may use.
pub(crate) fn allowed(models: &[ModelInfo], key: &KeyRecord) -> Vec<ModelInfo> {
    models.iter().filter(|model| key.allows(&model.id)).cloned().collect()
}
