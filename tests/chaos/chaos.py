#!/usr/bin/env python3
"""Kills gateways under load, breaks their databases and their provider, and compares their ledger with the bill of the provider.

    cargo build -p agentloop-cli --features full
    tests/chaos/chaos.py --kills 200                          # one gateway, SQLite
    tests/chaos/chaos.py --kills 200 --nodes 3 --postgres --redis
    tests/chaos/chaos.py --nodes 3 --postgres --outage 60     # PostgreSQL is stopped for a minute
    tests/chaos/chaos.py --full                               # the disk with the data folder is full (needs root, for a small tmpfs)
    tests/chaos/chaos.py --nodes 3 --postgres --redis --break redis --seconds 60          # Redis is stopped, slow, wiped …
    tests/chaos/chaos.py --nodes 3 --postgres --redis --break redis,kill --seconds 60     # and gateways are killed
    tests/chaos/chaos.py --nodes 3 --postgres --redis --break redis,postgres,kill --seed 1 --seeds 20   # everything, 20 schedules

With `--break`, what happens and when follows from the seed, which is printed with its schedule. It needs Python 3 only, and for the options the
Debian packages of PostgreSQL and Redis. What is checked afterwards:

- every call on the provider's bill has a row, and no two rows have the same id;
- an exact row has the tokens and the cost of the bill, and a call has at most as many exact rows as lines on the bill;
- an estimated row differs from the bill by at most the amount that was reserved;
- calls that the provider refused have no row, and those of the cache cost nothing;
- the journals have no reservation without an end, and no row that is not stored;
- keys with a small budget have not spent more than it and the bound of docs/gateway/teams.md;
- no call of a key with a large budget failed, except those that a kill ended.
"""

import argparse
import json
import os
import random
import sys
import time

from books import check_budgets, check_failures, check_journals, check_rows
from faults import Faults, Samples, draw
from load import SLOT, Load
from stage import HERE, Stage


def kill_nodes(stage, options, choose):
    restarts = []
    for number in range(options.kills):
        time.sleep(choose.uniform(0, options.pause))
        restarts.append(choose.choice(stage.nodes).restart())
        if (number + 1) % 20 == 0:
            print(f"{number + 1} kills, {len(stage.provider.bill)} calls on the bill", flush=True)
    print_restarts(restarts)


def print_restarts(restarts):
    restarts = sorted(restarts)
    middle, longest = restarts[len(restarts) // 2], ", ".join(f"{time:.2f}" for time in restarts[-5:])
    print(f"seconds of a restart: median {middle:.2f}, longest {longest}")


def check_degraded(stage):
    """A fault that no gateway notices was none: the run would show nothing."""
    problems = []
    for node in stage.nodes:
        text = node.ready()
        print(f"{node.name}: {text.strip()}", flush=True)
        if "degraded" not in text:
            problems.append(f"{node.name} does not say that something is wrong")
    return problems


def stop_postgres(stage, options):
    time.sleep(3)
    stage.control_postgres("stop")
    time.sleep(options.outage)
    problems = check_degraded(stage)
    stage.control_postgres("start")
    time.sleep(8)
    return problems


def fill_disk(stage):
    """Fills the disk until nothing more can be written, for ten seconds."""
    time.sleep(3)
    path = os.path.join(stage.data, "filler")
    with open(path, "wb", buffering=0) as file:
        end = time.time() + 10
        while time.time() < end:
            try:
                file.write(b"x" * 4096)
            except OSError:
                time.sleep(0.01)
        problems = check_degraded(stage)
    os.unlink(path)
    time.sleep(8)
    return problems


def break_things(stage, options, seed):
    """Makes the faults that follow from the seed."""
    only = dict(part.split("=") for part in options.only.split(",")) if options.only else {}
    only = {lane: faults.split("+") for lane, faults in only.items()}
    schedule = draw(seed, options.seconds, len(stage.nodes), options.lanes, options.longest, only)
    print(f"seed {seed}: {len(schedule)} faults", flush=True)
    for event in schedule:
        print("  " + json.dumps(event))
    faults = Faults(stage, schedule)
    faults.join()
    # Redis is looked for every two seconds, and PostgreSQL every five.
    time.sleep(8)
    if faults.restarts:
        print_restarts(faults.restarts)
    return faults.errors


def run(options, seed):
    """Makes one run. Returns what is wrong."""
    choose = random.Random(seed)
    tight = int(options.seconds / SLOT) + 2 if options.lanes and options.redis else 0
    stage = Stage(options.binary, options.nodes, options.postgres, options.redis, tight, options.full)
    print(f"folder: {stage.folder}", flush=True)
    problems, keep = [], True
    try:
        samples = Samples(stage, 0.25)
        load = Load(stage, options.threads, seed)
        try:
            if options.kills:
                kill_nodes(stage, options, choose)
            if options.outage:
                problems += stop_postgres(stage, options)
            if options.full:
                problems += fill_disk(stage)
            if options.lanes:
                problems += break_things(stage, options, seed)
            if not (options.kills or options.outage or options.full or options.lanes):
                time.sleep(5)
        finally:
            load.stop()
            samples.stop()
        for node in stage.nodes:
            node.stop()
        rows = stage.rows()
        found, figures = check_rows(stage, rows)
        of_budgets, budgets = check_budgets(stage, rows, samples.failures())
        problems += check_journals(stage) + found + of_budgets + check_failures(load, any(node.kills for node in stage.nodes))
        if sum(sample["lost_rows"] for sample in samples.samples):
            problems.append("a gateway reports lost rows")
        results = {" ".join(map(str, result)): count for result, count in sorted(load.results.items(), key=str)}
        caches = {f"cache {name}": count for name, count in load.caches.items()}
        print(json.dumps({**figures, **caches, **results, "faults_of_the_provider": stage.provider.faults}, indent=1))
        for line in budgets:
            print(json.dumps(line))
        keep = options.keep or bool(problems)
    finally:
        stage.end(keep)
    for problem in problems[:50]:
        print("PROBLEM:", problem)
    if problems:
        print(f"seed {seed}: {len(problems)} problems; the folder is kept: {stage.folder}")
    print(f"seed {seed}: {'FAILED' if problems else 'passed'}", flush=True)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=os.path.join(HERE, "../../target/debug/agentloop"))
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--pause", type=float, default=0.8, help="the longest time between two kills, in seconds")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--redis", action="store_true")
    parser.add_argument("--outage", type=float, default=0, help="stops PostgreSQL for this many seconds")
    parser.add_argument("--full", action="store_true", help="fills the disk for ten seconds")
    parser.add_argument("--break", dest="lanes", default="", help="what is broken at random times: any of redis,postgres,kill")
    parser.add_argument("--only", default="", help="the faults of a lane, such as redis=slow+wipe,postgres=stop")
    parser.add_argument("--seconds", type=float, default=30, help="how long things are broken")
    parser.add_argument("--longest", type=float, default=6, help="the longest fault, in seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1, help="how many runs to make, with one seed after the other")
    parser.add_argument("--keep", action="store_true", help="keeps the folder, with the logs of the gateways")
    options = parser.parse_args()
    options.lanes = [lane for lane in options.lanes.split(",") if lane]
    failed = [seed for seed in range(options.seed, options.seed + options.seeds) if run(options, seed)]
    if options.seeds > 1:
        print(f"{options.seeds - len(failed)} of {options.seeds} seeds passed; failed: {failed}")
    sys.exit(1 if failed else 0)


main()
