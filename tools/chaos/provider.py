"""A provider that keeps a bill: one line for each request that it has read completely.

It speaks OpenAI's chat completions and embeddings. The first word of the last message is the label of the call; the number of tokens follows
from the label, so that anyone can compute the bill again.
"""

import json
import random
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Dollars per million tokens, as in the configuration of the gateways.
INPUT, OUTPUT, EMBED = 2, 10, 1


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
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # The gateway was killed while it read the response.


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
        # Some requests fail before they cost anything.
        if label.endswith("-refused"):
            with self.server.lock:
                self.server.refused += 1
            return self.send(500, {"error": {"message": "try later", "type": "server_error"}})
        prompt = len(text.split())
        completion = 0 if kind == "embed" else words_of(label)
        with self.server.lock:
            self.server.bill.append({"label": label, "kind": kind, "prompt": prompt, "completion": completion})
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        time.sleep(random.uniform(0, 0.03))
        if kind == "embed":
            data = [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}]
            usage.pop("completion_tokens")
            return self.send(200, {"object": "list", "model": body["model"], "data": data, "usage": usage})
        head = {"id": "chat-" + label, "created": 1, "model": body["model"]}
        if body.get("stream"):
            return self.stream(head, completion, usage)
        message = {"role": "assistant", "content": "word " * completion}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.send(200, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})

    def send(self, status, value):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def stream(self, head, completion, usage):
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
            delta = {"role": "assistant", "content": "word "} if number == 0 else {"content": "word "}
            event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            if number % 4 == 0:
                time.sleep(random.uniform(0, 0.02))
        event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        event({**head, "choices": [], "usage": usage})
        event(b"[DONE]")
        self.wfile.write(b"0\r\n\r\n")
