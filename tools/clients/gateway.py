"""Starts `agentloop serve` in front of the scripted upstream."""

import os
import re
import signal
import socket
import subprocess
import time
import urllib.request

PROTOCOLS = {"chat": ("openai_chat", "/v1"), "responses": ("openai_responses", "/v1"), "anthropic": ("anthropic", "/v1"), "gemini": ("gemini", "/v1beta")}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Gateway:
    """One provider per protocol, named `up-chat`, `up-responses`, `up-anthropic` and `up-gemini`."""

    def __init__(self, program, folder, upstream):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.models = {name: f"up-{name}/m" for name in PROTOCOLS}
        self.log = folder / "gateway.log"
        config = folder / "agentloop.toml"
        config.write_text("".join(
            f'[providers.up-{name}]\nbase_url = "{upstream}{path}"\nprotocol = "{protocol}"\nkey_env = "UPSTREAM_KEY"\n\n'
            for name, (protocol, path) in PROTOCOLS.items()))
        environment = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
        environment.update(UPSTREAM_KEY="upstream-key", HOME=str(folder), XDG_DATA_HOME=str(folder / "data"), XDG_CONFIG_HOME=str(folder / "config"))
        self.process = subprocess.Popen([program, "serve", "--config", str(config), "--listen", f"127.0.0.1:{self.port}"],
                                        env=environment, stdout=self.log.open("w"), stderr=subprocess.STDOUT)
        self.key = self.wait()

    def wait(self):
        """Waits until the gateway is ready and returns the key that it printed."""
        for _ in range(100):
            text = self.log.read_text()
            if self.process.poll() is not None:
                raise SystemExit(f"the gateway ended:\n{text}")
            found = re.search(r"\b(?:sk-|al-|agentloop[-_])[A-Za-z0-9_-]{16,}", text)
            if found and self.is_ready():
                return found[0]
            time.sleep(0.1)
        raise SystemExit(f"the gateway printed no key within 10 s:\n{self.log.read_text()}")

    def is_ready(self):
        try:
            return urllib.request.urlopen(f"{self.url}/health/ready", timeout=2).status == 200
        except OSError:
            return False

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
