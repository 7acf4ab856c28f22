//! Names of models and providers.

use super::import_and_check;

#[test]
fn names_of_models_and_urls_are_ours() {
    let models = [
        ("openai/gpt-5", "", "openai/gpt-5"),
        ("openai/gpt-5", "https://api.openai.com/v1/", "openai/gpt-5"),
        ("gpt-4o", "", "openai/gpt-4o"),
        ("claude-sonnet-4-5", "", "anthropic/claude-sonnet-4-5"),
        ("gemini/gemini-3.8-flash", "", "google/gemini-3.8-flash"),
        ("gemini-2.5-pro", "", "vertex/gemini-2.5-pro"),
        ("vertex_ai/claude-sonnet-4", "", "vertex/claude-sonnet-4"),
        ("command-a", "", "cohere/command-a"),
        ("cohere_chat/command-a", "", "cohere/command-a"),
        ("together_ai/meta-llama/Llama-3", "", "together/meta-llama/Llama-3"),
        ("fireworks_ai/qwen3", "", "fireworks/accounts/fireworks/models/qwen3"),
        ("fireworks_ai/accounts/me/models/x", "", "fireworks/accounts/me/models/x"),
        ("ollama_chat/llama3.2", "", "ollama/llama3.2"),
        ("ollama/llama3.2", "http://localhost:11434", "ollama/llama3.2"),
        ("openrouter/anthropic/claude", "", "openrouter/anthropic/claude"),
        ("hosted_vllm/q", "", "vllm/q"),
        ("lm_studio/q", "", "lmstudio/q"),
        ("nvidia_nim/q", "", "nvidia/q"),
        ("huggingface/q", "", "huggingface/q"),
        ("github/q", "", "github/q"),
        ("perplexity/sonar", "", "perplexity/sonar"),
        ("groq/q", "", "groq/q"),
        ("mistral/q", "", "mistral/q"),
        ("deepseek/q", "", "deepseek/q"),
        ("xai/grok-4", "", "xai/grok-4"),
        ("cerebras/q", "", "cerebras/q"),
        ("deepinfra/q", "", "deepinfra/q"),
        ("moonshot/q", "", "moonshot/q"),
        ("sambanova/q", "", "sambanova/q"),
        ("bedrock/anthropic.claude-v2", "", "bedrock/anthropic.claude-v2"),
        ("bedrock/converse/us.amazon.nova-lite-v1:0", "", "bedrock/us.amazon.nova-lite-v1:0"),
        ("bedrock_converse/us.amazon.nova-lite-v1:0", "", "bedrock/us.amazon.nova-lite-v1:0"),
        ("bedrock/invoke/us-gov-west-1/meta.llama3-8b", "", "bedrock-us-gov-west-1/meta.llama3-8b"),
        (
            "bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/us.x",
            "",
            "bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/us.x",
        ),
        ("openai/m", "http://gpu.internal:8000/v1/chat/completions", "gpu-internal-8000/m"),
        ("openai_like/m", "http://2.example/v1", "2-example/m"),
        ("anthropic/m", "https://proxy.example", "proxy-example/m"),
        ("anthropic/m", "https://proxy.example/v1/messages", "proxy-example/m"),
        ("azure/m", "https://openai-x.openai.azure.com/", "azure/m"),
        (
            "azure/m",
            "https://y.openai.azure.com/openai/deployments/d/chat/completions",
            "azure-y/m",
        ),
        ("azure/m", "os.environ/MY_AZURE_API_BASE", "my-azure/m"),
    ];
    let mut yaml = "model_list:\n".to_owned();
    for (at, (model, url, _)) in models.iter().enumerate() {
        let url = if url.is_empty() { String::new() } else { format!(", api_base: {url:?}") };
        yaml.push_str(&format!(
            "  - {{model_name: m{at}, litellm_params: {{model: {model:?}{url}}}}}\n"
        ));
    }
    let Some(run) = import_and_check(&yaml, &["MY_AZURE_API_BASE"]) else { return };
    for (at, (_, _, ours)) in models.iter().enumerate() {
        let route = format!("[gateway.routes.m{at}]\nmodels = [{ours:?}]\n");
        assert!(run.stdout.contains(&route), "{route}{run}");
    }
    for url in [
        "[providers.gpu-internal-8000]\nbase_url = \"http://gpu.internal:8000/v1\"",
        "[providers.proxy-example]\nbase_url = \"https://proxy.example/v1\"\nprotocol = \"anthropic\"",
        "[providers.azure]\nbase_url = \"https://openai-x.openai.azure.com/openai/v1\"",
        "[providers.azure-y]\nbase_url = \"https://y.openai.azure.com/openai/v1\"\nauth = \"api-key\"",
        "[providers.my-azure]\nbase_url = \"${MY_AZURE_API_BASE}/openai/v1\"",
        "[providers.ollama]\nbase_url = \"http://localhost:11434/v1\"",
    ] {
        let is_ollama = url.contains("ollama");
        assert_eq!(run.stdout.contains(url), !is_ollama, "{url}\n{run}");
    }
}

#[test]
fn models_that_cannot_be_translated_are_comments() {
    for (params, expected) in [
        ("model: bedrock/agent/A/B", "`bedrock/agent/` is not supported by agentloop"),
        ("model: bedrock/converse/", "it names no model"),
        ("model: sagemaker/x", "`sagemaker` is not a provider of agentloop"),
        ("model: openai/", "it names no model"),
        ("model: llama3", "names no provider"),
        ("model: vertex_ai/mistral-large", "neither a model of Google"),
        ("model: gemini/x, api_base: 'https://x'", "another URL of this provider"),
        ("model: openai_like/x", "a model of this provider needs `api_base`"),
        ("model: x, custom_llm_provider: nowhere", "`nowhere` is not a provider"),
    ] {
        let fine =
            "{model_name: a, litellm_params: {model: my-model, custom_llm_provider: hosted_vllm}}";
        let yaml =
            format!("model_list:\n- {fine}\n- {{model_name: b, litellm_params: {{{params}}}}}");
        let Some(run) = import_and_check(&yaml, &[]) else { return };
        assert!(run.stdout.contains(expected), "{expected}: {run}");
        assert!(run.stdout.contains("models = [\"vllm/my-model\"]"), "{run}");
        assert!(!run.stdout.contains("[gateway.routes.b]"), "{run}");
    }
}
