"""Faults of gateways, Redis and PostgreSQL, drawn from a seed, and the threads that make them."""

import os
import random
import signal
import threading
import time

# The faults of a database, with the arguments of the proxy. `stop` and `pause` are those of the process: Redis has nothing left after the
# first, and everything after the second.
REDIS = ["stop", "pause", "wipe", "slow", "jitter", "cut", "hang"]
POSTGRES = ["stop", "slow", "cut", "hang"]

# The time that Redis has for a response is 50 ms, that of PostgreSQL 5 seconds.
SLOW = {"redis": 0.2, "postgres": 0.7}
JITTER = {"redis": 0.12}


def draw(seed, seconds, nodes, lanes=("redis", "postgres", "kill"), longest=6.0, only=None, pause=4.0):
    """Returns a schedule: what happens when, for how long and to which gateways. Each lane has one fault at a time, with at most `pause`
    seconds between two; lanes overlap. The last of several gateways is not killed if `pause` is long: its memory is looked at."""
    schedule = []
    for lane in lanes:
        choose = random.Random(f"{seed} {lane}")
        at = choose.uniform(1, 4)
        while at < seconds:
            faults = {"redis": REDIS, "postgres": POSTGRES, "kill": ["kill"]}[lane]
            fault = choose.choice(only.get(lane, faults) if only else faults)
            length = 0.0 if fault in ("wipe", "kill") else round(choose.uniform(0.5, longest), 1)
            # One gateway in three faults; a process that is stopped is so for all.
            alone = fault == "kill" or fault not in ("stop", "pause", "wipe") and choose.random() < 0.3
            victims = nodes - 1 if fault == "kill" and pause > 4 and nodes > 1 else nodes
            node = f"node-{choose.randrange(victims) + 1}" if alone else "*"
            schedule.append({"at": round(at, 1), "lane": lane, "fault": fault, "seconds": length, "node": node})
            at += length + choose.uniform(0.3, pause)
    return sorted(schedule, key=lambda event: event["at"])


class Faults:
    """Makes the faults of a schedule, each lane in a thread of its own."""

    def __init__(self, stage, schedule):
        self.stage, self.began, self.running = stage, time.time(), True
        # What was done: (began, ended, event).
        self.done, self.restarts, self.errors = [], [], []
        lanes = {event["lane"] for event in schedule}
        self.threads = [threading.Thread(target=self.run, args=([event for event in schedule if event["lane"] == lane],)) for lane in lanes]
        for thread in self.threads:
            thread.start()

    def run(self, events):
        for event in events:
            while self.running and time.time() < self.began + event["at"]:
                time.sleep(0.05)
            if not self.running:
                return
            began = time.time()
            try:
                self.make(event)
            except BaseException as error:
                self.errors.append(f"{event}: {error}")
                return
            self.done.append((began, time.time(), event))

    def make(self, event):
        stage, lane, fault = self.stage, event["lane"], event["fault"]
        if lane == "kill":
            node = next(node for node in stage.nodes if node.name == event["node"])
            return self.restarts.append(node.restart())
        if fault == "wipe":
            return stage.wipe_redis()
        if fault == "stop" and lane == "redis":
            stage.stop_redis()
            self.wait(event)
            return stage.start_redis(stage.redis)
        if fault == "stop":
            stage.control_postgres("stop")
            self.wait(event)
            return stage.control_postgres("start")
        if fault == "pause":
            stage.signal_redis(signal.SIGSTOP)
            self.wait(event)
            return stage.signal_redis(signal.SIGCONT)
        seconds = {"slow": SLOW, "jitter": JITTER}.get(fault, {}).get(lane, 0)
        stage.set_proxy(fault, f"{lane}-{event['node']}", seconds)
        self.wait(event)
        stage.set_proxy("open", f"{lane}-{event['node']}")

    def wait(self, event):
        end = time.time() + event["seconds"]
        while self.running and time.time() < end:
            time.sleep(0.05)

    def join(self):
        """Waits for the end of the schedule."""
        for thread in self.threads:
            thread.join()

    def stop(self):
        """Ends the faults that are in progress, and makes no more."""
        self.running = False
        self.join()


class Samples:
    """Looks at the gateways once per second: memory, open files, and the metrics of the journal, the ledger and Redis."""

    NAMES = {
        "redis_failures": "agentloop_redis_failures_total",
        "redis_alone": "agentloop_redis_alone_total",
        "journal_bytes": "agentloop_journal_bytes",
        "open_calls": "agentloop_ledger_open_calls",
        "unstored_rows": "agentloop_ledger_unstored_rows",
        "lost_rows": "agentloop_ledger_lost_rows_total",
        "reserved_dollars": "agentloop_reserved_dollars",
        "requests": "agentloop_requests_in_progress",
    }

    def __init__(self, stage, every=1.0):
        self.stage, self.every, self.running = stage, every, True
        self.samples = []
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while self.running:
            for node in self.stage.nodes:
                try:
                    self.samples.append(self.look(node))
                except Exception:
                    pass  # It was killed.
            time.sleep(self.every)

    def look(self, node):
        process, at = node.process.pid, time.time()
        metrics = node.metrics()
        with open(f"/proc/{process}/status") as file:
            memory = next(line for line in file if line.startswith("VmRSS")).split()[1]
        files = len(os.listdir(f"/proc/{process}/fd"))
        values = {name: metrics.get(metric, 0) for name, metric in self.NAMES.items()}
        return {"time": at, "node": node.name, "process": process, "resident_kb": int(memory), "files": files, **values}

    def failures(self):
        """Returns when a gateway may have lost Redis, at the earliest: the time of the look before the one that counts a failure."""
        last, found = {}, []
        for sample in self.samples:
            before = last.get((sample["node"], sample["process"]))
            count = sample["redis_failures"]
            # The first failure of a process is that it is not connected yet.
            if before and count > before["redis_failures"] or not before and count > 0:
                found.append((before or sample)["time"] - (0 if before else self.every + 1))
            last[(sample["node"], sample["process"])] = sample
        return sorted(found)

    def stop(self):
        self.running = False
        self.thread.join()
