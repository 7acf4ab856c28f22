"""Anthropic messages."""

import base64
import json

from .model import CACHED, INPUT, OUTPUT, Failure, SeenCall, Tool, View, pieces


def read(path, body):
    view = View("anthropic", model=body.get("model", ""), stream=bool(body.get("stream")), body=body)
    if "max_tokens" not in body and not path.endswith("count_tokens"):
        view.problems.append("max_tokens is missing")
    if "thread" in body:
        # The SDK's tool runner asks for a conversation that the server keeps. It repeats the request without one after this error.
        raise Failure(400, "threads are not supported", details={"error_code": "thread_unsupported_request", "unsupported": ["thread"]})
    view.system = body.get("system")
    view.items = body.get("messages", [])
    for tool in body.get("tools") or []:
        view.tools[tool["name"]] = Tool(tool["name"], tool.get("input_schema") or {})
    form = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    view.schema = form.get("schema")
    choice = body.get("tool_choice") or {}
    view.forced = choice.get("name", "") if choice.get("type") == "tool" else ""
    before = None
    for message in view.items:
        if message["role"] == "assistant":
            step = view.steps[-1] if before == "assistant" else view.new_step()
            for block in blocks(message):
                read_block(step, block)
        elif message["role"] == "user":
            read_user(view, message)
        before = message["role"]
    pair_results(view)
    return view


def blocks(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def read_block(step, block):
    kind = block["type"]
    if kind == "thinking":
        step.thinking.append((block["thinking"], block.get("signature", "")))
    elif kind == "text":
        step.text += block["text"]
    elif kind == "tool_use":
        step.calls.append(SeenCall(block["id"], block["name"], block["input"]))
    step.order.append({"tool_use": "call"}.get(kind, kind))


def read_user(view, message):
    for block in blocks(message):
        if block["type"] == "text":
            view.user_texts.append(block["text"])
        elif block["type"] in ("image", "document"):
            read_image(view, block["source"])
        elif block["type"] == "tool_result":
            content = block.get("content", "")
            if isinstance(content, list):
                for part in content:
                    if part["type"] in ("image", "document"):
                        read_image(view, part["source"])
                content = "".join(part.get("text", "") for part in content)
            view.results.append((block["tool_use_id"], content))


def read_image(view, source):
    if source["type"] == "base64":
        view.images.append((source["media_type"], base64.b64decode(source["data"], validate=True)))
    else:
        view.images.append(("", source.get("url", "")))


def pair_results(view):
    """The results of all calls are at the front of the next user message."""
    open_ids = []
    for message in view.items:
        if message["role"] == "system":
            continue
        results = [b["tool_use_id"] for b in blocks(message) if b["type"] == "tool_result"]
        if message["role"] == "user":
            kinds = [b["type"] == "tool_result" for b in blocks(message)]
            if kinds != sorted(kinds, reverse=True):
                view.problems.append("a tool_result is not at the front of its message")
            if sorted(results) != sorted(open_ids):
                view.problems.append(f"results {results} do not match the calls {open_ids}")
            open_ids = []
        else:
            open_ids += [b["id"] for b in blocks(message) if b["type"] == "tool_use"]
    if open_ids:
        view.problems.append(f"calls without results at the end: {open_ids}")


def usage(output=OUTPUT):
    return {"input_tokens": INPUT - CACHED, "cache_creation_input_tokens": 0, "cache_read_input_tokens": CACHED,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": output, "server_tool_use": None, "service_tier": "standard", "inference_geo": None,
            "output_tokens_details": None}


def stop_reason(turn):
    return {"tool_calls": "tool_use", "length": "max_tokens", "stop": "end_turn"}[turn.reason()]


def content(turn):
    parts = []
    if turn.thinking or turn.signature:
        parts.append({"type": "thinking", "thinking": turn.thinking, "signature": turn.signature})
    if turn.text:
        parts.append({"type": "text", "text": turn.text, "citations": None})
    for call in turn.calls:
        if call.thinking:
            parts.append({"type": "thinking", "thinking": call.thinking, "signature": call.signature})
        parts.append({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments, "caller": {"type": "direct"}})
    return parts


def message(view, turn, number, parts, reason, used):
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": view.model, "content": parts,
            "stop_reason": reason, "stop_sequence": None, "stop_details": None, "container": None, "usage": used}


def write(view, turn, number):
    return message(view, turn, number, content(turn), stop_reason(turn), usage())


def stream(view, turn, number):
    yield event("message_start", message=message(view, turn, number, [], None, usage(1)))
    yield event("ping")
    for index, part in enumerate(content(turn)):
        kind = part["type"]
        empty = {"thinking": {"thinking": "", "signature": ""}, "text": {"text": ""}, "tool_use": {"input": {}}}[kind]
        yield event("content_block_start", index=index, content_block={**part, **empty})
        if kind == "thinking":
            for piece in pieces(part["thinking"]):
                yield delta(index, "thinking_delta", thinking=piece)
            yield delta(index, "signature_delta", signature=part["signature"])
        elif kind == "text":
            for piece in pieces(part["text"]):
                yield delta(index, "text_delta", text=piece)
            if turn.after == "slow":
                for n in range(2000):
                    yield delta(index, "text_delta", text=f"{n} ")
            if turn.after == "error":
                yield event("error", error={"type": "overloaded_error", "message": "the model is overloaded"}, request_id="req_1")
                return
            if turn.after == "cut":
                return
        else:
            yield delta(index, "input_json_delta", partial_json="")
            for piece in pieces(json.dumps(part["input"])):
                yield delta(index, "input_json_delta", partial_json=piece)
        yield event("content_block_stop", index=index)
    yield event("message_delta", usage=usage(), context_management=None,
                delta={"stop_reason": stop_reason(turn), "stop_sequence": None, "stop_details": None, "container": None})
    yield event("message_stop")


def delta(index, kind, **fields):
    return event("content_block_delta", index=index, delta={"type": kind, **fields})


def event(kind, **fields):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def error(failure):
    kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}
    error = {"type": kinds.get(failure.status, "api_error"), "message": failure.message}
    if failure.details:
        error["details"] = failure.details
    return {"type": "error", "error": error, "request_id": "req_1"}
