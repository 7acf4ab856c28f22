"""The HTTP server: every protocol on one port."""

import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from . import anthropic, chat, gemini, responses, script
from .memory import Memory
from .model import Failure

KEY = "upstream-key"
MODELS = ["up-chat", "up-responses", "up-anthropic", "up-gemini"]
PROTOCOLS = {"chat": chat, "responses": responses, "anthropic": anthropic, "gemini": gemini}


def route(path):
    """Returns the protocol and the operation of a path."""
    plain = path.split("?")[0]
    ends = {"/chat/completions": ("chat", "chat"), "/embeddings": ("chat", "embed"), "/responses": ("responses", "chat"),
            "/responses/input_tokens": ("responses", "count"), "/messages": ("anthropic", "chat"),
            "/messages/count_tokens": ("anthropic", "count")}
    for end, found in ends.items():
        if plain.endswith(end):
            return found
    methods = {"generateContent": "chat", "streamGenerateContent": "chat", "countTokens": "count", "embedContent": "embed",
               "batchEmbedContents": "batch"}
    if ":" in plain and plain.rpartition(":")[2] in methods:
        return "gemini", methods[plain.rpartition(":")[2]]
    if "/models" in plain:
        return "gemini" if "v1beta" in plain else "openai", "models"
    return None, None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 0

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.reply(200, b"")

    def do_GET(self):
        path = urlsplit(self.path)
        if path.path == "/__conversation":
            name = parse_qs(path.query)["name"][0]
            known = {k: v for k, v in self.server.memory.conversation(name).items() if k != "last"}
            return self.reply_json(200, known)
        if self.headers.get("upgrade"):
            return self.reply_json(426, {"error": {"message": "no WebSocket here", "type": "invalid_request_error"}})
        api, operation = route(self.path)
        if operation != "models":
            return self.reply_json(404, {"error": {"message": f"no such path: {self.path}"}})
        self.reply_json(200, self.models(api, unquote(path.path).rpartition("/models")[2].strip("/")))

    def models(self, api, one):
        if "anthropic-version" in self.headers:
            rows = [{"type": "model", "id": m, "display_name": m, "created_at": "2026-01-01T00:00:00Z", "lifecycle": "active",
                     "max_input_tokens": 200000, "max_tokens": 64000} for m in MODELS]
            page = {"data": rows, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]}
            return next((r for r in rows if r["id"] == one), page)
        if api == "gemini" or "x-goog-api-key" in self.headers:
            rows = [{"name": f"models/{m}", "displayName": m, "inputTokenLimit": 1000000, "outputTokenLimit": 65536,
                     "supportedGenerationMethods": ["generateContent", "countTokens"]} for m in MODELS]
            return next((r for r in rows if r["name"] == f"models/{one}"), {"models": rows})
        rows = [{"id": m, "object": "model", "created": 1700000000, "owned_by": "upstream"} for m in MODELS]
        return next((r for r in rows if r["id"] == one), {"object": "list", "data": rows})

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            raw = self.read_chunks()
        api, operation = route(self.path)
        if api is None:
            return self.reply_json(404, {"error": {"message": f"no such path: {self.path}"}})
        protocol = PROTOCOLS[api]
        try:
            body = json.loads(raw)
            self.server.record(self, api, operation, body)
            self.authenticate(api)
            if operation == "count":
                return self.reply_json(200, {"chat": {}, "responses": {"object": "response.input_tokens", "input_tokens": 42},
                                             "anthropic": {"input_tokens": 42}, "gemini": {"totalTokens": 42}}[api])
            if operation in ("embed", "batch"):
                return self.reply_json(200, embeddings(api, operation, body))
            try:
                view = protocol.read(unquote(self.path), body)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise Failure(400, f"the request cannot be read: {error!r}") from error
            if view.model.endswith("missing"):
                raise Failure(404, f"the model {view.model} does not exist")
            turn = script.respond(view, self.server.memory)
            number = self.server.memory.mint(api, turn)
            if view.stream:
                self.stream(protocol, view, turn, number)
            else:
                self.reply_json(200, protocol.write(view, turn, number))
        except Failure as failure:
            self.reply_json(failure.status, protocol.error(failure), failure.headers)

    def authenticate(self, api):
        key = self.headers.get("authorization", "").removeprefix("Bearer ") or self.headers.get("x-api-key") or \
            self.headers.get("x-goog-api-key") or (parse_qs(urlsplit(self.path).query).get("key") or [""])[0]
        if key != KEY:
            raise Failure(401, f"wrong key {key[:6]}…")
        if api == "anthropic" and "anthropic-version" not in self.headers:
            raise Failure(400, "anthropic-version is missing")

    def stream(self, protocol, view, turn, number):
        array = view.api == "gemini" and "alt=sse" not in self.path
        self.send_response(200)
        self.send_header("content-type", "application/json" if array else "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.send_header("x-request-id", f"up-{number}")
        self.end_headers()
        started, sent = time.monotonic(), 0
        try:
            for piece in protocol.stream(view, turn, number):
                if isinstance(piece, dict):
                    text = json.dumps(piece).encode()
                    piece = (b"[" if sent == 0 else b",\n") + text if array else b"data: " + text + b"\n\n"
                self.chunk(piece)
                sent += 1
                time.sleep(0.02 if turn.after == "slow" else 0)
            if turn.after == "cut":
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            if array:
                self.chunk(b"]")
            self.chunk(b"")
        except (BrokenPipeError, ConnectionResetError):
            _, name = script.marker(view)
            self.server.memory.conversation(name)["disconnected"] = {"at": time.time(), "events": sent, "after": time.monotonic() - started}
            self.close_connection = True

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def read_chunks(self):
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def reply_json(self, status, value, headers={}):
        self.reply(status, json.dumps(value).encode(), headers)

    def reply(self, status, body, headers={}):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def embeddings(api, operation, body):
    vector = [0.5, -0.25, 0.125]
    if operation == "batch":
        return {"embeddings": [{"values": vector} for _ in body["requests"]]}
    if api == "gemini":
        return {"embedding": {"values": vector}}
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    import base64, struct
    wire = base64.b64encode(struct.pack("<3f", *vector)).decode() if body.get("encoding_format") == "base64" else vector
    data = [{"object": "embedding", "index": i, "embedding": wire} for i in range(len(texts))]
    return {"object": "list", "model": body["model"], "data": data, "usage": {"prompt_tokens": 4, "total_tokens": 4}}


class Upstream(ThreadingHTTPServer):
    """Runs in a thread. `log`, if given, is a file that receives every request as a line of JSON."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port=0, log=None):
        super().__init__(("127.0.0.1", port), Handler)
        self.memory = Memory()
        self.log = open(log, "a") if log else None
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        import sys, traceback
        kind = sys.exc_info()[0]
        if kind not in (ConnectionResetError, BrokenPipeError):
            traceback.print_exc()

    def record(self, handler, api, operation, body):
        if self.log:
            line = {"api": api, "operation": operation, "path": handler.path, "headers": dict(handler.headers), "body": body}
            self.log.write(json.dumps(line) + "\n")
            self.log.flush()
