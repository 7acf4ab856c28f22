"""Checks that the upstream accepts a correct history and notices each way of spoiling one: python -m upstream.selftest"""

import copy
import json
import urllib.request

from .server import KEY, Upstream

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string"}}}
PROMPT = "#tools:{}"


def post(server, path, body):
    headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}", "anthropic-version": "2023-06-01"}
    request = urllib.request.Request(server.url + path, json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))


class Anthropic:
    path, list = "/v1/messages", "messages"

    def first(self, name):
        return {"model": "m", "max_tokens": 9, "thinking": {"type": "enabled", "budget_tokens": 5}, "tools": [{"name": "w", "input_schema": SCHEMA}], "messages": [{"role": "user", "content": PROMPT.format(name)}]}

    def second(self, body, reply):
        calls = [b for b in reply["content"] if b["type"] == "tool_use"]
        body["messages"] += [{"role": "assistant", "content": reply["content"]},
                             {"role": "user", "content": [{"type": "tool_result", "tool_use_id": c["id"], "content": "1"} for c in calls]}]

    def text(self, reply):
        return "".join(b.get("text", "") for b in reply["content"])

    def spoil(self):
        content = lambda body: body["messages"][1]["content"]
        yield "thinking dropped", lambda body: content(body).pop(0)
        yield "signature changed", lambda body: content(body)[0].update(signature="x")
        yield "thinking changed", lambda body: content(body)[0].update(thinking="x")
        yield "thinking last", lambda body: content(body).append(content(body).pop(0))
        yield "call dropped", lambda body: content(body).pop()
        yield "id changed", lambda body: content(body)[-1].update(id="x")
        yield "arguments changed", lambda body: content(body)[-1].update(input={})
        yield "result dropped", lambda body: body["messages"][2]["content"].pop()
        yield "text before results", lambda body: body["messages"][2]["content"].insert(0, {"type": "text", "text": "x"})
        yield "prompt changed", lambda body: body["messages"].insert(0, {"role": "user", "content": "new"})
        yield "tools changed", lambda body: body["tools"][0].update(description="x")


class Responses:
    path, list = "/v1/responses", "input"

    def first(self, name):
        return {"model": "m", "include": ["reasoning.encrypted_content"], "tools": [{"type": "function", "name": "w", "parameters": SCHEMA}],
                "input": [{"type": "message", "role": "user", "content": PROMPT.format(name)}]}

    def second(self, body, reply):
        calls = [i for i in reply["output"] if i["type"] == "function_call"]
        body["input"] += reply["output"] + [{"type": "function_call_output", "call_id": c["call_id"], "output": "1"} for c in calls]

    def text(self, reply):
        return "".join(p["text"] for i in reply["output"] if i["type"] == "message" for p in i["content"])

    def spoil(self):
        yield "reasoning dropped", lambda body: body["input"].pop(1)
        yield "encrypted content changed", lambda body: body["input"][1].update(encrypted_content="x")
        yield "call dropped", lambda body: body["input"].pop(4)
        yield "id changed", lambda body: body["input"][3].update(call_id="x")
        yield "arguments changed", lambda body: body["input"][3].update(arguments="{}")
        yield "result dropped", lambda body: body["input"].pop()
        yield "prompt changed", lambda body: body["input"].insert(0, {"type": "message", "role": "user", "content": "new"})


class Gemini:
    path, list = "/v1beta/models/m:generateContent", "contents"

    def first(self, name):
        return {"tools": [{"functionDeclarations": [{"name": "w", "parametersJsonSchema": SCHEMA}]}],
                "contents": [{"role": "user", "parts": [{"text": PROMPT.format(name)}]}]}

    def second(self, body, reply):
        content = reply["candidates"][0]["content"]
        calls = [p["functionCall"] for p in content["parts"] if "functionCall" in p]
        responses = [{"functionResponse": {"id": c["id"], "name": c["name"], "response": {"r": "1"}}} for c in calls]
        body["contents"] += [content, {"role": "user", "parts": responses}]

    def text(self, reply):
        return "".join(p.get("text", "") for p in reply["candidates"][0]["content"]["parts"])

    def spoil(self):
        parts = lambda body: body["contents"][1]["parts"]
        yield "signature dropped", lambda body: parts(body)[2].pop("thoughtSignature")
        yield "signature moved", lambda body: parts(body)[3].update(thoughtSignature=parts(body)[2].pop("thoughtSignature"))
        yield "signature changed", lambda body: parts(body)[2].update(thoughtSignature="eA==")
        yield "call dropped", lambda body: parts(body).pop()
        yield "id changed", lambda body: parts(body)[3]["functionCall"].update(id="x")
        yield "result dropped", lambda body: body["contents"][2]["parts"].pop()
        yield "prompt changed", lambda body: body["contents"].insert(0, {"role": "user", "parts": [{"text": "new"}]})


class Chat:
    path, list = "/v1/chat/completions", "messages"

    def first(self, name):
        return {"model": "m", "tools": [{"type": "function", "function": {"name": "w", "parameters": SCHEMA}}], "messages": [{"role": "user", "content": PROMPT.format(name)}]}

    def second(self, body, reply):
        message = reply["choices"][0]["message"]
        body["messages"] += [message] + [{"role": "tool", "tool_call_id": c["id"], "content": "1"} for c in message["tool_calls"]]

    def text(self, reply):
        return reply["choices"][0]["message"]["content"]

    def spoil(self):
        yield "call dropped", lambda body: body["messages"][1]["tool_calls"].pop()
        yield "id changed", lambda body: body["messages"][1]["tool_calls"][0].update(id="x")
        yield "result dropped", lambda body: body["messages"].pop()
        yield "reasoning changed", lambda body: body["messages"][1].update(reasoning_content="x")
        yield "prompt changed", lambda body: body["messages"].insert(0, {"role": "user", "content": "new"})


def main():
    server, failed, count = Upstream(), 0, 0
    for protocol in (Anthropic(), Responses(), Gemini(), Chat()):
        for label, change in [("nothing", lambda body: None), *protocol.spoil()]:
            count += 1
            body = protocol.first(f"{type(protocol).__name__}{count}")
            reply = post(server, protocol.path, body)
            body = copy.deepcopy(body)
            protocol.second(body, reply)
            change(body)
            try:
                text = protocol.text(post(server, protocol.path, body))
            except urllib.error.HTTPError as error:
                text = f"refused with {error.code}"
            if ("checks: ok" in text) != (label == "nothing"):
                failed += 1
                print(f"FAIL {protocol.path} {label}: {text}")
    print(f"{count} histories, {failed} judged wrongly")
    raise SystemExit(1 if failed else 0)


main()
