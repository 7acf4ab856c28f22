"""Starts `agentloop serve` in front of the scripted upstream."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request

PROTOCOLS = {"chat": ("openai_chat", "/v1"), "responses": ("openai_responses", "/v1"), "anthropic": ("anthropic", "/v1"), "gemini": ("gemini", "/v1beta")}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Gateway:
    """One provider per protocol, named `up-chat`, `up-responses`, `up-anthropic` and `up-gemini`."""

    def __init__(self, program, folder, upstream, aliases=None):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.key = f"sk-clients-{secrets.token_hex(16)}"
        self.models = {name: f"up-{name}/m" for name in PROTOCOLS}
        self.log = folder / "gateway.log"
        config = folder / "agentloop.toml"
        config.write_text(self.config(upstream, aliases or {}))
        environment = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
        environment.update(UPSTREAM_KEY="upstream-key", CLIENT_KEY=self.key, HOME=str(folder), XDG_DATA_HOME=str(folder / "data"),
                           XDG_CONFIG_HOME=str(folder / "config"))
        self.process = subprocess.Popen([program, "serve", "--config", str(config)], env=environment, stdout=self.log.open("w"),
                                        stderr=subprocess.STDOUT)
        self.wait()

    def config(self, upstream, aliases):
        # Errors of the upstream are to reach the client at once.
        text = f'[gateway]\nlisten = "127.0.0.1:{self.port}"\nadmin_listen = "off"\n\n[gateway.keys.clients]\nkey_env = "CLIENT_KEY"\n\n[retry]\nmax_retries = 0\n'
        for name, (protocol, path) in PROTOCOLS.items():
            text += f'\n[providers.up-{name}]\nbase_url = "{upstream}{path}"\nprotocol = "{protocol}"\nkey_env = "UPSTREAM_KEY"\n'
            text += f'\n[models."up-{name}/m"]\ncontext_window = 200000\nmax_output_tokens = 64000\n'
        text += "\n[aliases]\n" + "".join(f'"{alias}" = "{model}"\n' for alias, model in aliases.items())
        return text

    def wait(self):
        for _ in range(100):
            if self.process.poll() is not None:
                raise SystemExit(f"the gateway ended:\n{self.log.read_text()}")
            if self.is_ready():
                return
            time.sleep(0.1)
        self.stop()
        raise SystemExit(f"the gateway was not ready within 10 s:\n{self.log.read_text()}")

    def is_ready(self):
        try:
            return urllib.request.urlopen(f"{self.url}/health/ready", timeout=2).status == 200
        except OSError:
            return False

    def stop(self):
        """Stops the gateway. Returns a failure if it had ended by itself or did not end in order."""
        if self.process.poll() is not None:
            print(self.log.read_text()[-3000:], file=sys.stderr)
            return [f"FAIL gateway - alive it ended by itself with {self.process.returncode}"]
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "no code within 15 s"
        return [] if code == 0 else [f"FAIL gateway - stop it ended with {code}"]
