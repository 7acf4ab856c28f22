"""Threads that call the gateways."""

import collections
import http.client
import json
import random
import threading
import time

from stage import KEY

# What is asked, how often, and whether it must succeed.
#
# | kind | call |
# |---|---|
# | chat, stream, embed | as its name says |
# | abort | a stream that the client leaves, before its head or somewhere in it |
# | drain | the same on a route that reads the response to its end |
# | same | one of a few equal requests on a route with a cache |
# | retry, spare | the first attempt is refused, and the second one is served by the same or by another provider |
# | refused | every attempt is refused |
# | broken | attempts end as FAULTS of the provider says |
KINDS = {
    "chat": (8, True),
    "stream": (8, True),
    "embed": (4, True),
    "abort": (4, False),
    "drain": (2, False),
    "same": (4, True),
    "retry": (2, True),
    "spare": (2, True),
    "refused": (1, False),
    "broken": (3, False),
}

# What can happen to the attempts of a broken call. A call has two attempts.
BROKEN = ["reset", "drop", "middle", "stall", "noend", "bad", "nousage", "429.reset", "reset.reset", "503.middle", "drop.429", "bad.bad"]

# How long each key with a small budget is used, in seconds.
SLOT = 6


class Load:
    """Threads that call the gateways until they are stopped."""

    def __init__(self, stage, threads, seed, pause=0.0, slot=SLOT):
        self.stage, self.running, self.pause, self.slot = stage, True, pause, slot
        self.began = time.time()
        self.lock, self.next = threading.Lock(), 0
        self.results = collections.Counter()
        self.caches = collections.Counter()
        # Calls that must succeed: when they began, how long they took, and whether they did.
        self.calls = []
        self.failures = []
        self.threads = [threading.Thread(target=self.run, args=(seed * 1000 + number,)) for number in range(threads)]
        for thread in self.threads:
            thread.start()

    def run(self, seed):
        choose = random.Random(seed)
        names, weights = list(KINDS), [weight for weight, _ in KINDS.values()]
        while self.running:
            with self.lock:
                self.next += 1
                number = self.next
            kind = choose.choices(names, weights)[0]
            label = self.label(kind, number, choose)
            node = choose.choice(self.stage.nodes)
            key = self.key(kind, choose)
            began = time.time()
            try:
                status = self.call(node, kind, label, key, choose)
            except (OSError, http.client.HTTPException) as error:
                # The gateway was killed, or starts.
                status = type(error).__name__
                time.sleep(0.02)
            took = time.time() - began
            who = "load" if key == KEY else "tight"
            with self.lock:
                self.results[(who, kind, status)] += 1
                if KINDS[kind][1] and who == "load":
                    self.calls.append((began, took, status == 200))
                if status != 200 and KINDS[kind][1] and who == "load":
                    self.failures.append({"label": label, "kind": kind, "status": status, "node": node.name, "time": began})
            if self.pause:
                time.sleep(self.pause)

    def label(self, kind, number, choose):
        if kind == "same":
            return f"call-same-{int(time.time()) // 2}-{choose.randrange(3)}"
        plan = {"refused": ":500.500.500.500", "retry": ":503", "spare": ":500"}.get(kind, "")
        if kind == "broken":
            plan = ":" + choose.choice(BROKEN)
        return f"call-{number}{plan}"

    def key(self, kind, choose):
        slot = int((time.time() - self.began) / self.slot) + 1
        if kind in ("chat", "stream", "abort", "embed", "broken") and slot <= self.stage.tight and choose.random() < 0.5:
            return f"{KEY}-{slot}"
        return KEY

    def call(self, node, kind, label, key, choose):
        connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)
        try:
            # Equal requests must be equal.
            text = label + " word" * (4 if kind == "same" else choose.randrange(20))
            is_stream = kind in ("stream", "abort", "drain") or kind != "same" and choose.random() < 0.3
            if kind == "embed":
                path, body = "/v1/embeddings", {"model": "chaos/embed", "input": text}
            else:
                model = {"spare": "spare", "drain": "drained", "same": "same"}.get(kind, "chaos/chat")
                message = {"role": "user", "content": text}
                path, body = "/v1/chat/completions", {"model": model, "messages": [message], "max_tokens": 100, "stream": is_stream}
            headers = {"authorization": "Bearer " + key, "content-type": "application/json", "x-agentloop-tags": label}
            connection.request("POST", path, json.dumps(body), headers)
            if kind in ("abort", "drain") and choose.random() < 0.3:
                time.sleep(choose.uniform(0, 0.02))
                return 200  # Not even the head of the response is read.
            response = connection.getresponse()
            if kind == "same":
                with self.lock:
                    self.caches[response.getheader("x-agentloop-cache")] += 1
            if kind in ("abort", "drain"):
                if response.status != 200:
                    return f"{response.status} {code_of(response.read())}"
                response.read(choose.randrange(1, 1_000))
                return 200
            text = response.read()
            if response.status != 200:
                return f"{response.status} {code_of(text)}"
            if kind != "embed" and is_stream and b"[DONE]" not in text:
                return "ended with an error" if b'"error"' in text else "cut off"
            return 200
        finally:
            connection.close()

    def stop(self):
        self.running = False
        for thread in self.threads:
            thread.join()


def code_of(text):
    try:
        error = json.loads(text)["error"]
        return error.get("code") or error["type"]
    except (ValueError, KeyError, TypeError):
        return text[:60].decode(errors="replace")
