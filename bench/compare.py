#!/usr/bin/env python3
"""Runs the contestants side by side and writes docs/benchmarks.md.

    python3 bench/compare.py              CPU time, allocations, memory, latency, idle streams, load
    python3 bench/compare.py --callgrind  instructions as well (needs valgrind; takes some minutes)

Other options: --no-build, --resume (keep the instructions that were counted already), --rounds N, --only NAME,NAME, --scenarios NAME,NAME, --stdout (print, write nothing).
Only Python's standard library is used.
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
OPENAI_ONLY = {"async-openai"}
# Whose HTTP/2 is in a binary of its own.
HTTP2 = {"minimal": "minimal-http2"}
LABELS = {"minimal": "minimal hyper", "ours": "**agentloop**", "reqwest-typed": "reqwest, typed", "rig": "rig-core"}

# Per scenario: what one unit is, units per answer, (few, many) answers for counting, answers per round for CPU time.
SCENARIOS = {
    "chat": ("call", 1, (20, 120), 3000),
    "chat-100k": ("call", 1, (2, 12), 400),
    "stream-openai": ("delta", 500, (2, 8), 60),
    "stream-anthropic": ("delta", 500, (2, 8), 60),
    "stream-gemini": ("delta", 500, (2, 8), 60),
    "tools-500": ("fragment", 500, (2, 8), 60),
    "tools-20000": ("fragment", 20000, (1, 2), 2),
    "text-1m": ("kB of text", 1000, (1, 3), 4),
    "text-10m": ("kB of text", 10000, (1, 2), 1),
}
# What instructions may be, as a ratio to minimal.
TARGETS = {"chat": 1.6, "chat-100k": 1.2, "stream-openai": 1.2, "stream-anthropic": 1.35, "stream-gemini": 1.25, "tools-500": 1.25}
# What would keep the machine busy for long.
SLOW = {
    ("genai", "tools-20000"), ("genai", "text-1m"), ("rig", "text-1m"),
    ("genai", "text-10m"), ("rig", "text-10m"), ("async-openai", "text-10m"), ("reqwest-typed", "text-10m"),
}
# Instructions that were counted before, for --resume.
KEPT = BENCH / "target" / "instructions.json"


def speaks(name, scenario):
    return not (name in OPENAI_ONLY and scenario in ("stream-anthropic", "stream-gemini")) and (name, scenario) not in SLOW


class Server:
    def __enter__(self):
        # Whom to trust at its address of HTTP/2.
        self.authority = BENCH / "target" / "authority.pem"
        self.process = subprocess.Popen([RELEASE / "bench-mock", self.authority], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.secure_url = self.process.stdout.readline().strip()
        return self

    def counts(self):
        """What was seen over HTTP/2 since the last look: streams open at once, and connections."""
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(self.url + "/counts") as answer:
            return json.load(answer)

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=10)


def run(name, scenario, url, count, concurrency=1, env=None, before=()):
    """One run: what the contestant says, and what it used of the machine."""
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
    """How many answers were wrong, by contestant and scenario."""

    def note(self, name, scenario, said):
        if said["wrong"]:
            self[name, scenario] = self.get((name, scenario), 0) + said["wrong"]


def over_http2(name, server, wrong):
    """Many chats at once over HTTP/2, each held for 20 ms; `–` where a contestant does not trust the server's authority or does not offer HTTP/2."""
    trusting = {"SSL_CERT_FILE": str(server.authority), "NO_PROXY": "127.0.0.1"}
    server.counts()
    began = time.monotonic()
    load, _, _ = run(HTTP2.get(name, name), "chat", server.secure_url, 10000, concurrency=256, env=trusting)
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


def build():
    # Each alone, so that nobody has features of shared crates that another asked for.
    for group in (["mock"], ["minimal-http2"], *([name] for name in CONTESTANTS)):
        packages = [word for name in group for word in ("-p", f"bench-{name}")]
        # A contestant may ask for a newer compiler than it needs.
        subprocess.run(["cargo", "build", "--release", "--ignore-rust-version", *packages], cwd=BENCH, check=True)


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


def ratios(title, values, names, scenarios, digits=0, spread=None, targets=None):
    """A table of absolute values with ratios to minimal."""
    rows = []
    for scenario in scenarios:
        unit = SCENARIOS[scenario][0]
        base = values.get(("minimal", scenario))
        row = [f"{scenario}, per {unit}"]
        for name in names:
            value = values.get((name, scenario))
            cell = show(value, digits)
            if value is not None and base and name != "minimal":
                cell += f" ({value / base:.2f}"
                if spread and (name, scenario) in spread:
                    cell += f" ± {spread[name, scenario]:.2f}"
                cell += ")"
            row.append(cell)
        if targets is not None:
            wanted, value = targets.get(scenario), values.get(("ours", scenario))
            met = wanted is None or value is None or not base or value / base <= wanted
            row.append("" if wanted is None else f"{wanted}{'' if met else ', missed'}")
        rows.append(row)
    head = [""] + [LABELS.get(name, name) for name in names] + (["target"] if targets is not None else [])
    return f"## {title}\n\n{table(head, rows)}\n"


def main():
    # A thousand streams need as many sockets.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    options = argparse.ArgumentParser()
    options.add_argument("--callgrind", action="store_true")
    options.add_argument("--no-build", action="store_true")
    options.add_argument("--resume", action="store_true")
    options.add_argument("--stdout", action="store_true")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--only", default=",".join(CONTESTANTS))
    options.add_argument("--scenarios", default=",".join(SCENARIOS))
    options = options.parse_args()
    names, scenarios = options.only.split(","), options.scenarios.split(",")
    if not options.no_build:
        build()
    names = [name for name in names if (RELEASE / f"bench-{name}").exists()]
    wrong, parts = Wrong(), []
    with Server() as server:
        url = server.url
        if options.callgrind:
            kept = json.loads(KEPT.read_text()) if options.resume and KEPT.exists() else {}
            counted = {}
            for scenario in scenarios:
                for name in filter(lambda name: speaks(name, scenario), names):
                    if f"{name} {scenario}" in kept:
                        counted[name, scenario] = kept[f"{name} {scenario}"]
                        continue

                    def measure(count, name=name, scenario=scenario):
                        found, said = instructions(name, scenario, url, count)
                        wrong.note(name, scenario, said)
                        return found if said["wrong"] == 0 else None

                    counted[name, scenario] = kept[f"{name} {scenario}"] = per_unit(measure, scenario)
                    KEPT.write_text(json.dumps(kept))
                    print(scenario, name, show(counted[name, scenario]), file=sys.stderr)
            text = ratios("Instructions (ratio to minimal)", counted, names, scenarios, targets=TARGETS)
            growth = []
            for name in names:
                few, many = counted.get((name, "tools-500")), counted.get((name, "tools-20000"))
                small, large = counted.get((name, "text-1m")), counted.get((name, "text-10m"))
                growth.append([LABELS.get(name, name), show(many / few if few and many else None, 2), show(large / small if small and large else None, 2)])
            text += "How the cost of a piece grows with the answer; 1 is linear:\n\n"
            text += table(["", "20,000 fragments against 500", "10 MB against 1 MB"], growth) + "\n"
            parts.append(text)

        allocations = {}
        for scenario in scenarios:
            for name in filter(lambda name: speaks(name, scenario), names):

                def measure(count, name=name, scenario=scenario):
                    said, _, _ = run(name, scenario, url, count, env={"BENCH_ALLOCATIONS": "1"})
                    wrong.note(name, scenario, said)
                    return said.get("allocations")

                allocations[name, scenario] = per_unit(measure, scenario)
        parts.append(ratios("Allocations", allocations, names, scenarios, digits=2))

        cpu, memory = {}, {}
        for _ in range(options.rounds):
            for scenario in scenarios:
                for name in filter(lambda name: speaks(name, scenario), names):
                    units, count = SCENARIOS[scenario][1], SCENARIOS[scenario][3]
                    said, used, _ = run(name, scenario, url, count)
                    wrong.note(name, scenario, said)
                    time_each = (used.ru_utime + used.ru_stime) / (count * units) * 1e6
                    cpu.setdefault((name, scenario), []).append(time_each)
                    memory[name, scenario] = max(memory.get((name, scenario), 0), said.get("peak_kib", 0) / 1024)
        medians = {key: statistics.median(values) for key, values in cpu.items()}
        spread = {}
        for (name, scenario), values in cpu.items():
            base = cpu.get(("minimal", scenario))
            if base and name != "minimal":
                each = [value / other for value, other in zip(values, base)]
                spread[name, scenario] = (max(each) - min(each)) / 2
        parts.append(ratios(f"CPU time in µs, user and system, median of {options.rounds} rounds (ratio, ± half its range)", medians, names, scenarios, digits=2, spread=spread))
        parts.append(ratios("Peak memory of the process in MiB", memory, names, scenarios, digits=1))

        rows = []
        for name in names:
            late = [run(name, "paced", url, 3)[0] for _ in range(3)]
            idle, _, _ = run(name, "idle", url, 1000, env={"BENCH_ALLOCATIONS": "1"})
            times = []
            for _ in range(3):
                began = time.monotonic()
                load, _, _ = run(name, "chat", url, 10000, concurrency=256)
                times.append(time.monotonic() - began)
                wrong.note(name, "chat", load)
            middle = [one["median_us"] for one in late if one.get("median_us") is not None]
            rows.append([
                LABELS.get(name, name),
                show(min(middle), 1) if middle else "–",
                show(idle.get("live_each", 0) / 1000, 1) + " / " + show(idle.get("resident_each", 0) / 1000, 1) if idle["wrong"] == 0 else "failed",
                f"{load['right']:,} right, {min(times):.2f} s, {load.get('peak_kib', 0) / 1024:.0f} MiB",
                over_http2(name, server, wrong),
            ])
        parts.append(
            "## Latency, idle streams, load\n\n"
            + table(["", "a delta's way, median in µs", "an idle stream of 1,000, kB allocated / resident", "10,000 chats, 256 at a time, HTTP/1.1", "10,000 chats, 256 at a time, HTTP/2"], rows)
            + "\nThe latency is from the server's write to the caller's sight of the delta, the best median of three runs; many chats over HTTP/1.1 are the best of three runs. Over HTTP/2 the server allows 100 streams a connection and holds\n"
            + "each answer for 20 ms: 256 chats are open at once only if they do not queue behind one connection.\n"
        )

    head = "# Benchmarks\n\n"
    head += "Written by `python3 bench/compare.py" + (" --callgrind" if options.callgrind else "") + "`; see bench/README.md for what is measured and how.\n\n"
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "?")
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.strip()
    head += f"- {time.strftime('%Y-%m-%d')}, {platform.system()} {platform.release()}, {os.cpu_count()} cores, {model}, {rustc}\n"
    head += f"- The load of the machine was {os.getloadavg()[1]:.1f} while this ran: times and latencies are to be read with that in mind, instructions and allocations are not touched by it.\n"
    listed = [f"{LABELS.get(name, name)} ({version(name)}, {crates(name)} crates)" for name in names]
    head += "- " + "; ".join(listed) + "; crates without procedural macros\n"
    if wrong:
        head += "\nWrong answers: " + "; ".join(f"{name}, {scenario}: {count}" for (name, scenario), count in sorted(wrong.items())) + ".\n"
    else:
        head += "\nEvery answer of every contestant was right.\n"
    left = [f"{name} {scenario}" for name, scenario in sorted(SLOW) if name in names and scenario in scenarios]
    if left:
        head += "\nLeft out because it would take too long: " + ", ".join(left) + ".\n"
    text = head + "\n" + "\n".join(parts).rstrip() + "\n"
    if options.stdout:
        print(text)
    else:
        # What bench/cli.py wrote stays.
        document = ROOT / "docs" / "benchmarks.md"
        kept = document.read_text().partition("\n## The command line tool\n") if document.exists() else ("", "", "")
        document.write_text(text + kept[1] + kept[2])


if __name__ == "__main__":
    main()
