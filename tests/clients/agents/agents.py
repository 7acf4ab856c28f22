"""How each agent is started without a terminal, in a home folder of its own, with telemetry and updates off."""

import json
import os
import subprocess
from dataclasses import dataclass


@dataclass
class Run:
    """What an agent is given."""

    cache: object  # the folder of `install`
    home: object
    repo: object
    base: str  # the URL of the gateway, without /v1
    key: str
    model: str
    prompt: str
    resume: bool = False  # whether to go on with the last session of this home


def codex(run):
    folder = run.home / ".codex"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(f"""
model = "{run.model}"
model_provider = "gateway"
check_for_update_on_startup = false
model_reasoning_summary = "auto"

[analytics]
enabled = false

[model_providers.gateway]
name = "gateway"
base_url = "{run.base}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
""")
    resume = ["resume", "--last"] if run.resume else []
    command = [node_program(run, "codex"), "exec", *resume, "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", run.prompt]
    return command, {"GATEWAY_KEY": run.key, "CODEX_HOME": str(folder)}


def claude(run):
    environment = {
        "ANTHROPIC_BASE_URL": run.base, "ANTHROPIC_AUTH_TOKEN": run.key, "ANTHROPIC_MODEL": run.model,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": run.model, "ANTHROPIC_DEFAULT_SONNET_MODEL": run.model, "ANTHROPIC_DEFAULT_OPUS_MODEL": run.model,
        "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1", "MAX_THINKING_TOKENS": "4000",
    }
    resume = ["--continue"] if run.resume else []
    return [node_program(run, "claude"), "-p", run.prompt, "--dangerously-skip-permissions", *resume], environment


def gemini(run):
    settings(run.home / ".gemini", {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
                                    "telemetry": {"enabled": False}, "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False}})
    environment = {"GEMINI_API_KEY": run.key, "GOOGLE_GEMINI_BASE_URL": run.base, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    resume = ["--resume", "latest"] if run.resume else []
    model = [] if run.model.endswith("/auto") else ["-m", run.model]
    return [node_program(run, "gemini"), "-p", run.prompt, *model, "--approval-mode", "yolo", *resume], environment


def qwen(run):
    settings(run.home / ".qwen", {"security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": False},
                                  "telemetry": {"enabled": False}, "general": {"enableAutoUpdate": False, "disableAutoUpdate": True}})
    environment = {"OPENAI_API_KEY": run.key, "OPENAI_BASE_URL": f"{run.base}/v1", "OPENAI_MODEL": run.model}
    resume = ["--continue"] if run.resume else []
    return [node_program(run, "qwen"), "-p", run.prompt, "--approval-mode", "yolo", *resume], environment


def aider(run):
    command = [str(run.cache / "aider/bin/aider"), "--model", f"openai/{run.model}", "--edit-format", "diff", "--no-auto-commits", "--yes-always",
               "--no-check-update", "--analytics-disable", "--no-show-model-warnings", "--no-gitignore", "--map-tokens", "0", "--no-pretty",
               "--message", run.prompt, "a.txt", "b.txt"]
    return command, {"OPENAI_API_KEY": run.key, "OPENAI_API_BASE": f"{run.base}/v1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


# How each agent is started, the API that it speaks, and the name of the model behind the provider's. Codex chooses its tools by the model:
# only function tools for a model that it does not know, a free-text `apply_patch` for gpt-5.5, and for gpt-6-sol nothing but a
# free-text `exec` in a namespace, declared in the input.
AGENTS = {
    "codex": (codex, "responses", "m"), "codex-gpt-5.5": (codex, "responses", "gpt-5.5"), "codex-gpt-6-sol": (codex, "responses", "gpt-6-sol"),
    "gemini": (gemini, "gemini", "m"), "gemini-auto": (gemini, "gemini", "auto"), "claude": (claude, "anthropic", "m"), "qwen": (qwen, "chat", "m"), "aider": (aider, "chat", "m"),
}

# Agents whose resumed session begins with the same requests. The others change their history themselves: Gemini CLI 0.61 loses its signatures and
# repeats every function response, Qwen Code 0.24 writes a new git status into its system prompt.
RESUMABLE = {"codex", "codex-gpt-5.5", "codex-gpt-6-sol", "claude"}


def node_program(run, name):
    return str(run.cache / "agents/node_modules/.bin" / name)


def settings(folder, value):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(value))


def execute(agent, run, log, limit):
    """Runs an agent to its end and returns its exit code, or None after the time limit."""
    command, environment = AGENTS[agent][0](run)
    keep = {k: os.environ[k] for k in ("LANG", "TERM", "TMPDIR") if k in os.environ}
    path = f"{run.cache}/node/bin:{os.environ['PATH']}"
    environment = {**keep, **environment, "PATH": path, "HOME": str(run.home), "NO_PROXY": "*", "NO_COLOR": "1", "CI": "1"}
    with log.open("a") as out:
        process = subprocess.Popen(command, cwd=run.repo, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return None
