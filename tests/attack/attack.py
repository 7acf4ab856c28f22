#!/usr/bin/env python3
"""Attacks a gateway with hostile clients and a hostile provider at the same time, and looks whether it still serves others.

    cargo build -p agentloop-cli
    tests/attack/attack.py --binary target/debug/agentloop --seconds 60

The gateway has two workers and 4 GB of addresses. Ten attackers make all requests of requests.py and get all responses of responses.py, relayed
and translated, streamed and complete; some of them stop reading. Idle connections stay open beside them. Meanwhile another key makes calls, and
a process of its own asks for /health/live. What is checked:

- the gateway lives, and ends in order when it is told to;
- every call of the other key gets its response;
- /health/live answers; how fast is printed, and only checked with --within MILLISECONDS, because other work of the machine counts;
- when the attack is over, the memory that the gateway holds is back.

Needs Python 3 on Linux only.
"""

import argparse
import http.client
import itertools
import json
import multiprocessing
import os
import resource
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "clients")]

from gateway import PROTOCOLS, Gateway  # noqa: E402
from requests import chat, requests  # noqa: E402
from responses import COMPLETE, STREAMED, Provider  # noqa: E402

ADDRESSES = 4 << 30
ATTACKERS = 10
# What allocators keep of what was freed, and the tables that have grown.
KEPT_BYTES = 256 << 20


def post(port, key, path, body, read=None, timeout=60):
    """Sends a request, and reads the response or the first bytes of it. Returns the status, and the body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("POST", path, body.encode(), {"content-type": "application/json", "authorization": f"Bearer {key}"})
        response = connection.getresponse()
        return response.status, response.read(read)
    finally:
        connection.close()


def steps():
    """All attacks: a name, a path, a body, and how many bytes of the response are read."""
    for name, path, body in requests():
        yield name, path, body, None
    for upstream, name in itertools.product(PROTOCOLS, COMPLETE):
        for path in ("/v1/chat/completions", "/v1/messages"):
            yield f"complete-{name}-{upstream}", path, chat(f"up-{upstream}/{name}"), None
    for upstream, name in itertools.product(PROTOCOLS, STREAMED):
        for path in ("/v1/chat/completions", "/v1/messages"):
            for read in (None, 1):
                yield f"stream-{name}-{upstream}", path, chat(f"up-{upstream}/{name}", stream=True), read


class Attack:
    def __init__(self, gateway, until):
        self.gateway, self.until = gateway, until
        self.steps = itertools.cycle(list(steps()))
        self.lock, self.made, self.statuses, self.slowest = threading.Lock(), 0, {}, (0, "")
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(ATTACKERS)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while time.time() < self.until and self.gateway.process.poll() is None:
            with self.lock:
                name, path, body, read = next(self.steps)
            begin = time.time()
            try:
                status, _ = post(self.gateway.port, self.gateway.key, path, body, read)
                if read:
                    time.sleep(0.2)
            except (OSError, http.client.HTTPException) as error:
                status = type(error).__name__
            took = time.time() - begin
            with self.lock:
                self.made += 1
                self.statuses[status] = self.statuses.get(status, 0) + 1
                self.slowest = max(self.slowest, (round(took, 2), name))


def idle(port, count):
    """Connections that send nothing, half a request, or the beginning of HTTP/2 and nothing else."""
    greetings = [b"", b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"]
    opened = []
    for number in range(count):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.sendall(greetings[number % len(greetings)])
        opened.append(connection)
    return opened


def ask_health(port, until, results):
    times, failures = [], 0
    while time.time() < until:
        begin = time.perf_counter()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", "/health/live")
            failures += connection.getresponse().status != 200
            connection.close()
        except OSError:
            failures += 1
        times.append((time.perf_counter() - begin) * 1000)
        time.sleep(0.05)
    results.put((sorted(times), failures))


def call_as_others(gateway, until, results):
    calls, wrong = 0, []
    for upstream in itertools.cycle(PROTOCOLS):
        if time.time() >= until:
            break
        for path in ("/v1/chat/completions", "/v1/messages"):
            try:
                status, body = post(gateway.port, gateway.key, path, chat(f"up-{upstream}/plain"))
                if status != 200 or "fine" not in body.decode():
                    wrong.append(f"{upstream} {path}: {status} {body[:200]}")
            except (OSError, http.client.HTTPException) as error:
                wrong.append(f"{upstream} {path}: {error!r}")
            calls += 1
            if len(wrong) == 20:
                break
        time.sleep(0.05)
    results.put((calls, wrong))


def held(process, what="VmRSS"):
    """The bytes of memory that a process has, or of addresses (VmSize); none if it has ended."""
    if process.poll() is not None:
        return 0
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) << 10
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--within", type=float, help="the milliseconds within which 99 of 100 questions for /health/live are to be answered")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="agentloop-attack-"))
    provider = Provider()
    # Of this process, and of what it starts from here on.
    os.environ["TOKIO_WORKER_THREADS"] = "2"
    unlimited = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, unlimited[1]))
    gateway = Hostile(options.binary, folder, provider.url)
    resource.setrlimit(resource.RLIMIT_AS, unlimited)
    problems, peak, addresses = [], 0, 0
    post(gateway.port, gateway.key, "/v1/chat/completions", chat("up-chat/plain"))
    before = held(gateway.process)
    until = time.time() + options.seconds
    queues = [multiprocessing.Queue() for _ in range(2)]
    observers = [
        multiprocessing.Process(target=ask_health, args=(gateway.port, until, queues[0]), daemon=True),
        multiprocessing.Process(target=call_as_others, args=(gateway, until, queues[1]), daemon=True),
    ]
    for observer in observers:
        observer.start()
    connections = idle(gateway.port, 100)
    attack = Attack(gateway, until)
    while time.time() < until and gateway.process.poll() is None:
        peak, addresses = max(peak, held(gateway.process)), max(addresses, held(gateway.process, "VmSize"))
        time.sleep(0.02)
    for thread in attack.threads:
        thread.join(120)
    times, failures = queues[0].get()
    calls, wrong = queues[1].get()
    print(f"{attack.made} attacks {attack.statuses}, the slowest {attack.slowest}")
    middle, most = times[len(times) // 2], times[len(times) * 99 // 100]
    print(f"/health/live {len(times)} times: median {middle:.1f} ms, 99 of 100 within {most:.1f} ms, all within {times[-1]:.1f} ms")
    print(f"{calls} calls of others")
    problems += [f"/health/live failed {failures} times"] if failures else []
    problems += wrong[:5]
    if options.within and most > options.within:
        problems.append(f"/health/live took {most:.1f} ms")
    for connection in connections:
        connection.close()
    print(f"at most {peak >> 20} MB of memory and {addresses >> 20} MB of addresses")
    if gateway.process.poll() is not None:
        said = [line for line in gateway.log.read_text(errors="replace").splitlines() if not line.startswith("{")]
        print(f"FAIL the gateway ended with {gateway.process.returncode}: {said[-5:]}")
        return 1
    after = settled(gateway.process, before)
    print(f"memory: {before >> 20} MB before, {after >> 20} after")
    if after > before + KEPT_BYTES:
        problems.append(f"{after - before >> 20} MB more than before are held")
    problems += gateway.stop()
    for problem in problems:
        print(f"FAIL {problem}")
    return 1 if problems else 0


def settled(process, before):
    """What a process holds when the last calls have ended."""
    for _ in range(100):
        after = held(process)
        if process.poll() is not None or after <= before + KEPT_BYTES:
            break
        time.sleep(0.1)
    return after


class Hostile(Gateway):
    """One provider per protocol, whose models have any name."""

    def config(self, upstream, aliases):
        text = super().config(upstream, aliases)
        for name, (_, path) in PROTOCOLS.items():
            text = text.replace(f'base_url = "{upstream}{path}"\nprotocol = "{PROTOCOLS[name][0]}"', f'base_url = "{upstream}/{name}{path}"\nprotocol = "{PROTOCOLS[name][0]}"')
        return text


if __name__ == "__main__":
    sys.exit(main())
