#!/usr/bin/env python3
"""Compares a model in the process with llama.cpp's own server, in one run: tokens per second of the same prompt and the same file.

    python3 bench/local.py --agentloop PATH --model FILE.gguf [--server URL] [--tokens N] [--rounds N]

--agentloop is a command built with `--release --features local`. --server is the URL of a server with the same model that speaks OpenAI's chat
protocol, for example llama-server; without it only the model in the process is measured. Both get one thread and take turns, so that other load
on the machine affects both. The time is that of the whole call, minus that of a call with one token, which contains the start and the prompt.
"""

import argparse
import json
import os
import statistics
import subprocess
import time
import urllib.request

PROMPT = "Write a long story about a lighthouse and the people who live near it."


def in_process(arguments, tokens):
    command = [arguments.agentloop, "--quiet", "--no-log", "--json", "-m", f"local/{os.path.abspath(arguments.model)}"]
    command += ["--max-tokens", str(tokens), "--temperature", "0", PROMPT]
    environment = {**os.environ, "AGENTLOOP_LOCAL_THREADS": "1", "AGENTLOOP_LOCAL_CONTEXT": "2048"}
    started = time.monotonic()
    result = subprocess.run(command, capture_output=True, env=environment, check=False, stdin=subprocess.DEVNULL)
    took = time.monotonic() - started
    response = json.loads(result.stdout)
    return response["usage"]["completionTokens"], took


def server(arguments, tokens):
    body = {"model": "any", "max_tokens": tokens, "temperature": 0, "messages": [{"role": "user", "content": PROMPT}]}
    request = urllib.request.Request(
        f"{arguments.server}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    started = time.monotonic()
    with urllib.request.urlopen(request) as response:
        reply = json.load(response)
    return reply["usage"]["completion_tokens"], time.monotonic() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agentloop", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--server")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    measured = {"in process": in_process}
    if arguments.server:
        measured["llama.cpp's server"] = server
    rates = {name: [] for name in measured}
    for _ in range(arguments.rounds):
        for name, measure in measured.items():
            few, base = measure(arguments, 1)
            many, whole = measure(arguments, arguments.tokens)
            rates[name].append((many - few) / max(whole - base, 1e-9))
    for name, values in rates.items():
        print(f"{name}: median {statistics.median(values):.1f} tokens/s, from {min(values):.1f} to {max(values):.1f}")


if __name__ == "__main__":
    main()
