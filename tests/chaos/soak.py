#!/usr/bin/env python3
"""Runs three gateways with PostgreSQL and Redis for half an hour, with faults at intervals, and writes a report.

    cargo build -p agentloop-cli --features full
    tests/chaos/soak.py --minutes 30 --report soak       # soak.json and soak.md

The load, the faults and the checks are those of chaos.py. The last gateway is never killed, so its memory and its open files over time show
whether something grows. The report has, for each part of the time: requests, failures, response times, and of each gateway its resident
memory, open files, the bytes of its journal and its open reservations; and for the whole time how the ledger compares with the bill.
"""

import argparse
import json
import os
import sys
import time

from books import check_budgets, check_failures, check_journals, check_rows
from faults import Faults, Samples, draw
from load import Load
from stage import HERE, Stage

# How long each key with a small budget is used, in seconds.
SLOT = 20


def percentile(values, part):
    values = sorted(values)
    return round(1000 * values[min(len(values) - 1, int(len(values) * part))], 1) if values else None


def parts(stage, load, samples, began, ended, count):
    """Divides the time. Returns a line for each part."""
    lines, step = [], (ended - began) / count
    for number in range(count):
        start, end = began + number * step, began + (number + 1) * step
        calls = [call for call in load.calls if start <= call[0] < end]
        took = [call[1] for call in calls if call[2]]
        line = {
            "minute": round((end - began) / 60, 1),
            "calls": len(calls),
            "failed": sum(not call[2] for call in calls),
            "p50_ms": percentile(took, 0.5),
            "p99_ms": percentile(took, 0.99),
            "longest_ms": percentile(took, 1),
        }
        for node in stage.nodes:
            seen = [sample for sample in samples.samples if sample["node"] == node.name and start <= sample["time"] < end]
            line[node.name] = {
                "resident_mb": round(max((sample["resident_kb"] for sample in seen), default=0) / 1024, 1),
                "files": max((sample["files"] for sample in seen), default=0),
                "journal_kb": round(max((sample["journal_bytes"] for sample in seen), default=0) / 1024, 1),
                "open_calls": max((sample["open_calls"] for sample in seen), default=0),
                "unstored_rows": max((sample["unstored_rows"] for sample in seen), default=0),
            }
        lines.append(line)
    return lines


def markdown(report):
    nodes = [name for name in report["parts"][0] if name.startswith("node-")]
    text = "| minute | calls | failed | p50 | p99 | longest | " + " | ".join(f"{name}: MB, files, journal kB, open, unstored" for name in nodes) + " |\n"
    text += "|---" * (6 + len(nodes)) + "|\n"
    for line in report["parts"]:
        of_nodes = [", ".join(str(value) for value in line[name].values()) for name in nodes]
        cells = [line["minute"], line["calls"], line["failed"], *(f"{line[name]} ms" for name in ("p50_ms", "p99_ms", "longest_ms")), *of_nodes]
        text += "| " + " | ".join(map(str, cells)) + " |\n"
    text += "\n| | |\n|---|---|\n"
    for name, value in report["figures"].items():
        text += f"| {name.replace('_', ' ')} | {value} |\n"
    for name, value in report["results"].items():
        text += f"| {name} | {value} |\n"
    text += "\n" + ("No problems.\n" if not report["problems"] else "".join(f"- {problem}\n" for problem in report["problems"]))
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=os.path.join(HERE, "../../target/debug/agentloop"))
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--wait", type=float, default=0.1, help="how long a thread waits between two calls, in seconds")
    parser.add_argument("--pause", type=float, default=45, help="the longest time between two faults of a kind, in seconds")
    parser.add_argument("--longest", type=float, default=15, help="the longest fault, in seconds")
    parser.add_argument("--parts", type=int, default=6, help="into how many parts the report divides the time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", default="soak", help="what the names of the files of the report begin with")
    options = parser.parse_args()
    seconds = options.minutes * 60
    stage = Stage(options.binary, options.nodes, True, True, int(seconds / SLOT) + 2)
    print(f"folder: {stage.folder}", flush=True)
    keep = True
    try:
        schedule = draw(options.seed, seconds - options.longest, options.nodes, longest=options.longest, pause=options.pause)
        samples, began = Samples(stage), time.time()
        load = Load(stage, options.threads, options.seed, options.wait, SLOT)
        faults = Faults(stage, schedule)
        try:
            while time.time() < began + seconds:
                time.sleep(min(60, max(0.1, began + seconds - time.time())))
                print(f"minute {(time.time() - began) / 60:.0f}: {len(stage.provider.bill)} calls on the bill, {len(faults.done)} faults, {len(load.failures)} failures", flush=True)
        finally:
            faults.stop()
            time.sleep(8)
            load.stop()
            samples.stop()
        ended = time.time()
        for node in stage.nodes:
            node.stop()
        rows = stage.rows()
        found, figures = check_rows(stage, rows)
        of_budgets, budgets = check_budgets(stage, rows, samples.failures())
        problems = faults.errors + check_journals(stage) + found + of_budgets + check_failures(load, any(node.kills for node in stage.nodes))
        figures["kills"] = sum(len(node.kills) for node in stage.nodes)
        figures["faults"] = len(faults.done)
        figures["keys_above_their_budget"] = sum(line["over"] > 0 for line in budgets)
        report = {
            "minutes": round((ended - began) / 60, 1),
            "binary": stage.binary,
            "seed": options.seed,
            "faults": [{"began": round(start - began, 1), "ended": round(end - began, 1), **event} for start, end, event in faults.done],
            "figures": figures,
            "results": {" ".join(map(str, result)): count for result, count in sorted(load.results.items(), key=str)},
            "caches": load.caches,
            "faults_of_the_provider": stage.provider.faults,
            "parts": parts(stage, load, samples, began, ended, options.parts),
            "budgets": budgets,
            "failures": load.failures,
            "problems": problems,
        }
        with open(options.report + ".json", "w") as file:
            json.dump(report, file, indent=1)
        with open(options.report + ".md", "w") as file:
            file.write(markdown(report))
        print(markdown(report))
        keep = bool(problems)
    finally:
        stage.end(keep)
    sys.exit(1 if problems else 0)


main()
