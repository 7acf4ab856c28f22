"""Requests that no SDK of this folder sends, but other clients do: probes, other paths, other ways to send the key."""

import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, urlsplit

from check import BASE, DIRECT, KEY, Skip, equal, has, prompt, run

ADDRESS = urlsplit(BASE).netloc


def call(method, path, body=None, headers=None):
    connection = http.client.HTTPConnection(ADDRESS, timeout=20)
    connection.request(method, path, json.dumps(body) if body is not None else None, {"content-type": "application/json", **(headers or {})})
    response = connection.getresponse()
    return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read().decode()


def ok(method, path, body, headers=None):
    status, got, text = call(method, path, body, {"authorization": f"Bearer {KEY}", **(headers or {})})
    assert status == 200, f"{path}: {status} {text}"
    return got, text


def chat(model):
    return {"model": model, "messages": [{"role": "user", "content": prompt("hello")}]}


def messages(model):
    return {**chat(model), "max_tokens": 100}


def contents():
    return {"contents": [{"parts": [{"text": prompt("hello")}]}]}


def gateway_only(check):
    def checked(model, upstream):
        if DIRECT:
            raise Skip("needs a gateway")
        return check(model, upstream)
    return checked


def websocket(model, upstream):
    """Codex asks for a WebSocket first. After 426 it uses HTTP at once; other statuses cost seven attempts."""
    headers = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}
    equal(call("GET", "/v1/responses", headers=headers)[0], 426)
    equal(call("GET", "/v1/responses", headers={**headers, "authorization": f"Bearer {KEY}"})[0], 426)


def hello(model, upstream):
    """Claude Code looks for its server without a key."""
    equal(call("HEAD", "/api/hello")[0], 200)


def health(model, upstream):
    equal((call("GET", "/health/live")[0], call("GET", "/health/ready")[0]), (200, 200))


def prefixes(model, upstream):
    for path, body in (("/openai/v1/chat/completions", chat(model)), ("/openai/v1/responses", {"model": model, "input": prompt("hello")}),
                       ("/anthropic/v1/messages", messages(model)), ("/messages", messages(model)), ("/v1/messages?beta=true", messages(model)),
                       (f"/gemini/v1beta/models/{model}:generateContent", contents()), (f"/v1/models/{model}:generateContent", contents()),
                       (f"/v1beta/models/{quote(model, safe='')}:generateContent", contents())):
        has(ok("POST", path, body, {"anthropic-version": "2023-06-01"})[1], f"Hello from {upstream}", "checks: ok")


def keys(model, upstream):
    for headers, query in (({"x-api-key": KEY}, ""), ({"x-goog-api-key": KEY}, ""), ({"authorization": f"bearer {KEY}"}, ""), ({}, f"?key={KEY}")):
        status, _, text = call("POST", f"/v1beta/models/{model}:generateContent{query}", contents(), headers)
        assert status == 200, f"{list(headers)} {query[:5]}: {status} {text}"
    for path, body in (("/v1/chat/completions", chat(model)), ("/v1/messages", messages(model)), (f"/v1beta/models/{model}:generateContent", contents())):
        equal(call("POST", path, body)[0], 401)


def array(model, upstream):
    """A Gemini stream without `alt=sse` is a JSON array."""
    got, text = ok("POST", f"/v1beta/models/{model}:streamGenerateContent", contents())
    chunks = json.loads(text)
    has("".join(p.get("text", "") for c in chunks for p in c["candidates"][0]["content"].get("parts", [])), f"Hello from {upstream}")
    has(got["content-type"], "application/json")


def snake(model, upstream):
    """LiteLLM sends snake_case and no version."""
    body = {"contents": [{"role": "user", "parts": [{"text": prompt("image")}, {"inline_data": {"mime_type": "image/png", "data": "iVBORw0KGgo="}}]}],
            "system_instruction": {"parts": [{"text": "Be brief."}]}, "generation_config": {"max_output_tokens": 50}}
    has(ok("POST", f"/models/{model}:generateContent", body)[1], "image/png 8 bytes")


def request_ids(model, upstream):
    seen = set()
    for path, body, key in (("/v1/chat/completions", chat(model), KEY), ("/v1/chat/completions", chat(model), "wrong"), ("/v1/nothing", {}, KEY)):
        _, headers, _ = call("POST", path, body, {"authorization": f"Bearer {key}"})
        assert headers.get("x-request-id"), f"{path} has no x-request-id"
        seen.add(headers["x-request-id"])
    equal(len(seen), 3)


def counts(model, upstream):
    """Claude Code counts the tokens of 24 texts at once."""
    def count(_):
        return call("POST", "/v1/messages/count_tokens", {"model": model, "messages": [{"role": "user", "content": "Hi"}]},
                    {"authorization": f"Bearer {KEY}", "anthropic-version": "2023-06-01"})[0]
    started = time.monotonic()
    with ThreadPoolExecutor(24) as pool:
        equal(list(pool.map(count, range(24))), [200] * 24)
    return f"{time.monotonic() - started:.2f} s"


def unknown_fields(model, upstream):
    body = {**chat(model), "frobnicate": {"deep": [1]}, "user": None, "stop": None, "logit_bias": None, "metadata": None, "tools": None}
    has(ok("POST", "/v1/chat/completions?trace=1", body, {"x-unknown": "1"})[1], f"Hello from {upstream}", "checks: ok")


def not_json(model, upstream):
    for path in ("/v1/chat/completions", "/v1/responses", "/v1/messages", f"/v1beta/models/{model}:generateContent"):
        connection = http.client.HTTPConnection(ADDRESS, timeout=20)
        connection.request("POST", path, b"{not json", {"authorization": f"Bearer {KEY}", "anthropic-version": "2023-06-01"})
        response = connection.getresponse()
        text = response.read().decode()
        equal(response.status, 400)
        assert json.loads(text)["error"]["message"], text


run("raw", "chat", {
    "websocket-probe": gateway_only(websocket), "hello-probe": hello, "health": gateway_only(health), "prefixes": gateway_only(prefixes),
    "keys": gateway_only(keys), "array-stream": gateway_only(array), "snake-case": gateway_only(snake), "request-ids": gateway_only(request_ids), "24-counts": counts,
    "unknown-fields": unknown_fields, "not-json": gateway_only(not_json),
})
