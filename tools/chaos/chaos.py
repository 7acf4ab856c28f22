#!/usr/bin/env python3
"""Kills gateways under load, and compares their ledger with the bill of the provider.

    cargo build -p agentloop-cli --all-features
    tools/chaos/chaos.py --kills 200                          # one gateway, SQLite
    tools/chaos/chaos.py --kills 200 --nodes 3 --postgres --redis
    tools/chaos/chaos.py --nodes 3 --postgres --outage 60     # PostgreSQL is stopped for a minute
    tools/chaos/chaos.py --full                               # the disk with the data folder is full (needs root, for a small tmpfs)

It needs Python 3 only, and for the options the Debian packages of PostgreSQL and Redis. What is checked afterwards:

- every call on the provider's bill has a row, and no two rows have the same id;
- an exact row has the tokens and the cost of the bill, and a call has at most as many exact rows as lines on the bill;
- an estimated row differs from the bill by at most the amount that was reserved;
- calls that the provider refused have no row;
- the journals have no reservation without an end, and no row that is not stored.
"""

import argparse
import collections
import csv
import glob
import http.client
import io
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import zlib

from provider import EMBED, INPUT, OUTPUT, Provider, picos

HERE = os.path.dirname(os.path.abspath(__file__))
KEY = "al-chaos-key"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Node:
    """A gateway that can be killed."""

    def __init__(self, number, stage):
        self.name, self.stage = f"node-{number}", stage
        self.port = free_port()
        self.folder = os.path.join(stage.data, self.name)
        os.makedirs(self.folder)
        self.config = os.path.join(stage.folder, self.name + ".toml")
        self.log = open(os.path.join(stage.folder, self.name + ".log"), "ab")
        store = '[gateway.store]\nurl_env = "CHAOS_POSTGRES"\n' if stage.postgres else ""
        redis = '[gateway.redis]\nurl_env = "CHAOS_REDIS"\n' if stage.redis else ""
        with open(self.config, "w") as file:
            file.write(f'''
[providers.chaos]
base_url = "http://127.0.0.1:{stage.provider.server_port}/v1"

[models."chaos/chat"]
max_output_tokens = 200
[[models."chaos/chat".prices]]
per_million = {{ input = "{INPUT}", output = "{OUTPUT}" }}

[[models."chaos/embed".prices]]
per_million = {{ input = "{EMBED}", output = "0" }}

[gateway]
listen = "127.0.0.1:{self.port}"
admin_listen = "off"
node = "{self.name}"
log = "off"

[gateway.keys.load]
key_env = "CHAOS_KEY"
budget = "1000000/day"

{store}
{redis}
''')
        self.process = None

    def start(self):
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": self.folder,
            "AGENTLOOP_DATA": self.folder,
            "CHAOS_KEY": KEY,
            "CHAOS_POSTGRES": self.stage.postgres or "",
            "CHAOS_REDIS": self.stage.redis or "",
        }
        arguments = [self.stage.binary, "serve", "--config", self.config]
        self.process = subprocess.Popen(arguments, env=environment, stdout=self.log, stderr=self.log)

    def wait(self, longest=60):
        end = time.time() + longest
        while time.time() < end:
            if self.process.poll() is not None:
                raise SystemExit(f"{self.name} ended with {self.process.returncode}: see {self.log.name}")
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/health/live")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                time.sleep(0.02)
        raise SystemExit(f"{self.name} does not respond: see {self.log.name}")

    def ready(self):
        """Returns what the gateway says about its own state."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", "/health/ready")
        return connection.getresponse().read().decode()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
            raise SystemExit(f"{self.name} did not stop within a minute")
        if code != 0:
            raise SystemExit(f"{self.name} ended with {code}: see {self.log.name}")


class Load:
    """Threads that call the gateways: chats, streams, streams that are aborted, embeddings, and calls that the provider refuses."""

    def __init__(self, stage, threads, seed):
        self.stage, self.running = stage, True
        self.lock, self.next = threading.Lock(), 0
        self.results = collections.Counter()
        self.failures = []
        self.threads = [threading.Thread(target=self.run, args=(seed + number,)) for number in range(threads)]
        for thread in self.threads:
            thread.start()

    def run(self, seed):
        choose = random.Random(seed)
        while self.running:
            with self.lock:
                self.next += 1
                number = self.next
            kind = choose.choices(["chat", "stream", "abort", "embed", "refused"], [4, 4, 2, 2, 1])[0]
            label = f"call-{number}-{kind}" if kind == "refused" else f"call-{number}"
            node = choose.choice(self.stage.nodes)
            try:
                status = self.call(node, kind, label, choose)
            except (OSError, http.client.HTTPException) as error:
                # The gateway was killed, or starts.
                status = type(error).__name__
                time.sleep(0.02)
            with self.lock:
                self.results[(kind, status)] += 1
                if status != 200 and kind not in ("abort", "refused"):
                    self.failures.append((label, kind, status))

    def call(self, node, kind, label, choose):
        connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)
        try:
            text = label + " word" * choose.randrange(20)
            if kind == "embed":
                path, body = "/v1/embeddings", {"model": "chaos/embed", "input": text}
            else:
                message = {"role": "user", "content": text}
                path, body = "/v1/chat/completions", {"model": "chaos/chat", "messages": [message], "max_tokens": 100}
                body["stream"] = kind in ("stream", "abort")
            headers = {"authorization": "Bearer " + KEY, "content-type": "application/json", "x-agentloop-tags": label}
            connection.request("POST", path, json.dumps(body), headers)
            if kind == "abort" and choose.random() < 0.3:
                time.sleep(choose.uniform(0, 0.02))
                return 200  # Not even the head of the response is read.
            response = connection.getresponse()
            if kind == "abort":
                response.read(choose.randrange(1, 1_000))
                return response.status
            text = response.read()
            if kind == "stream" and response.status == 200 and b"[DONE]" not in text:
                return "cut off"
            return response.status
        finally:
            connection.close()

    def stop(self):
        self.running = False
        for thread in self.threads:
            thread.join()


class Stage:
    """The folder, the provider, the databases and the gateways of a run."""

    def __init__(self, options):
        self.binary = os.path.abspath(options.binary)
        self.folder = tempfile.mkdtemp(prefix="agentloop-chaos-")
        self.data = os.path.join(self.folder, "data")
        os.makedirs(self.data)
        self.mounted = options.full
        if self.mounted:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", self.data], check=True)
        self.provider = Provider()
        self.processes = []
        self.postgres = self.start_postgres() if options.postgres else None
        self.redis = self.start_redis() if options.redis else None
        self.nodes = [Node(number, self) for number in range(1, options.nodes + 1)]
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.wait()

    def as_postgres(self, *arguments, **more):
        """Runs a program of PostgreSQL, which refuses to run as root."""
        program = sorted(glob.glob("/usr/lib/postgresql/*/bin/" + arguments[0]))[-1]
        user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = user + [program, *arguments[1:]]
        return subprocess.run(command, check=True, cwd="/", stdin=subprocess.DEVNULL, **more)

    def start_postgres(self):
        self.database = os.path.join(self.folder, "postgres")
        os.chmod(self.folder, 0o755)
        os.makedirs(self.database)
        if os.geteuid() == 0:
            shutil.chown(self.database, "postgres")
        self.as_postgres("initdb", "-D", self.database, "-A", "trust", "-U", "chaos", "-E", "UTF8", stdout=subprocess.DEVNULL)
        self.postgres_port = free_port()
        self.control_postgres("start")
        return f"postgres://chaos@127.0.0.1:{self.postgres_port}/postgres"

    def control_postgres(self, action):
        options = f"-p {self.postgres_port} -c unix_socket_directories= -c listen_addresses=127.0.0.1"
        more = ["-o", options, "-l", os.path.join(self.database, "log")] if action == "start" else ["-m", "immediate"]
        self.as_postgres("pg_ctl", "-D", self.database, "-w", *more, action, stdout=subprocess.DEVNULL)

    def start_redis(self):
        port = free_port()
        arguments = ["redis-server", "--port", str(port), "--save", "", "--appendonly", "no"]
        self.processes.append(subprocess.Popen(arguments, stdout=subprocess.DEVNULL, cwd=self.folder))
        return f"redis://127.0.0.1:{port}"

    def rows(self):
        """Returns the ledger."""
        columns = "id, node, tags, outcome, estimated, prompt_tokens, completion_tokens, usd, reserved"
        if self.postgres:
            query = f"COPY (SELECT {columns} FROM {self.ledger_table()}) TO STDOUT CSV HEADER"
            program = sorted(glob.glob("/usr/lib/postgresql/*/bin/psql"))[-1]
            text = subprocess.run([program, self.postgres, "-c", query], check=True, capture_output=True, text=True).stdout
            return [self.read_row(row) for row in csv.DictReader(io.StringIO(text))]
        rows = []
        for path in glob.glob(os.path.join(self.data, "*", "gateway.db")):
            database = sqlite3.connect(path)
            names = [name.strip() for name in columns.split(",")]
            found = database.execute(f"SELECT {columns} FROM ledger")
            rows += [self.read_row(dict(zip(names, row))) for row in found]
            problems = database.execute("PRAGMA integrity_check").fetchall()
            if problems != [("ok",)]:
                raise SystemExit(f"{path} is damaged: {problems}")
            database.close()
        return rows

    def ledger_table(self):
        program = sorted(glob.glob("/usr/lib/postgresql/*/bin/psql"))[-1]
        query = "SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) FROM information_schema.columns WHERE column_name = 'reserved'"
        return subprocess.run([program, self.postgres, "-Atc", query], check=True, capture_output=True, text=True).stdout.split()[0]

    @staticmethod
    def read_row(row):
        tags = row["tags"] or ""
        labels = [word for word in tags.replace("{", " ").replace("}", " ").replace('"', " ").replace("[", " ").replace("]", " ").replace(",", " ").split() if word.startswith("call-")]
        amount = lambda value: 0 if value in (None, "") else int(value)
        return {
            "id": row["id"],
            "label": labels[0] if labels else None,
            "outcome": row["outcome"],
            "estimated": row["estimated"] in (1, "t", True),
            "prompt": int(row["prompt_tokens"]),
            "completion": int(row["completion_tokens"]),
            "usd": amount(row["usd"]),
            "reserved": amount(row["reserved"]),
        }

    def end(self, keep):
        for node in self.nodes:
            if node.process.poll() is None:
                node.kill()
        for process in self.processes:
            process.terminate()
        if self.postgres:
            self.control_postgres("stop")
        if self.mounted:
            subprocess.run(["umount", "-l", self.data], check=False)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


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


def check(stage):
    """Compares the ledger with the bill. Returns what is wrong, and figures."""
    problems = check_journals(stage)
    rows, bill = stage.rows(), stage.provider.bill
    if len({row["id"] for row in rows}) != len(rows):
        problems.append("two rows have the same id")
    of_label, billed = collections.defaultdict(list), collections.defaultdict(list)
    for row in rows:
        of_label[row["label"]].append(row)
    for line in bill:
        billed[line["label"]].append(line)
    if None in of_label:
        problems.append(f"{len(of_label[None])} rows have no label")
    figures = collections.Counter(calls_on_the_bill=len(bill), rows=len(rows))
    exact_usd = exact_bill = error_usd = reserved_usd = 0
    for label, lines in billed.items():
        found = of_label.get(label, [])
        if len(found) < len(lines):
            problems.append(f"{label}: {len(lines)} on the bill, {len(found)} rows")
            continue
        exact = [row for row in found if not row["estimated"]]
        if len(exact) > len(lines):
            problems.append(f"{label}: {len(lines)} on the bill, {len(exact)} exact rows")
        for row, line in zip(exact, lines):
            exact_usd, exact_bill = exact_usd + row["usd"], exact_bill + picos(line)
            if (row["prompt"], row["completion"], row["usd"]) != (line["prompt"], line["completion"], picos(line)):
                problems.append(f"{label}: {row} is not {line}")
        estimated = [row for row in found if row["estimated"]]
        for row, line in zip(estimated, lines[len(exact):]):
            error_usd, reserved_usd = error_usd + abs(row["usd"] - picos(line)), reserved_usd + row["reserved"]
            if abs(row["usd"] - picos(line)) > row["reserved"]:
                problems.append(f"{label}: {row} differs too much from {line}")
    for label, found in of_label.items():
        # A gateway that is killed between the reservation and the request cannot know whether it was sent.
        more = len(found) - len(billed.get(label, []))
        if more > 0:
            figures["rows_of_calls_that_did_not_arrive"] += more
            exact = sum(not row["estimated"] for row in found)
            if exact > len(billed.get(label, [])):
                problems.append(f"{label}: an exact row without a line on the bill")
    for row in rows:
        figures["exact" if not row["estimated"] else "estimated"] += 1
        figures["outcome_" + row["outcome"]] += 1
    if exact_usd != exact_bill:
        problems.append(f"exact rows cost {exact_usd}, the bill says {exact_bill}")
    figures["exact_micro_dollars"] = exact_usd // 10**6
    figures["error_of_estimates_micro_dollars"] = error_usd // 10**6
    figures["reserved_for_estimates_micro_dollars"] = reserved_usd // 10**6
    figures["refused_by_the_provider"] = stage.provider.refused
    return problems, figures


def kill_nodes(stage, options, choose):
    restarts = []
    for number in range(options.kills):
        time.sleep(choose.uniform(0, options.pause))
        node = choose.choice(stage.nodes)
        node.kill()
        began = time.time()
        node.start()
        node.wait()
        restarts.append(time.time() - began)
        if (number + 1) % 20 == 0:
            print(f"{number + 1} kills, {len(stage.provider.bill)} calls on the bill", flush=True)
    restarts.sort()
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


def stop_postgres(stage, options, load):
    time.sleep(3)
    before = len(load.failures)
    stage.control_postgres("stop")
    time.sleep(options.outage)
    problems = check_degraded(stage)
    stage.control_postgres("start")
    time.sleep(8)
    return problems + [f"{len(load.failures) - before} requests failed while PostgreSQL was stopped: {load.failures[before:][:3]}"] * (len(load.failures) > before)


def fill_disk(stage, load):
    """Fills the disk until nothing more can be written, for ten seconds."""
    time.sleep(3)
    before = len(load.failures)
    path = os.path.join(stage.data, "filler")
    with open(path, "wb", buffering=0) as file:
        end = time.time() + 10
        while time.time() < end:
            try:
                file.write(b"x" * 4096)
            except OSError:
                time.sleep(0.01)
        problems = check_degraded(stage)
    print(f"disk full for ten seconds: {len(load.failures) - before} requests failed")
    os.unlink(path)
    time.sleep(8)
    return problems + [f"{len(load.failures) - before} requests failed on a full disk: {load.failures[before:][:3]}"] * (len(load.failures) > before)


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
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="keeps the folder, with the logs of the gateways")
    options = parser.parse_args()
    choose = random.Random(options.seed)
    stage = Stage(options)
    print(f"folder: {stage.folder}", flush=True)
    problems = []
    try:
        load = Load(stage, options.threads, options.seed)
        try:
            if options.kills:
                kill_nodes(stage, options, choose)
            if options.outage:
                problems += stop_postgres(stage, options, load)
            if options.full:
                problems += fill_disk(stage, load)
            if not (options.kills or options.outage or options.full):
                time.sleep(5)
        finally:
            load.stop()
        for node in stage.nodes:
            node.stop()
        found, figures = check(stage)
        problems += found
        print(json.dumps({**figures, **{f"{kind} {status}": count for (kind, status), count in sorted(load.results.items(), key=str)}}, indent=1))
    except BaseException:
        options.keep = True
        raise
    finally:
        stage.end(options.keep or bool(problems))
    for problem in problems[:50]:
        print("PROBLEM:", problem)
    if problems:
        print(f"{len(problems)} problems; the folder is kept: {stage.folder}")
    sys.exit(1 if problems else 0)


main()
