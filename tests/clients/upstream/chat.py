"""OpenAI chat completions."""

import json
import time

from .model import (CACHED, INPUT, OUTPUT, REASONING, SeenCall, Tool, View, loads, media, pieces)


def read(path, body):
    view = View("chat", model=body.get("model", ""), stream=bool(body.get("stream")), body=body)
    view.include_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    view.items = body.get("messages", [])
    for tool in body.get("tools") or []:
        kind = tool["type"]
        inner = tool.get(kind, {})
        if kind not in ("function", "custom") or "name" not in inner:
            view.problems.append(f"chat completions have no such tool: {tool!r:.200}")
        else:
            view.tools[inner["name"]] = Tool(inner["name"], inner.get("parameters") or {}, kind == "custom")
    form = body.get("response_format") or {}
    view.schema = form.get("json_schema", {}).get("schema") if form.get("type") == "json_schema" else None
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function":
        view.forced = choice["function"]["name"]
    for message in view.items:
        read_message(view, message)
    pair_results(view, view.items)
    return view


def read_message(view, message):
    role, content = message["role"], message.get("content")
    texts = content_texts(view, content)
    if role in ("system", "developer"):
        view.system = (view.system or []) + texts
    elif role == "user":
        view.user_texts += texts
    elif role == "assistant":
        step = view.new_step()
        if message.get("reasoning_content"):
            step.thinking.append((message["reasoning_content"], ""))
            step.order.append("thinking")
        step.text = "".join(texts)
        for call in message.get("tool_calls") or []:
            kind = call["type"]
            arguments = call[kind].get("arguments", call[kind].get("input"))
            step.calls.append(SeenCall(call["id"], call[kind]["name"], loads(arguments)))
    elif role == "tool":
        view.results.append((message["tool_call_id"], "".join(texts)))


def content_texts(view, content):
    if content is None:
        return []
    if isinstance(content, str):
        return [content]
    texts = []
    for part in content:
        if part["type"] in ("text", "refusal"):
            texts.append(part.get("text", ""))
        elif part["type"] in ("image_url", "file"):
            view.images.append(media(part["image_url"]["url"] if part["type"] == "image_url" else part["file"]["file_data"]))
    return texts


def pair_results(view, messages):
    """Every call is followed at once by one result per call."""
    open_ids = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] in open_ids:
                open_ids.remove(message["tool_call_id"])
            else:
                view.problems.append(f"tool message for {message['tool_call_id']!r} follows no call of that id")
            continue
        if open_ids:
            view.problems.append(f"calls without results: {open_ids}")
        open_ids = [c["id"] for c in message.get("tool_calls") or []] if message["role"] == "assistant" else []
    if open_ids:
        view.problems.append(f"calls without results at the end: {open_ids}")


def usage():
    return {
        "prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT,
        "prompt_tokens_details": {"cached_tokens": CACHED, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": REASONING, "audio_tokens": 0,
                                      "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
    }


def call_json(call):
    kind = "custom" if call.custom else "function"
    field = "input" if call.custom else "arguments"
    return {"id": call.id, "type": kind, kind: {"name": call.name, field: call.text()}}


def write(view, turn, number):
    message = {"role": "assistant", "content": turn.text or None, "refusal": None, "annotations": []}
    thinking = "".join(text for text, _ in turn.thoughts()[0])
    if thinking:
        message["reasoning_content"] = thinking
    if turn.calls:
        message["tool_calls"] = [call_json(c) for c in turn.calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": turn.reason()}
    return {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": int(time.time()),
            "model": view.model, "choices": [choice], "usage": usage(),
            "service_tier": "default", "system_fingerprint": "fp_1"}


def stream(view, turn, number):
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": int(time.time()), "model": view.model,
            "service_tier": "default", "system_fingerprint": "fp_1"}

    def chunk(delta, finish=None):
        value = {**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]}
        if view.include_usage:
            value["usage"] = None
        return data(value)

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    for piece in pieces("".join(text for text, _ in turn.thoughts()[0])):
        yield chunk({"reasoning_content": piece})
    for piece in pieces(turn.text):
        yield chunk({"content": piece})
    for index, call in enumerate(turn.calls):
        kind, field = ("custom", "input") if call.custom else ("function", "arguments")
        first = {"index": index, "id": call.id, "type": kind, kind: {"name": call.name, field: ""}}
        yield chunk({"tool_calls": [first]})
        for piece in pieces(call.text()):
            yield chunk({"tool_calls": [{"index": index, kind: {field: piece}}]})
    if turn.after == "slow":
        for n in range(2000):
            yield chunk({"content": f"{n} "})
    if turn.after == "error":
        yield data({"error": {"message": "the model is overloaded", "type": "server_error", "param": None, "code": "overloaded"}})
        return
    if turn.after == "cut":
        return
    yield chunk({}, turn.reason())
    if view.include_usage:
        yield data({**head, "choices": [], "usage": usage()})
    yield b"data: [DONE]\n\n"


def data(value):
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def error(failure):
    kinds = {400: "invalid_request_error", 401: "invalid_request_error", 404: "invalid_request_error", 429: "rate_limit_error"}
    codes = {429: "rate_limit_exceeded", 401: "invalid_api_key", 404: "model_not_found"}
    return {"error": {"message": failure.message, "type": kinds.get(failure.status, "server_error"), "param": None,
                      "code": codes.get(failure.status)}}
