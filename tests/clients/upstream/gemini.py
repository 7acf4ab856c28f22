"""Gemini generateContent."""

import base64
import json
import re

from .model import CACHED, INPUT, OUTPUT, REASONING, SeenCall, Tool, View, pieces


# What a client names itself: keys inside are not the API's.
FREE = ("args", "response", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema")


def camel(value):
    """The API takes its fields in either case. The Python SDK mixes them, LiteLLM sends snake_case."""
    if isinstance(value, list):
        return [camel(v) for v in value]
    if not isinstance(value, dict):
        return value
    named = {re.sub(r"_(\w)", lambda found: found[1].upper(), k): v for k, v in value.items()}
    return {k: v if k in FREE else camel(v) for k, v in named.items()}


def read(path, body):
    body = camel(body)
    name, _, method = path.split("?")[0].rpartition("/models/")[2].rpartition(":")
    view = View("gemini", model=name, stream=method.startswith("stream"), body=body)
    view.system = body.get("systemInstruction")
    view.items = body.get("contents", [])
    for tool in body.get("tools") or []:
        for function in tool.get("functionDeclarations") or []:
            schema = function.get("parametersJsonSchema") or function.get("parameters") or {}
            view.tools[function["name"]] = Tool(function["name"], schema)
    config = body.get("generationConfig") or {}
    if config.get("responseMimeType") == "application/json":
        view.schema = config.get("responseJsonSchema") or config.get("responseSchema")
    calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    if calling.get("mode") == "ANY" and len(calling.get("allowedFunctionNames") or []) == 1:
        view.forced = calling["allowedFunctionNames"][0]
    before = None
    for content in view.items:
        role = content.get("role", "user")
        step = None
        if role == "model":
            step = view.steps[-1] if before == "model" else view.new_step()
        for part in content.get("parts") or []:
            read_part(view, step, part)
        before = role
    pair_results(view)
    return view


def read_part(view, step, part):
    signature = part.get("thoughtSignature", "")
    if step is None:
        if "text" in part:
            view.user_texts.append(part["text"])
        if "inlineData" in part:
            read_blob(view, part["inlineData"])
        if "fileData" in part:
            view.images.append((part["fileData"].get("mimeType", ""), part["fileData"]["fileUri"]))
        if "functionResponse" in part:
            response = part["functionResponse"]
            # Without an id, responses answer the calls in their order.
            answered = {name for name, _ in view.results}
            calls = [c.id for c in (view.steps[-1].calls if view.steps else []) if c.name == response["name"] and c.id not in answered]
            call = response.get("id") or (calls[0] if calls else "")
            view.results.append((call, json.dumps(response["response"], ensure_ascii=False)))
            for inner in response.get("parts") or []:
                read_blob(view, inner["inlineData"])
    elif "functionCall" in part:
        call = part["functionCall"]
        step.calls.append(SeenCall(call.get("id", ""), call["name"], call.get("args", {}), signature))
        step.order.append("call")
    elif part.get("thought"):
        step.thinking.append((part.get("text", ""), signature))
        step.order.append("thinking")
    elif "text" in part:
        step.text += part["text"]
        step.signature = signature or step.signature
        step.order.append("text")


def read_blob(view, blob):
    # The Python SDK sends URL-safe base64.
    data = blob["data"].replace("-", "+").replace("_", "/")
    view.images.append((blob["mimeType"], base64.b64decode(data, validate=True)))


def pair_results(view):
    """A content with calls is followed by one content that has as many responses, in any order."""
    calls = []
    for content in view.items:
        parts = content.get("parts") or []
        responses = [p["functionResponse"] for p in parts if "functionResponse" in p]
        if content.get("role", "user") == "model":
            calls += [p["functionCall"] for p in parts if "functionCall" in p]
        else:
            if sorted(r["name"] for r in responses) != sorted(c["name"] for c in calls):
                view.problems.append(f"responses {[r['name'] for r in responses]} do not match the calls {[c['name'] for c in calls]}")
            ids = sorted(c.get("id", "") for c in calls)
            if any(r.get("id") for r in responses) and sorted(r.get("id", "") for r in responses) != ids:
                view.problems.append(f"response ids {[r.get('id') for r in responses]} do not match the call ids {ids}")
            calls = []
    if calls:
        view.problems.append("calls without responses at the end")


def usage():
    return {"promptTokenCount": INPUT, "cachedContentTokenCount": CACHED, "candidatesTokenCount": OUTPUT - REASONING,
            "thoughtsTokenCount": REASONING, "totalTokenCount": INPUT + OUTPUT,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": INPUT}]}


def call_part(call):
    part = {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}
    if call.signature:
        part["thoughtSignature"] = call.signature
    return part


def response(view, number, parts, finish=None):
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "usageMetadata": usage(), "modelVersion": view.model, "responseId": f"resp{number}"}


def finish_reason(turn):
    return {"length": "MAX_TOKENS"}.get(turn.reason(), "STOP")


def write(view, turn, number):
    parts = [{"text": turn.thinking, "thought": True}] if turn.thinking else []
    if turn.text:
        parts.append({"text": turn.text})
        if turn.signature and not turn.calls:
            parts[-1]["thoughtSignature"] = turn.signature
    for call in turn.calls:
        parts += [{"text": call.thinking, "thought": True}] if call.thinking else []
        parts.append(call_part(call))
    return response(view, number, parts, finish_reason(turn))


def stream(view, turn, number):
    for piece in pieces(turn.thinking, 30):
        yield response(view, number, [{"text": piece, "thought": True}])
    for piece in pieces(turn.text, 15):
        yield response(view, number, [{"text": piece}])
    if turn.after == "slow":
        for n in range(2000):
            yield response(view, number, [{"text": f"{n} "}])
    if turn.after == "error":
        yield {"error": {"code": 503, "message": "the model is overloaded", "status": "UNAVAILABLE"}}
        return
    if turn.after == "cut":
        return
    for call in turn.calls:
        if call.thinking:
            yield response(view, number, [{"text": call.thinking, "thought": True}])
        yield response(view, number, [call_part(call)])
    last = {"text": ""}
    if turn.signature and not turn.calls:
        last["thoughtSignature"] = turn.signature
    yield response(view, number, [last], finish_reason(turn))


def error(failure):
    words = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
    value = {"code": failure.status, "message": failure.message, "status": words.get(failure.status, "INTERNAL")}
    if "retry-after" in failure.headers:
        value["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": failure.headers["retry-after"] + "s"}]
    return {"error": value}
