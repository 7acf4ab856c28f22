"""The gateways of a run, their provider and their databases."""

import csv
import glob
import http.client
import io
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time

from provider import EMBED, INPUT, OUTPUT, Provider

HERE = os.path.dirname(os.path.abspath(__file__))

# The key of calls that must never be refused. The others are `tight-1`, `tight-2` …, each with a small budget.
KEY = "al-chaos-key"

# The budget of a key that runs out, in dollars: about eighty calls.
TIGHT = "0.03"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def newest(program):
    """Returns the path of a program of the newest PostgreSQL."""
    return sorted(glob.glob("/usr/lib/postgresql/*/bin/" + program))[-1]


class Node:
    """A gateway that can be killed."""

    def __init__(self, number, stage):
        self.name, self.stage = f"node-{number}", stage
        self.port, self.admin_port = free_port(), free_port()
        self.folder = os.path.join(stage.data, self.name)
        os.makedirs(self.folder)
        self.config = os.path.join(stage.folder, self.name + ".toml")
        self.log = open(os.path.join(stage.folder, self.name + ".log"), "ab")
        with open(self.config, "w") as file:
            file.write(self.settings())
        self.process, self.kills = None, []

    def settings(self):
        stage = self.stage
        upstream = f"http://127.0.0.1:{stage.provider.server_port}"
        text = f"""
[timeouts]
first_content = 3
idle = 1.5

[gateway]
listen = "127.0.0.1:{self.port}"
admin_listen = "127.0.0.1:{self.admin_port}"
node = "{self.name}"
log = "off"

[gateway.routes.spare]
models = ["chaos/chat", "other/chat"]

[gateway.routes.drained]
models = ["chaos/chat"]
drain = 5

[gateway.routes.same]
models = ["chaos/chat"]
cache = {{ ttl = 2, shared_by = "all" }}

[gateway.keys.load]
key_env = "CHAOS_KEY"
budget = "1000000/day"
"""
        for provider in ("chaos", "other"):
            text += f"""
[providers.{provider}]
base_url = "{upstream}/v1"

[models."{provider}/chat"]
max_output_tokens = 200
[[models."{provider}/chat".prices]]
per_million = {{ input = "{INPUT}", output = "{OUTPUT}" }}

[[models."{provider}/embed".prices]]
per_million = {{ input = "{EMBED}", output = "0" }}
"""
        for number in range(1, stage.tight + 1):
            text += f'[gateway.keys.tight-{number}]\nkey_env = "CHAOS_TIGHT_{number}"\nbudget = "{TIGHT}/day"\n'
        if stage.postgres:
            text += '[gateway.store]\nurl_env = "CHAOS_POSTGRES"\n'
        if stage.redis:
            # Gateways start again while Redis is away.
            text += f'[gateway.redis]\nurl_env = "CHAOS_REDIS"\nnodes = {stage.count}\n'
        return text

    def start(self):
        stage = self.stage
        environment = {"PATH": os.environ["PATH"], "HOME": self.folder, "AGENTLOOP_DATA": self.folder, "CHAOS_KEY": KEY}
        environment.update({f"CHAOS_TIGHT_{number}": f"{KEY}-{number}" for number in range(1, stage.tight + 1)})
        if stage.postgres:
            environment["CHAOS_POSTGRES"] = f"postgres://chaos@127.0.0.1:{stage.ports['postgres-' + self.name]}/postgres"
        if stage.redis:
            environment["CHAOS_REDIS"] = f"redis://127.0.0.1:{stage.ports['redis-' + self.name]}"
        arguments = [stage.binary, "serve", "--config", self.config]
        self.process = subprocess.Popen(arguments, env=environment, stdout=self.log, stderr=self.log)

    def wait(self, longest=60):
        end = time.time() + longest
        while time.time() < end:
            if self.process.poll() is not None:
                raise SystemExit(f"{self.name} ended with {self.process.returncode}: see {self.log.name}")
            try:
                if self.get("/health/live")[0] == 200:
                    return
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.02)
        raise SystemExit(f"{self.name} does not respond: see {self.log.name}")

    def get(self, path, port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=10)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def ready(self):
        """Returns what the gateway says about its own state."""
        return self.get("/health/ready")[1]

    def metrics(self):
        """Returns the metrics without labels."""
        lines = self.get("/metrics", self.admin_port)[1].splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#") and "{" not in line)
        return {name: float(value) for name, value in pairs}

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.kills.append(time.time())

    def restart(self):
        """Kills the gateway and starts it again. Returns how long the start took."""
        self.kill()
        began = time.time()
        self.start()
        self.wait()
        return time.time() - began

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
            raise SystemExit(f"{self.name} did not stop within a minute")
        if code != 0:
            raise SystemExit(f"{self.name} ended with {code}: see {self.log.name}")


class Stage:
    """The folder, the provider, the databases and the gateways of a run."""

    def __init__(self, binary, nodes=1, postgres=False, redis=False, tight=0, full=False):
        self.binary = os.path.abspath(binary)
        self.count, self.tight = nodes, tight
        self.folder = tempfile.mkdtemp(prefix="agentloop-chaos-")
        self.data = os.path.join(self.folder, "data")
        os.makedirs(self.data)
        self.mounted = full
        if self.mounted:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", self.data], check=True)
        self.provider = Provider()
        self.postgres, self.redis, self.proxy, self.ports = None, None, None, {}
        self.nodes = []
        try:
            if postgres:
                self.start_postgres()
            if redis:
                self.start_redis(free_port())
            self.start_proxy()
            self.nodes = [Node(number, self) for number in range(1, nodes + 1)]
            for node in self.nodes:
                node.start()
            for node in self.nodes:
                node.wait()
        except BaseException:
            self.end(keep=True)
            raise

    def as_postgres(self, *arguments, **more):
        """Runs a program of PostgreSQL, which refuses to run as root."""
        user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = user + [newest(arguments[0]), *arguments[1:]]
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
        self.postgres = f"postgres://chaos@127.0.0.1:{self.postgres_port}/postgres"

    def control_postgres(self, action):
        options = f"-p {self.postgres_port} -c unix_socket_directories= -c listen_addresses=127.0.0.1"
        # PostgreSQL 15 sometimes sleeps for a minute before it stops.
        more = ["-o", options, "-l", os.path.join(self.database, "log")] if action == "start" else ["-m", "immediate", "-t", "120"]
        self.as_postgres("pg_ctl", "-D", self.database, "-w", *more, action, stdout=subprocess.DEVNULL)

    def start_redis(self, port):
        """Starts Redis, with nothing in it."""
        arguments = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.redis_process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, cwd=self.folder)
        self.redis = port

    def stop_redis(self):
        self.redis_process.kill()
        self.redis_process.wait()

    def signal_redis(self, number):
        self.redis_process.send_signal(number)

    def wipe_redis(self):
        with socket.create_connection(("127.0.0.1", self.redis), timeout=5) as connection:
            connection.sendall(b"FLUSHALL\r\n")
            connection.recv(64)

    def start_proxy(self):
        """Starts a proxy before each database for each gateway."""
        names = [f"node-{number}" for number in range(1, self.count + 1)]
        wanted = [f"postgres-{name}={self.postgres_port}" for name in names if self.postgres]
        wanted += [f"redis-{name}={self.redis}" for name in names if self.redis]
        if wanted:
            arguments = [os.path.join(HERE, "proxy.py"), *wanted]
            self.proxy = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in wanted:
                name, port = self.proxy.stdout.readline().split()
                self.ports[name] = int(port)

    def set_proxy(self, mode, pattern, seconds=0):
        self.proxy.stdin.write(f"{mode} {pattern} {seconds}\n")
        self.proxy.stdin.flush()

    def rows(self):
        """Returns the ledger."""
        columns = "id, node, key, time_ms, tags, outcome, estimated, prompt_tokens, completion_tokens, usd, reserved"
        if self.postgres:
            query = f"COPY (SELECT {columns} FROM agentloop.ledger) TO STDOUT CSV HEADER"
            text = subprocess.run([newest("psql"), self.postgres, "-c", query], check=True, capture_output=True, text=True).stdout
            return [read_row(row) for row in csv.DictReader(io.StringIO(text))]
        rows = []
        for path in glob.glob(os.path.join(self.data, "*", "gateway.db")):
            database = sqlite3.connect(path)
            names = [name.strip() for name in columns.split(",")]
            found = database.execute(f"SELECT {columns} FROM ledger")
            rows += [read_row(dict(zip(names, row))) for row in found]
            problems = database.execute("PRAGMA integrity_check").fetchall()
            if problems != [("ok",)]:
                raise SystemExit(f"{path} is damaged: {problems}")
            database.close()
        return rows

    def end(self, keep):
        for node in self.nodes:
            if node.process and node.process.poll() is None:
                node.kill()
        self.provider.shutdown()
        if self.redis:
            self.signal_redis(signal.SIGCONT)
            self.stop_redis()
        if self.proxy:
            self.proxy.stdin.close()
            self.proxy.wait()
        if self.postgres:
            try:
                self.control_postgres("stop")
            except subprocess.CalledProcessError:
                pass  # It was stopped when the run was interrupted.
        if self.mounted:
            subprocess.run(["umount", "-l", self.data], check=False)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def read_row(row):
    words = row["tags"] or ""
    for mark in '{}"[],':
        words = words.replace(mark, " ")
    labels = [word for word in words.split() if word.startswith("call-")]
    amount = lambda value: 0 if value in (None, "") else int(value)
    return {
        "id": row["id"],
        "node": row["node"],
        "key": row["key"],
        "time": int(row["time_ms"]) / 1000,
        "label": labels[0] if labels else None,
        "outcome": row["outcome"],
        "estimated": row["estimated"] in (1, "t", True),
        "prompt": int(row["prompt_tokens"]),
        "completion": int(row["completion_tokens"]),
        "usd": amount(row["usd"]),
        "reserved": amount(row["reserved"]),
    }
