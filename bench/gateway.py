#!/usr/bin/env python3
"""Compares the gateway with other proxies: CPU time per request and per chunk, start, memory, idle streams.

    python3 bench/gateway.py [--rounds 7] [--binary target/release/agentloop] [--litellm VENV/bin/litellm] [--crabllm BIN] [--only ours,hyper]

Builds the gateway and `bench/gateway` in release mode unless --binary and --helper name binaries. All contestants stand before the same upstream, run
at the same time and are asked in turn in every round; a figure is the median of its rounds. CPU time is that of the contestant's
processes (user and system, from /proc), so what the client and the upstream cost does not count. nginx, crabllm and LiteLLM are left out, loudly, if
they are not installed.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEY = "al-bench"
TICK = os.sysconf("SC_CLK_TCK")


def processes(pid):
    """A process and all that it started."""
    found = [pid]
    for each in found:
        try:
            for task in os.listdir(f"/proc/{each}/task"):
                found += [int(child) for child in Path(f"/proc/{each}/task/{task}/children").read_text().split()]
        except OSError:
            pass
    return found


def cpu(pid):
    """CPU seconds of a process and its children, by schedstat where it exists (nanoseconds), else in ticks."""
    total = 0.0
    for each in processes(pid):
        try:
            tasks = os.listdir(f"/proc/{each}/task")
            total += sum(int(Path(f"/proc/{each}/task/{task}/schedstat").read_text().split()[0]) for task in tasks) / 1e9
        except (OSError, IndexError, ValueError):
            fields = Path(f"/proc/{each}/stat").read_text().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / TICK
    return total


def resident(pid):
    total = 0
    for each in processes(pid):
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{each}/status").read_text())
        total += int(found.group(1)) if found else 0
    return total / 1024


def start(command, log, **options):
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.Popen(command, stderr=open(log, "w"), text=True, **options)


def wait_for(url, seconds=60):
    """Waits until a server answers, and returns how long it took."""
    began = time.monotonic()
    host, port = url.replace("http://", "").split(":")
    import socket
    while time.monotonic() - began < seconds:
        try:
            socket.create_connection((host, int(port)), 1).close()
            return time.monotonic() - began
        except OSError:
            time.sleep(0.002)
    raise SystemExit(f"{url} does not answer")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--binary")
    parser.add_argument("--helper")
    parser.add_argument("--litellm")
    parser.add_argument("--crabllm")
    parser.add_argument("--only")
    parser.add_argument("--log", default="off", choices=["off", "json", "text"])
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--idle", type=int, default=10000)
    args = parser.parse_args()
    # A stream needs two connections of the gateway.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # Over HTTP/2 many streams share one of them: what the limit of open files does not allow over HTTP/1.1 goes over HTTP/2.
    plain = max(0, min(args.idle, hard - 1000 - args.idle - args.idle // 250))
    if not args.binary:
        subprocess.run(["cargo", "build", "--release", "-q", "-p", "agentloop-cli"], cwd=ROOT, check=True)
        args.binary = str(ROOT / "target/release/agentloop")
    if not args.helper:
        subprocess.run(["cargo", "build", "--release", "-q", "-p", "bench-gateway"], cwd=ROOT / "bench", check=True)
        args.helper = str(ROOT / "bench/target/release/bench-gateway")
    folder = Path(tempfile.mkdtemp(prefix="agentloop-bench-"))
    running, contestants = [], {}

    mock = start([args.helper, "mock"], folder / "mock.log")
    running.append(mock)
    upstream = mock.stdout.readline().strip()

    def wanted(name):
        return not args.only or name in args.only.split(",")

    if wanted("hyper"):
        proxy = start([args.helper, "proxy", upstream], folder / "proxy.log")
        running.append(proxy)
        contestants["hyper proxy"] = (proxy.pid, proxy.stdout.readline().strip(), "/v1/chat/completions", "m")
    if wanted("nginx"):
        binary = next((path for path in ("/usr/sbin/nginx", "/usr/bin/nginx") if os.path.exists(path)), None)
        if binary:
            (folder / "nginx.conf").write_text(f"""
daemon off; worker_processes 2; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 4096; }}
http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  keepalive_requests 1000000;
  upstream up {{ server {upstream.replace("http://", "")}; keepalive 256; keepalive_requests 1000000; }}
  server {{ listen 127.0.0.1:18473; location / {{ proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }} }} }}
""")
            nginx = start([binary, "-c", str(folder / "nginx.conf")], folder / "nginx.err")
            running.append(nginx)
            wait_for("http://127.0.0.1:18473")
            contestants["nginx"] = (nginx.pid, "http://127.0.0.1:18473", "/v1/chat/completions", "m")
        else:
            print("!! nginx is not installed and is left out", file=sys.stderr)

    (folder / "agentloop.toml").write_text(f"""
[providers.up]
base_url = "{upstream}/v1"
[[models."up/m".prices]]
per_million = {{ input = "0.10", output = "0.40" }}
[gateway.keys.bench]
key_env = "BENCH_KEY"
team = "bench"
budget = ["1000000/day", "9000000/total"]
requests_per_minute = 100000000
tokens_per_minute = 1000000000
concurrency = 100000
[gateway.teams.bench]
budget = "5000000/month"
""")
    environment = {**os.environ, "BENCH_KEY": KEY, "AGENTLOOP_DATA": str(folder), "HOME": str(folder)}

    def gateway(port):
        command = [args.binary, "--config", str(folder / "agentloop.toml"), "serve", "--listen", f"127.0.0.1:{port}", "--admin-listen", f"127.0.0.1:{port + 1}", "--log", args.log]
        return start(command, folder / f"ours-{port}.log", env=environment)

    began = time.monotonic()
    ours = gateway(18480)
    running.append(ours)
    wait_for("http://127.0.0.1:18480")
    started = time.monotonic() - began
    idle_memory = resident(ours.pid)
    contestants["agentloop, relayed"] = (ours.pid, "http://127.0.0.1:18480", "/v1/chat/completions", "up/m")
    contestants["agentloop, translated"] = (ours.pid, "http://127.0.0.1:18480", "/v1/messages", "up/m")
    if args.crabllm:
        # With its counts of usage, in memory. Its budgets and its ledger in SQLite are off.
        (folder / "crabllm.toml").write_text(f"""
listen = "127.0.0.1:18495"
[[keys]]
name = "bench"
key = "{KEY}"
models = ["*"]
[providers.up]
kind = "openai"
api_key = "sk-x"
base_url = "{upstream}/v1"
models = ["m"]
[extensions]
usage = {{}}
""")
        crabllm = start([args.crabllm, "serve", "--config", str(folder / "crabllm.toml")], folder / "crabllm.log", env=environment, stdout=subprocess.DEVNULL)
        running.append(crabllm)
        wait_for("http://127.0.0.1:18495")
        contestants["crabllm"] = (crabllm.pid, "http://127.0.0.1:18495", "/v1/chat/completions", "m")
    else:
        print("!! crabllm is left out: name its binary with --crabllm", file=sys.stderr)
    if args.litellm:
        (folder / "litellm.yaml").write_text(f"""
model_list:
  - model_name: m
    litellm_params: {{ model: openai/m, api_base: "{upstream}/v1", api_key: sk-x }}
general_settings: {{ master_key: {KEY} }}
""")
        litellm = start([args.litellm, "--config", str(folder / "litellm.yaml"), "--port", "18490", "--host", "127.0.0.1"], folder / "litellm.log", env=environment)
        running.append(litellm)
        wait_for("http://127.0.0.1:18490", 120)
        time.sleep(5)
        contestants["LiteLLM"] = (litellm.pid, "http://127.0.0.1:18490", "/v1/chat/completions", "m")
    else:
        print("!! LiteLLM is left out: name its binary with --litellm", file=sys.stderr)

    def load(contestant, stream, count, concurrency):
        pid, url, path, model = contestant
        body = {"model": model, "stream": stream, "max_tokens": 100, "messages": [{"role": "user", "content": "Hello there. " * 20}]}
        before = cpu(pid)
        command = [args.helper, "load", url, path, json.dumps(body), str(count), str(concurrency), KEY]
        good = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0])
        if good != count:
            raise SystemExit(f"{url}{path}: {good} of {count} requests succeeded; see {folder}")
        return cpu(pid) - before

    try:
        figures = {name: {"request": [], "chunk": []} for name in contestants}
        names = list(contestants)
        for name in names:  # connections and caches
            load(contestants[name], False, 50, 8)
            load(contestants[name], True, 4, 4)
        for number in range(args.rounds):
            for name in names[number % len(names):] + names[:number % len(names)]:
                slow = name == "LiteLLM"
                requests, streams = (args.requests // 10, 10) if slow else (args.requests, 20)
                figures[name]["request"].append(load(contestants[name], False, requests, 16) / requests * 1e6)
                figures[name]["chunk"].append(load(contestants[name], True, streams, streams) / (streams * 303) * 1e6)
        base = figures.get("hyper proxy")
        print("| | CPU per request | × hyper | CPU per chunk | × hyper |\n|---|---|---|---|---|")
        for name in names:
            row = [name]
            for kind in ("request", "chunk"):
                values = figures[name][kind]
                ratios = [value / other for value, other in zip(values, base[kind])] if base else [float("nan")]
                row += [f"{statistics.median(values):.1f} µs", f"{statistics.median(ratios):.2f}"]
            print("| " + " | ".join(row) + " |")
        print(f"\nstart to the first connection: {started * 1000:.0f} ms; resident after the start: {idle_memory:.1f} MB")

        for name in [name for name in names if name.startswith("agentloop")] if args.idle else []:
            pid, url, path, model = contestants[name]
            before = resident(pid)
            body = {"model": model, "stream": True, "max_tokens": 100, "messages": [{"role": "user", "content": "stall"}]}
            holder = subprocess.Popen([args.helper, "idle", url, path, json.dumps(body), str(plain), str(args.idle - plain), KEY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for version in ("HTTP/1.1", "HTTP/1.1 and HTTP/2"):
                held = int(holder.stdout.readline() or 0)
                print(f"{name}: {held} idle streams over {version}, {(resident(pid) - before) * 1024 / max(held, 1):.1f} kB each")
            holder.stdin.close()
            holder.wait()
    finally:
        for process in reversed(running):
            process.terminate()


main()
