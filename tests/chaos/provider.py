"""A provider that keeps a bill: one line for each request that it has read completely and did not refuse.

It speaks OpenAI's chat completions and embeddings. The first word of the last message is the label of the call; the number of tokens follows
from the label, so that anyone can compute the bill again. What follows a colon in the label is what happens to the attempts, one after the
other, before they are served as usual: `call-7:500.reset` is refused, then reset, then served. See FAULTS.
"""

import collections
import json
import random
import socket
import struct
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Dollars per million tokens, as in the configuration of the gateways.
INPUT, OUTPUT, EMBED = 2, 10, 1

# What can happen to an attempt, and whether it is on the bill.
FAULTS = {
    "429": False,  # refused
    "500": False,
    "503": False,
    "drop": False,  # the connection is closed before the request is read
    "reset": True,  # the connection is reset after the request was read
    "middle": True,  # the connection is reset in the middle of the response
    "stall": True,  # nothing more comes after the middle of the response
    "noend": True,  # the response ends properly, in its middle
    "bad": True,  # the response is not JSON
    "nousage": True,  # the response is complete, but has no usage
}

# How long a response that stalls is kept open, which is longer than the gateways wait.
STALL = 6


def words_of(label):
    """Returns how many words the response of a call has."""
    return 5 + zlib.crc32(label.encode()) % 60


def picos(line):
    """Returns what a line of the bill costs, in 10^-12 dollars."""
    if line["kind"] == "embed":
        return line["prompt"] * EMBED * 10**6
    return (line["prompt"] * INPUT + line["completion"] * OUTPUT) * 10**6


class Provider(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.bill = []
        self.refused = 0
        self.attempts = collections.Counter()
        self.faults = collections.Counter()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # The gateway was killed while it read the response.

    def fault_of(self, label):
        """Returns what happens to the next attempt of a call."""
        plan = label.partition(":")[2].split(".") if ":" in label else []
        with self.lock:
            number = self.attempts[label]
            self.attempts[label] += 1
            fault = plan[number] if number < len(plan) else None
            if fault:
                self.faults[fault] += 1
                self.refused += not FAULTS[fault]
        return fault


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        kind = "embed" if self.path.endswith("/embeddings") else "chat"
        text = body["input"] if kind == "embed" else body["messages"][-1]["content"]
        text = text[0] if isinstance(text, list) else text
        label = text.split()[0]
        fault = self.server.fault_of(label)
        if fault in ("429", "500", "503"):
            return self.send(int(fault), {"error": {"message": "try later", "type": "server_error"}})
        if fault == "drop":
            self.close_connection = True
            return None
        prompt = len(text.split())
        completion = 0 if kind == "embed" else words_of(label)
        with self.server.lock:
            self.server.bill.append({"label": label, "kind": kind, "prompt": prompt, "completion": completion})
        if fault == "reset":
            return self.reset()
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        time.sleep(random.uniform(0, 0.03))
        if kind == "embed":
            data = [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}]
            usage.pop("completion_tokens")
            return self.send(200, {"object": "list", "model": body["model"], "data": data, "usage": usage}, fault)
        head = {"id": "chat-" + label, "created": 1, "model": body["model"]}
        if body.get("stream"):
            return self.stream(head, completion, usage, fault)
        message = {"role": "assistant", "content": "word " * completion}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.send(200, {**head, "object": "chat.completion", "choices": [choice], "usage": usage}, fault)

    def reset(self):
        """Resets the connection: what was sent and not read by the gateway is lost too."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def send(self, status, value, fault=None):
        if fault == "nousage":
            value.pop("usage")
        text = json.dumps(value).encode()
        length = len(text)
        if fault == "bad":
            text = text[: length // 2] + b"?" * (length - length // 2)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(length))
        self.end_headers()
        if fault in ("middle", "stall", "noend"):
            self.wfile.write(text[: length // 2])
            return self.end_early(fault)
        self.wfile.write(text)

    def end_early(self, fault):
        self.close_connection = True
        if fault == "middle":
            self.reset()
        elif fault == "stall":
            time.sleep(STALL)

    def stream(self, head, completion, usage, fault):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        head = {**head, "object": "chat.completion.chunk"}

        def event(value):
            text = b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
            self.wfile.flush()

        for number in range(completion):
            if number == completion // 2:
                if fault in ("middle", "stall"):
                    return self.end_early(fault)
                if fault == "bad":
                    event(b'{"choices": [{?')
                if fault == "noend":
                    self.wfile.write(b"0\r\n\r\n")
                    return None
            delta = {"role": "assistant", "content": "word "} if number == 0 else {"content": "word "}
            event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            if number % 4 == 0:
                time.sleep(random.uniform(0, 0.02))
        event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        if fault != "nousage":
            event({**head, "choices": [], "usage": usage})
        event(b"[DONE]")
        self.wfile.write(b"0\r\n\r\n")
