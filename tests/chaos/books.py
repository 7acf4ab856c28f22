"""Compares the ledger with the bill of the provider, and the spend of keys with their budgets."""

import collections
import glob
import json
import os
import zlib
from decimal import Decimal

from provider import picos
from stage import TIGHT


def check_journals(stage):
    """Reads the journals as an operator would: every reservation has an end, and every row is stored."""
    problems = []
    for node in stage.nodes:
        begun, settled, stored, damaged = set(), {}, 0, 0
        for path in sorted(glob.glob(os.path.join(node.folder, "journal", "journal-*.log"))):
            with open(path, "rb") as file:
                for line in file:
                    line = line.rstrip(b"\n")
                    if int(line[:8], 16) != zlib.crc32(line[8:]):
                        damaged += 1
                        continue
                    kind, rest = line[9:10], line[11:]
                    if kind == b"R":
                        begun.add(json.loads(rest)["id"])
                    elif kind == b"S":
                        settled[int(rest[:16], 16)] = json.loads(rest[17:])["id"]
                        begun.discard(settled[int(rest[:16], 16)])
                    elif kind == b"L":
                        begun.discard(json.loads(rest))
                    elif kind == b"A":
                        stored = max(stored, int(rest, 16))
        waiting = [number for number in settled if number > stored]
        if begun or waiting or damaged:
            problems.append(f"{node.name}: {len(begun)} open, {len(waiting)} not stored, {damaged} damaged")
    return problems


def check_rows(stage, rows):
    """Compares the ledger with the bill. Returns what is wrong, and figures."""
    problems, bill = [], stage.provider.bill
    if len({row["id"] for row in rows}) != len(rows):
        problems.append("two rows have the same id")
    figures = collections.Counter(calls_on_the_bill=len(bill), rows=len(rows))
    of_label, billed = collections.defaultdict(list), collections.defaultdict(list)
    for row in rows:
        figures["outcome_" + row["outcome"]] += 1
        if row["outcome"] == "cached":
            figures["cached"] += 1
            if row["usd"] or row["estimated"]:
                problems.append(f"a response of the cache has a cost: {row}")
        else:
            figures["exact" if not row["estimated"] else "estimated"] += 1
            of_label[row["label"]].append(row)
    for line in bill:
        billed[line["label"]].append(line)
    if None in of_label:
        problems.append(f"{len(of_label[None])} rows have no label")
    sums = collections.Counter(exact=0, exact_bill=0, error=0, reserved=0)
    for label, lines in billed.items():
        found = of_label.get(label, [])
        if len(found) < len(lines):
            problems.append(f"{label}: {len(lines)} on the bill, {len(found)} rows: {found}")
            continue
        exact = [row for row in found if not row["estimated"]]
        if len(exact) > len(lines):
            problems.append(f"{label}: {len(lines)} on the bill, {len(exact)} exact rows")
        # The lines of one label are equal.
        for row, line in zip(exact, lines):
            sums["exact"] += row["usd"]
            sums["exact_bill"] += picos(line)
            if (row["prompt"], row["completion"], row["usd"]) != (line["prompt"], line["completion"], picos(line)):
                problems.append(f"{label}: {row} is not {line}")
        estimated = [row for row in found if row["estimated"]]
        for row, line in zip(estimated, lines[len(exact) :]):
            error = abs(row["usd"] - picos(line))
            sums["error"] += error
            sums["reserved"] += row["reserved"]
            if error > row["reserved"]:
                problems.append(f"{label}: {row} differs too much from {line}")
    for label, found in of_label.items():
        # A gateway cannot know whether a request arrived that was killed, left or dropped on its way.
        more = len(found) - len(billed.get(label, []))
        if more > 0:
            figures["rows_of_calls_that_did_not_arrive"] += more
            if sum(not row["estimated"] for row in found) > len(billed.get(label, [])):
                problems.append(f"{label}: an exact row without a line on the bill")
    if sums["exact"] != sums["exact_bill"]:
        problems.append(f"exact rows cost {sums['exact']}, the bill says {sums['exact_bill']}")
    figures["exact_micro_dollars"] = sums["exact"] // 10**6
    figures["error_of_estimates_micro_dollars"] = sums["error"] // 10**6
    figures["reserved_for_estimates_micro_dollars"] = sums["reserved"] // 10**6
    figures["refused_by_the_provider"] = stage.provider.refused
    return problems, figures


def check_budgets(stage, rows, failures):
    """Compares what keys with small budgets have spent with what docs/gateway/nodes.md allows ("Without Redis").

    - Σ max(0, cost − reserved) in any case;
    - (nodes − 1 + restarts) / nodes × what was left one second before the first gateway lost Redis, if one did while the key was used.

    Returns what is wrong, and a line for each key: budget, spent, bound, all in dollars.
    """
    problems, lines = [], []
    budget, of_key = int(Decimal(TIGHT) * 10**12), collections.defaultdict(list)
    for row in rows:
        if row["key"].startswith("tight-"):
            of_key[row["key"]].append(row)
    for key, found in sorted(of_key.items(), key=lambda item: int(item[0].split("-")[1])):
        began, ended = min(row["time"] for row in found), max(row["time"] for row in found)
        spent = sum(row["usd"] for row in found)
        bound = sum(max(0, row["usd"] - row["reserved"]) for row in found)
        lost = [time for time in failures if began - 2 <= time <= ended]
        restarts = 0
        if lost:
            before = sum(row["usd"] for row in found if row["time"] < lost[0] - 1)
            restarts = sum(began - 2 <= time <= ended for node in stage.nodes for time in node.kills)
            bound += (stage.count - 1 + restarts) * max(0, budget - before) // stage.count
        line = {"key": key, "rows": len(found), "budget": budget / 1e12, "spent": spent / 1e12, "bound": bound / 1e12, "redis_lost": len(lost), "restarts": restarts}
        line["over"] = max(0, spent - budget) / 1e12
        lines.append(line)
        if spent > budget + bound:
            problems.append(f"{key} has spent more than its budget and the bound: {line}")
    return problems, lines


def check_failures(load, kills):
    """Calls that must succeed did so, except those that a killed gateway had."""
    real = [failure for failure in load.failures if not kills or " " in str(failure["status"])]
    return [f"{len(real)} calls failed that must not: {real[:5]}"] * bool(real)
