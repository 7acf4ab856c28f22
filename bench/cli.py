#!/usr/bin/env python3
"""Measures the command line tool and writes its section of docs/benchmarks.md.

    python3 bench/cli.py             builds it from nothing in a folder of its own, measures, writes
    python3 bench/cli.py --no-build  keeps the build that is there, and the time it took

The cold start is from just before the process is made to the first byte that a server has of it: of the request over
http, of the handshake over https, where the certificates of the machine have been read. Only Python's standard library
is used.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import threading
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
TARGET = BENCH / "target" / "cli"
KEPT = BENCH / "target" / "cli.json"
DOCUMENT = ROOT / "docs" / "benchmarks.md"
HEAD = "## The command line tool"
RUNS = 20
# Milliseconds to the first byte.
TARGET_MS = 15
ANSWER = json.dumps({
    "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}).encode()


class Server:
    """Notes when the first byte of each connection came."""

    def __init__(self, answers):
        self.answers, self.first = answers, None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            with connection:
                received = connection.recv(65536)
                self.first = self.first or time.monotonic()
                if not self.answers:
                    continue
                while b"\r\n\r\n" not in received:
                    received += connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER))


def build():
    """The seconds of a build from nothing. What is downloaded is not part of it."""
    subprocess.run(["cargo", "fetch", "--locked"], cwd=ROOT, check=True)
    subprocess.run(["rm", "-rf", TARGET], check=True)
    began, before = time.monotonic(), os.times()
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "agentloop-cli", "--features", "full"], cwd=ROOT, check=True, env={**os.environ, "CARGO_TARGET_DIR": str(TARGET)})
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    KEPT.write_text(json.dumps({"seconds": time.monotonic() - began, "cpu": used, "load": os.getloadavg()[1]}))


def starts(binary, scheme):
    """The milliseconds of each start."""
    server, took = Server(answers=scheme == "http"), []
    env = {"PATH": os.environ["PATH"], "HOME": str(TARGET), "OPENAI_API_KEY": "sk-mock", "AGENTLOOP_OPENAI_BASE_URL": f"{scheme}://127.0.0.1:{server.port}/v1"}
    for run in range(RUNS + 1):
        server.first = None
        began = time.monotonic()
        process = subprocess.Popen([binary, "chat", "--model", "openai/m", "Is the sky blue?"], env=env, cwd=TARGET, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = began + 10
        while server.first is None and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.0005)
        time.sleep(0.01)
        process.kill()
        said = process.communicate()[1]
        if server.first is None:
            raise SystemExit(f"it sent nothing: {said.decode()}")
        # The first reads the binary from the disk.
        if run:
            took.append((server.first - began) * 1000)
    return took


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--no-build", action="store_true")
    options = options.parse_args()
    if not options.no_build:
        build()
    built, binary = json.loads(KEPT.read_text()), TARGET / "release" / "agentloop"
    text = f"{HEAD}\n\nWritten by `python3 bench/cli.py` on {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores.\n\n"
    text += "|  |  |\n|---|---|\n"
    text += f"| release build from nothing with all features (thin LTO, one unit a crate) | {built['seconds']:.0f} s, {built['cpu']:.0f} s of CPU, at a load of {built['load']:.1f} |\n"
    text += f"| size of the binary | {binary.stat().st_size / 1e6:.1f} MB |\n"
    for scheme in ("http", "https"):
        took = starts(binary, scheme)
        middle = statistics.median(took)
        missed = "" if middle < TARGET_MS else ", missed"
        text += f"| cold start to the first byte sent, {scheme} | {middle:.1f} ms, median of {RUNS} ({min(took):.1f} to {max(took):.1f}), at a load of {os.getloadavg()[0]:.1f}; target {TARGET_MS} ms{missed} |\n"
    document = DOCUMENT.read_text().split(f"\n{HEAD}\n")[0].rstrip() + "\n"
    DOCUMENT.write_text(f"{document}\n{text}")
    print(text)


if __name__ == "__main__":
    main()
