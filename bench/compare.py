#!/usr/bin/env python3
"""Runs the contestants side by side and writes docs/benchmarks.md.

    python3 bench/compare.py              CPU time, latency, allocations, memory, idle streams, load
    python3 bench/compare.py --callgrind  instructions as well (needs valgrind; takes some minutes)

Other options: --no-build, --resume (keeps what was measured before, and measures the rest), --rounds N, --only NAME,NAME,
--scenarios NAME,NAME, --parts NAME,NAME (of instructions, allocations, cpu, latency, load), --stdout (prints, writes nothing).
Only Python's standard library is used. bench/README.md describes the method.
"""

import argparse
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
RELEASE = BENCH / "target" / "release"
CONTESTANTS = ["minimal", "ours", "reqwest-typed", "async-openai", "genai", "rig"]
# The protocols of those that do not have all four.
PROTOCOLS = {"async-openai": {"openai"}}
# Contestants whose HTTP/2 is in a binary of its own.
HTTP2 = {"minimal": "minimal-http2"}
LABELS = {"minimal": "minimal hyper", "ours": "**agentloop**", "reqwest-typed": "reqwest, typed", "rig": "rig-core"}
PARTS = ["instructions", "allocations", "cpu", "latency", "load"]
ALL_PROTOCOLS = ["openai", "responses", "anthropic", "gemini"]

# Per scenario: what one unit is, units per response, (few, many) responses for counting, responses per round for CPU time.
SCENARIOS = {
    **{f"chat-{name}": ("call", 1, (20, 120), 3000) for name in ALL_PROTOCOLS},
    **{f"chat-100k-{name}": ("call", 1, (2, 12), 400) for name in ALL_PROTOCOLS},
    **{f"paced-{name}": ("delta", 300, (1, 3), 3) for name in ALL_PROTOCOLS},
    **{f"stream-{name}": ("delta", 500, (2, 8), 60) for name in ALL_PROTOCOLS},
    "tools-500": ("fragment", 500, (2, 8), 60),
    "tools-20000": ("fragment", 20000, (1, 2), 2),
    "text-1m": ("kB of text", 1000, (1, 3), 4),
    "text-10m": ("kB of text", 10000, (1, 2), 1),
}
# The highest ratio to minimal that is allowed, in instructions.
TARGETS = {
    **{f"chat-{name}": 1.5 for name in ALL_PROTOCOLS},
    **{f"chat-100k-{name}": 1.2 for name in ALL_PROTOCOLS},
    **{f"paced-{name}": 1.2 for name in ALL_PROTOCOLS},
    "stream-openai": 1.2, "stream-responses": 1.35, "stream-anthropic": 1.35, "stream-gemini": 1.25, "tools-500": 1.25,
}
# Left out because it would keep the machine busy for long.
SLOW = {
    ("genai", "tools-20000"), ("genai", "text-1m"), ("rig", "text-1m"),
    ("genai", "text-10m"), ("rig", "text-10m"), ("async-openai", "text-10m"), ("reqwest-typed", "text-10m"),
}
# What was measured before, for --resume.
KEPT = BENCH / "target" / "measured.json"


def speaks(name, scenario):
    protocol = scenario.rpartition("-")[2]
    protocol = protocol if protocol in ALL_PROTOCOLS else "openai"
    return protocol in PROTOCOLS.get(name, ALL_PROTOCOLS) and (name, scenario) not in SLOW


class Server:
    def __enter__(self):
        # The certificate of its HTTP/2 server.
        self.authority = BENCH / "target" / "authority.pem"
        self.process = subprocess.Popen([RELEASE / "bench-mock", self.authority], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.secure_url = self.process.stdout.readline().strip()
        return self

    def counts(self):
        """Returns what was seen over HTTP/2 since the last call: the most streams open at once, and connections."""
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(self.url + "/counts") as answer:
            return json.load(answer)

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=10)


def run(name, scenario, url, count, concurrency=1, env=None, before=()):
    """Makes one run: returns what the contestant reports, and what it used of the machine."""
    command = [*before, str(RELEASE / f"bench-{name}"), scenario, url, str(count), str(concurrency)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **(env or {})})
    out, err = process.stdout.read(), process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    lines = out.decode().strip().splitlines()
    said = json.loads(lines[-1]) if lines and process.returncode == 0 else {"right": 0, "wrong": count}
    return said, used, err.decode()


def instructions(name, scenario, url, count):
    before = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
    said, _, err = run(name, scenario, url, count, before=before)
    found = re.search(r"Collected : (\d+)", err)
    return (int(found.group(1)) if found else None), said


class Wrong(dict):
    """Counts wrong responses, by contestant and scenario."""

    def note(self, name, scenario, said):
        if said["wrong"]:
            self[name, scenario] = self.get((name, scenario), 0) + said["wrong"]


def over_http2(name, server, wrong):
    """Makes many chats at once over HTTP/2, each held for 20 ms; `–` where a contestant does not trust the certificate or has no HTTP/2."""
    trusting = {"SSL_CERT_FILE": str(server.authority), "NO_PROXY": "127.0.0.1"}
    server.counts()
    began = time.monotonic()
    load, _, _ = run(HTTP2.get(name, name), "chat-openai", server.secure_url, 10000, concurrency=256, env=trusting)
    took, seen = time.monotonic() - began, server.counts()
    if load["right"] == 0:
        return "–"
    wrong.note(name, "chat over HTTP/2", load)
    return f"{load['right']:,} right, {took:.2f} s, {load.get('peak_kib', 0) / 1024:.0f} MiB, {seen['open']} open at once, {seen['connections']} connections"


def per_unit(measure, scenario):
    _, units, (few, many), _ = SCENARIOS[scenario]
    first, second = measure(few), measure(many)
    if first is None or second is None:
        return None
    return (second - first) / ((many - few) * units)


def build(names):
    # Each alone, so that none has features of shared crates that another asked for.
    helpers = [helper for name, helper in HTTP2.items() if name in names]
    for name in ("mock", *helpers, *names):
        # A contestant may ask for a newer compiler than it needs.
        subprocess.run(["cargo", "build", "--release", "--ignore-rust-version", "-p", f"bench-{name}"], cwd=BENCH, check=True)


def version(name):
    crate = {"minimal": "hyper", "ours": "agentloop", "reqwest-typed": "reqwest", "rig": "rig-core"}.get(name, name)
    lock = (BENCH / "Cargo.lock").read_text()
    found = re.search(rf'name = "{crate}"\nversion = "([^"]+)"', lock)
    return f"{crate} {found.group(1) if found else '?'}"


def crates(name):
    """The crates below a contestant, without the harness."""
    out = subprocess.run(
        ["cargo", "tree", "-p", f"bench-{name}", "-e", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe"],
        cwd=BENCH, capture_output=True, text=True, check=True,
    ).stdout
    return len({" ".join(line.split()[:2]) for line in out.splitlines() if line and not line.startswith("bench-")})


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def show(value, digits=0):
    return "–" if value is None else f"{value:,.{digits}f}"


def ratios(title, values, names, scenarios, digits=0, targets=None):
    """Writes a table of values with their ratios to minimal."""
    rows = []
    for scenario in scenarios:
        base = values.get(("minimal", scenario))
        row = [f"{scenario}, per {SCENARIOS[scenario][0]}"]
        for name in names:
            value = values.get((name, scenario))
            cell = show(value, digits)
            if value is not None and base and name != "minimal":
                cell += f" ({value / base:.2f})"
            row.append(cell)
        if targets is not None:
            wanted, value = targets.get(scenario), values.get(("ours", scenario))
            met = wanted is None or value is None or not base or value / base <= wanted
            row.append("" if wanted is None else f"{wanted}{'' if met else ', missed'}")
        rows.append(row)
    head = [""] + [LABELS.get(name, name) for name in names] + (["target"] if targets is not None else [])
    return f"## {title}\n\n{table(head, rows)}\n"


def quartiles(values):
    values = sorted(values)
    at = lambda part: values[min(len(values) - 1, int(part * (len(values) - 1) + 0.5))]
    return at(0.25), at(0.75)


def rounds_table(title, values, names, scenarios, digits):
    """Writes a table of what was measured in interleaved rounds: medians, and the quartiles of the ratios to minimal within a round."""
    rows = []
    for scenario in scenarios:
        base = values.get(("minimal", scenario))
        row = [scenario + (f", per {SCENARIOS[scenario][0]}" if scenario in SCENARIOS else "")]
        for name in names:
            each = values.get((name, scenario))
            cell = show(statistics.median(each) if each else None, digits)
            if each and base and name != "minimal":
                of_round = [value / other for value, other in zip(each, base)]
                low, high = quartiles(of_round)
                cell += f" ({statistics.median(of_round):.2f}; {low:.2f}–{high:.2f})"
            row.append(cell)
        rows.append(row)
    return f"## {title}\n\n{table([''] + [LABELS.get(name, name) for name in names], rows)}\n"


class Kept:
    """Holds what was measured, by part, contestant and scenario, and writes it to a file."""

    def __init__(self, resume):
        self.all = json.loads(KEPT.read_text()) if resume and KEPT.exists() else {}

    def get(self, part, name, scenario):
        return self.all.get(part, {}).get(f"{name} {scenario}")

    def set(self, part, name, scenario, value):
        self.all.setdefault(part, {})[f"{name} {scenario}"] = value
        KEPT.write_text(json.dumps(self.all))

    def has(self, name):
        return any(key.split(" ")[0] == name for part in self.all.values() for key in part)

    def part(self, part):
        return {tuple(key.split(" ")): value for key, value in self.all.get(part, {}).items() if value is not None}


def count(part, measured, kept, names, scenarios, wrong):
    """Counts what does not depend on time, for what was not counted before."""
    for scenario in scenarios:
        for name in filter(lambda name: speaks(name, scenario), names):
            if kept.get(part, name, scenario) is not None:
                continue

            def measure(responses, name=name, scenario=scenario):
                found, said = measured(name, scenario, responses)
                wrong.note(name, scenario, said)
                return found if said["wrong"] == 0 else None

            kept.set(part, name, scenario, per_unit(measure, scenario))
            print(part, scenario, name, show(kept.get(part, name, scenario), 2), file=sys.stderr)


def interleave(part, measured, kept, names, scenarios, rounds, wrong):
    """Measures times in rounds. All contestants run in every round, one after another, and each round begins with the next one of them,
    so that what else happens on the machine meets all of them alike."""
    for scenario in scenarios:
        taking = [name for name in names if speaks(name, scenario)]
        if all(kept.get(part, name, scenario) is not None for name in taking):
            continue
        each = {name: [] for name in taking}
        for number in range(rounds):
            for name in taking[number % len(taking):] + taking[:number % len(taking)]:
                found, said = measured(name, scenario)
                wrong.note(name, scenario, said)
                each[name].append(found)
        for name in taking:
            whole = all(value is not None for value in each[name])
            kept.set(part, name, scenario, each[name] if whole else None)


def growth(counted, names):
    rows = []
    for name in names:
        few, many = counted.get((name, "tools-500")), counted.get((name, "tools-20000"))
        small, large = counted.get((name, "text-1m")), counted.get((name, "text-10m"))
        rows.append([LABELS.get(name, name), show(many / few if few and many else None, 2), show(large / small if small and large else None, 2)])
    text = "The cost of a piece as the response grows; 1 is linear:\n\n"
    return text + table(["", "20,000 fragments against 500", "10 MB against 1 MB"], rows) + "\n"


def load(server, kept, names, rounds, wrong):
    for name in names:
        if kept.get("load", name, "all") is not None:
            continue
        idle, _, _ = run(name, "idle", server.url, 1000, env={"BENCH_ALLOCATIONS": "1"})
        times = []
        for _ in range(rounds):
            began = time.monotonic()
            many, _, _ = run(name, "chat-openai", server.url, 10000, concurrency=256)
            times.append(time.monotonic() - began)
            wrong.note(name, "chat-openai", many)
        held = f"{idle.get('live_each', 0) / 1000:.1f} / {idle.get('resident_each', 0) / 1000:.1f}"
        kept.set("load", name, "all", [
            held if idle["wrong"] == 0 else "failed",
            f"{many['right']:,} right, {statistics.median(times):.2f} s, {many.get('peak_kib', 0) / 1024:.0f} MiB",
            over_http2(name, server, wrong),
        ])


def main():
    # A thousand streams need as many sockets.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    options = argparse.ArgumentParser()
    options.add_argument("--callgrind", action="store_true")
    options.add_argument("--no-build", action="store_true")
    options.add_argument("--resume", action="store_true")
    options.add_argument("--stdout", action="store_true")
    options.add_argument("--rounds", type=int, default=11)
    options.add_argument("--only", default=",".join(CONTESTANTS))
    options.add_argument("--scenarios", default=",".join(SCENARIOS))
    options.add_argument("--parts", default=",".join(PARTS))
    options = options.parse_args()
    names, scenarios, parts = options.only.split(","), options.scenarios.split(","), options.parts.split(",")
    if not options.callgrind:
        parts = [part for part in parts if part != "instructions"]
    if not options.no_build:
        build(names)
    wrong, kept = Wrong(), Kept(options.resume)
    # Those that were measured before are shown too.
    shown = [name for name in names if kept.has(name) or (RELEASE / f"bench-{name}").exists()]
    names = [name for name in names if (RELEASE / f"bench-{name}").exists()]
    timed = [f"timed-{name}" for name in ALL_PROTOCOLS]
    with Server() as server:
        url = server.url
        if "instructions" in parts:
            count("instructions", lambda name, scenario, responses: instructions(name, scenario, url, responses), kept, names, scenarios, wrong)
        if "allocations" in parts:

            def allocations(name, scenario, responses):
                said, _, _ = run(name, scenario, url, responses, env={"BENCH_ALLOCATIONS": "1"})
                return said.get("allocations"), said

            count("allocations", allocations, kept, names, scenarios, wrong)
        if "cpu" in parts:

            def cpu(name, scenario):
                units, responses = SCENARIOS[scenario][1], SCENARIOS[scenario][3]
                said, used, _ = run(name, scenario, url, responses)
                most = kept.get("memory", name, scenario) or 0
                kept.set("memory", name, scenario, max(most, said.get("peak_kib", 0) / 1024))
                return (used.ru_utime + used.ru_stime) / (responses * units) * 1e6, said

            interleave("cpu", cpu, kept, names, scenarios, options.rounds, wrong)
        if "latency" in parts:

            def latency(name, scenario):
                said, _, _ = run(name, scenario, url, 1)
                return said.get("median_us"), said

            interleave("latency", latency, kept, names, timed, options.rounds, wrong)
        if "load" in parts:
            load(server, kept, names, 3, wrong)

    text = []
    if counted := kept.part("instructions"):
        text += [ratios("Instructions (ratio to minimal)", counted, shown, scenarios, targets=TARGETS), growth(counted, shown)]
    if counted := kept.part("allocations"):
        text.append(ratios("Allocations", counted, shown, scenarios, digits=2))
    if measured := kept.part("cpu"):
        title = "CPU time in µs, user and system: median of the rounds (median of the rounds' ratios; their quartiles)"
        text += [rounds_table(title, measured, names, scenarios, 2)]
        text += [ratios("Peak memory of the process in MiB", kept.part("memory"), names, scenarios, digits=1)]
    if measured := kept.part("latency"):
        title = "Latency of a delta in µs: median of the runs' medians (median of the rounds' ratios; their quartiles)"
        text.append(rounds_table(title, measured, names, timed, 1))
    if held := kept.part("load"):
        head = ["", "an idle stream of 1,000, kB allocated / resident", "10,000 chats, 256 at a time, HTTP/1.1", "10,000 chats, 256 at a time, HTTP/2"]
        text.append(
            "## Idle streams, load\n\n"
            + table(head, [[LABELS.get(name, name), *held[name, "all"]] for name in names if (name, "all") in held])
            + "\nMany chats over HTTP/1.1 are the median of three runs. Over HTTP/2 the server allows 100 streams on a connection and holds each response\n"
            + "for 20 ms: 256 chats are open at once only if they do not queue behind one connection.\n"
        )
    text = heading(options, shown, scenarios, wrong) + "\n" + "\n".join(text).rstrip() + "\n"
    if options.stdout:
        print(text)
    else:
        # The sections that are written by hand and by bench/cli.py stay.
        document = ROOT / "docs" / "benchmarks.md"
        old = document.read_text().partition("\n## Latency of a delta in ") if document.exists() else ("", "", "")
        document.write_text(text + old[1] + old[2])


def heading(options, names, scenarios, wrong):
    head = "# Benchmarks\n\n"
    head += "Written by `python3 bench/compare.py" + (" --callgrind" if options.callgrind else "") + "`; bench/README.md describes what is measured and how.\n\n"
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "?")
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.strip()
    head += f"- {time.strftime('%Y-%m-%d')}, {platform.system()} {platform.release()}, {os.cpu_count()} cores, {model}, {rustc}\n"
    head += f"- Times and latencies are from {options.rounds} interleaved rounds: all contestants run in every round, one after another, and a ratio is of two runs of one round.\n"
    head += f"- The load of the machine was {os.getloadavg()[1]:.1f} at the end. It disturbs times and latencies; instructions and allocations do not depend on it.\n"
    listed = [f"{LABELS.get(name, name)} ({version(name)}, {crates(name)} crates)" for name in names]
    head += "- " + "; ".join(listed) + "; crates without procedural macros\n"
    earlier = [LABELS.get(name, name) for name in names if not (RELEASE / f"bench-{name}").exists()]
    if earlier:
        head += f"- Of {', '.join(earlier)} the table has what an earlier run of the same scenarios counted.\n"
    if wrong:
        head += "\nWrong responses: " + "; ".join(f"{name}, {scenario}: {count}" for (name, scenario), count in sorted(wrong.items())) + ".\n"
    else:
        head += "\nEvery response of every contestant was right.\n"
    left = [f"{name} {scenario}" for name, scenario in sorted(SLOW) if name in names and scenario in scenarios]
    if left:
        head += "\nLeft out because it would take too long: " + ", ".join(left) + ".\n"
    return head


if __name__ == "__main__":
    main()
