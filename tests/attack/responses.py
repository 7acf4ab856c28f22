"""A provider whose responses want to end, block or fill a gateway. The model's name says which."""

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MB = 1 << 20


def deep(depth, opening="[", closing="]", core="0"):
    return opening * depth + core + closing * depth


def in_protocol(protocol, text=None, calls=None):
    """A complete response with a text or with calls."""
    if protocol == "chat":
        message = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": a}} for n, a in enumerate(calls)]
        return {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}}
    if protocol == "responses":
        items = [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text or "", "annotations": []}]}]
        items += [{"type": "function_call", "id": f"i{n}", "call_id": f"c{n}", "name": "f", "arguments": a, "status": "completed"} for n, a in enumerate(calls or [])]
        return {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": items,
                "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}}
    if protocol == "anthropic":
        blocks = [{"type": "text", "text": text or ""}]
        blocks += [{"type": "tool_use", "id": f"c{n}", "name": "f", "input": json.loads(a) if a.startswith("{") else {}} for n, a in enumerate(calls or [])]
        return {"id": "r", "type": "message", "role": "assistant", "model": "m", "content": blocks, "stop_reason": "end_turn", "stop_sequence": None,
                "usage": {"input_tokens": 3, "output_tokens": 4}}
    parts = [{"text": text or ""}]
    parts += [{"functionCall": {"name": "f", "args": json.loads(a) if a.startswith("{") else {}}} for a in calls or []]
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7}, "modelVersion": "m"}


def with_field(protocol, raw):
    """A complete response in which an unknown field, a text and the arguments of a call have this JSON."""
    body = json.dumps(in_protocol(protocol, "@text@", ["@call@"]))
    return body[:-1] + f', "extension": {raw}}}'


def delta(protocol, text):
    """An event that adds to a text."""
    if protocol == "chat":
        return {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta": {"content": text}}]}
    if protocol == "responses":
        return {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": text}
    if protocol == "anthropic":
        return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": text}]}}]}


def opening(protocol, index):
    """An event that opens a part, and never closes it."""
    if protocol == "chat":
        call = {"index": index, "id": f"c{index}", "type": "function", "function": {"name": "f", "arguments": "{"}}
        return {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
    if protocol == "responses":
        item = {"type": "function_call", "id": f"i{index}", "call_id": f"c{index}", "name": "f", "arguments": ""}
        return {"type": "response.output_item.added", "output_index": index, "item": item}
    if protocol == "anthropic":
        return {"type": "content_block_start", "index": index, "content_block": {"type": "tool_use", "id": f"c{index}", "name": "f", "input": {}}}
    part = {"functionCall": {"name": "f", "willContinue": True, "partialArgs": [{"jsonPath": f"$.a{index}", "stringValue": "x", "willContinue": True}]}}
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]}


def frame(event):
    text = event if isinstance(event, str) else json.dumps(event)
    return f"data: {text}\n\n".encode()


def many(protocol, make, count):
    start = [{"type": "message_start", "message": dict(in_protocol("anthropic"), content=[], stop_reason=None)}] if protocol == "anthropic" else []
    for event in start:
        yield frame(event)
    batch = b""
    for index in range(count):
        batch += frame(make(protocol, index))
        if len(batch) > 1 << 16:
            yield batch
            batch = b""
    yield batch


def partial_args(_, index):
    path = "$" + "".join(f".{chr(97 + n % 26)}" for n in range(40))
    part = {"functionCall": {"name": "f", "willContinue": True, "partialArgs": [{"jsonPath": f"{path}{index}", "stringValue": "x"}]}}
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]}


def thinking_in_itself(depth):
    return '{"choices":[{"index":0,"message":{"role":"assistant","content":' + '[{"type":"thinking","thinking":' * depth + '"x"' + "}]" * depth + "}}]}"


def bomb():
    """A gigabyte of spaces in a megabyte."""
    block = b" " * MB
    out = gzip.compress(block * 64, 9)
    return out * 16


BOMB = bomb()

# Name of a model: what it responds, complete or streamed.
COMPLETE = {
    "brackets-100k": lambda p: deep(100_000),
    "brackets-4m": lambda p: "[" * (4 * MB),
    "objects": lambda p: deep(200_000, '{"a":', "}"),
    "field-deep": lambda p: with_field(p, deep(100_000)),
    "field-wide": lambda p: with_field(p, "[" + "0," * 2_000_000 + "0]"),
    "field-number": lambda p: with_field(p, "1" * (2 * MB)),
    "field-huge": lambda p: with_field(p, "1e400"),
    "keys": lambda p: with_field(p, "{" + ",".join(f'"k{n}":{n}' for n in range(300_000)) + "}"),
    "same-key": lambda p: with_field(p, "{" + ",".join('"k":[]' for _ in range(500_000)) + "}"),
    "thinking": lambda p: thinking_in_itself(100_000),
    "calls": lambda p: json.dumps(in_protocol(p, "x", ["{}"] * 60_000)),
    "arguments": lambda p: json.dumps(in_protocol(p, "x", ['{"a":' * 90 + "1" + "}" * 90] * 2_000)),
    "text": lambda p: json.dumps(in_protocol(p, "x" * (32 * MB))),
    "bomb": lambda p: BOMB,
    "plain": lambda p: json.dumps(in_protocol(p, "fine")),
}
STREAMED = {
    "brackets-100k": lambda p: [frame(deep(100_000))],
    "brackets-4m": lambda p: [b"data: ", b"[" * (4 * MB), b"\n\n"],
    "thinking": lambda p: [frame(thinking_in_itself(100_000))],
    "open": lambda p: many(p, opening, 60_000),
    "partial": lambda p: many("gemini", partial_args, 100_000),
    "line": lambda p: (b"x" * MB for _ in range(300)),
    "comments": lambda p: (b": still here\n\n" * 5_000 for _ in range(2_000)),
    "frames": lambda p: (frame(delta(p, "x" * MB)) for _ in range(200)),
    "deltas": lambda p: many(p, lambda p, n: delta(p, "x"), 200_000),
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        protocol = self.path.split("/")[1]
        head = body[:1 << 20].decode("utf-8", "replace")
        name = self.path.split("/models/")[1].split(":")[0] if "/models/" in self.path else model_of(head)
        is_stream = "streamGenerateContent" in self.path or '"stream": true' in head or '"stream":true' in head
        try:
            if is_stream and name in STREAMED:
                self.stream(STREAMED[name](protocol))
            else:
                self.whole(COMPLETE.get(name, COMPLETE["plain"])(protocol))
        except OSError:
            self.close_connection = True

    def whole(self, body):
        self.send_response(200)
        self.send_header("content-type", "application/json")
        if body is BOMB:
            self.send_header("content-encoding", "gzip")
        body = body if isinstance(body, bytes) else body.encode()
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, pieces):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for piece in pieces:
            self.wfile.write(piece)

    def log_message(self, *_):
        pass


def model_of(head):
    """The first `model` of a request, wherever it is."""
    at = head.find('"model"')
    start = head.find('"', at + 7) + 1
    return head[start : head.find('"', start)] if at >= 0 else ""


class Provider:
    def __init__(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
