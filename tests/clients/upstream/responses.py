"""OpenAI Responses."""

import json
import time

from .model import CACHED, INPUT, OUTPUT, REASONING, SeenCall, Tool, View, loads, media, pieces

CALLS = ("function_call", "custom_tool_call")


def read(path, body):
    view = View("responses", model=body.get("model", ""), stream=bool(body.get("stream")), body=body)
    view.system = body.get("instructions")
    given = body.get("input", [])
    view.items = [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given
    read_tools(view, body.get("tools") or [])
    for item in view.items:
        if item.get("type") == "additional_tools":
            read_tools(view, item.get("tools") or [])
    form = (body.get("text") or {}).get("format") or {}
    view.schema = form.get("schema") if form.get("type") == "json_schema" else None
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function":
        view.forced = choice["name"]
    view.encrypted = "reasoning.encrypted_content" in (body.get("include") or [])
    step = None
    for item in view.items:
        step = read_item(view, step, item)
    pair_results(view)
    return view


def read_tools(view, tools, namespace=""):
    for tool in tools:
        if tool["type"] == "namespace":
            read_tools(view, tool.get("tools") or [], tool["name"])
        elif tool["type"] in ("function", "custom"):
            name = tool["name"]
            key = f"{namespace}.{name}" if namespace else name
            view.tools[key] = Tool(name, tool.get("parameters") or {}, tool["type"] == "custom", namespace)


def read_item(view, step, item):
    """Reads an item and returns the step that is open after it: consecutive items of the model form one step."""
    kind = item.get("type", "message")
    if kind == "reasoning":
        step = step or view.new_step()
        text = "\n".join(s["text"] for s in item.get("summary") or [])
        step.thinking.append((text, item.get("encrypted_content") or ""))
        step.order.append("thinking")
    elif kind in CALLS:
        step = step or view.new_step()
        step.calls.append(SeenCall(item["call_id"], item["name"], loads(item.get("arguments", item.get("input")))))
        step.order.append("call")
    elif kind == "message" and item["role"] == "assistant":
        step = step or view.new_step()
        step.text += "".join(texts(view, item["content"]))
        step.order.append("text")
    else:
        step = None
        if kind == "message" and item["role"] == "user":
            view.user_texts += texts(view, item["content"])
        elif kind == "message":
            view.system_texts += texts(view, item["content"])
        elif kind in ("function_call_output", "custom_tool_call_output"):
            view.results.append((item["call_id"], "".join(texts(view, item["output"]))))
    return step


def texts(view, content):
    if isinstance(content, str):
        return [content]
    found = []
    for part in content:
        if part["type"] in ("input_text", "output_text", "text"):
            found.append(part["text"])
        elif part["type"] in ("input_image", "input_file"):
            view.images.append(media(part.get("image_url") or part.get("file_data") or part.get("file_url", "")))
    return found


def pair_results(view):
    open_ids = []
    for item in view.items:
        kind = item.get("type", "message")
        if kind in CALLS:
            open_ids.append(item["call_id"])
        elif kind in ("function_call_output", "custom_tool_call_output"):
            if item["call_id"] in open_ids:
                open_ids.remove(item["call_id"])
            else:
                view.problems.append(f"output for {item['call_id']!r} follows no call of that id")
    if open_ids:
        view.problems.append(f"calls without results: {open_ids}")


def usage():
    return {"input_tokens": INPUT, "input_tokens_details": {"cached_tokens": CACHED, "cache_write_tokens": 0}, "output_tokens": OUTPUT,
            "output_tokens_details": {"reasoning_tokens": REASONING}, "total_tokens": INPUT + OUTPUT}


def output(view, turn, number):
    items = []

    def reasoning(id, text, mark):
        items.append({"type": "reasoning", "id": id, "summary": [{"type": "summary_text", "text": text}] if text else []})
        if view.encrypted:
            items[-1]["encrypted_content"] = mark

    if turn.thinking or turn.silent:
        reasoning(f"rs_{number}", turn.thinking, turn.signature)
    if turn.text:
        part = {"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}
        items.append({"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [part]})
    for index, call in enumerate(turn.calls):
        if call.thinking:
            reasoning(f"rs_{number}_{index}", call.thinking, call.signature)
        kind, field = ("custom_tool_call", "input") if call.custom else ("function_call", "arguments")
        item = {"type": kind, "id": f"fc_{number}_{index}", "call_id": call.id, "name": call.name, field: call.text(), "status": "completed"}
        if call.namespace:
            item["namespace"] = call.namespace
        items.append(item)
    return items


def whole(view, number, items, status, incomplete=None):
    body = view.body
    return {"id": f"resp_{number}", "object": "response", "created_at": int(time.time()), "status": status, "background": False,
            "error": None, "incomplete_details": incomplete, "instructions": body.get("instructions"), "max_output_tokens": None,
            "model": view.model, "output": items, "parallel_tool_calls": True, "previous_response_id": None,
            "reasoning": {"effort": "medium", "summary": "auto"}, "service_tier": "default", "store": False, "temperature": 1.0,
            "text": {"format": {"type": "text"}, "verbosity": "medium"}, "tool_choice": "auto", "tools": body.get("tools") or [],
            "top_logprobs": 0, "top_p": 1.0, "truncation": "disabled", "usage": usage() if status != "in_progress" else None,
            "user": None, "metadata": {}}


def final(view, turn, number):
    cut = turn.reason() == "length"
    return whole(view, number, output(view, turn, number), "incomplete" if cut else "completed",
                 {"reason": "max_output_tokens"} if cut else None)


def write(view, turn, number):
    return final(view, turn, number)


def stream(view, turn, number):
    count = 0

    def event(kind, **fields):
        nonlocal count
        value = {"type": kind, "sequence_number": count, **fields}
        count += 1
        return f"event: {kind}\ndata: {json.dumps(value)}\n\n".encode()

    start = whole(view, number, [], "in_progress")
    yield event("response.created", response=start)
    yield event("response.in_progress", response=start)
    for index, item in enumerate(output(view, turn, number)):
        here = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "reasoning":
            empty = {**item, "summary": []}
            if "encrypted_content" in empty:
                empty["encrypted_content"] = "gAAA-not-final"
            yield event("response.output_item.added", output_index=index, item=empty)
            for at, summary in enumerate(item["summary"]):
                part = {"summary_index": at, **here}
                yield event("response.reasoning_summary_part.added", **part, part={"type": "summary_text", "text": ""})
                for piece in pieces(summary["text"]):
                    yield event("response.reasoning_summary_text.delta", **part, delta=piece, obfuscation="x")
                yield event("response.reasoning_summary_text.done", **part, text=summary["text"])
                yield event("response.reasoning_summary_part.done", **part, part=summary)
        elif item["type"] == "message":
            yield event("response.output_item.added", output_index=index, item={**item, "content": [], "status": "in_progress"})
            part = {"content_index": 0, **here}
            yield event("response.content_part.added", **part, part={"type": "output_text", "text": "", "annotations": [], "logprobs": []})
            for piece in pieces(turn.text):
                yield event("response.output_text.delta", **part, delta=piece, logprobs=[], obfuscation="x")
            if turn.after == "slow":
                for n in range(2000):
                    yield event("response.output_text.delta", **part, delta=f"{n} ", logprobs=[])
            if turn.after == "error":
                failed = whole(view, number, [], "failed")
                failed["error"] = {"code": "server_error", "message": "the model is overloaded"}
                yield event("response.failed", response=failed)
                return
            if turn.after == "cut":
                return
            yield event("response.output_text.done", **part, text=turn.text, logprobs=[])
            yield event("response.content_part.done", **part, part=item["content"][0])
        else:
            field, name = ("input", "custom_tool_call_input") if item["type"] == "custom_tool_call" else ("arguments", "function_call_arguments")
            yield event("response.output_item.added", output_index=index, item={**item, field: "", "status": "in_progress"})
            for piece in pieces(item[field]):
                yield event(f"response.{name}.delta", **here, delta=piece)
            done = {field: item[field]}
            if field == "arguments":
                done["name"] = item["name"]
            yield event(f"response.{name}.done", **here, **done)
        yield event("response.output_item.done", output_index=index, item=item)
    last = final(view, turn, number)
    yield event("response." + last["status"], response=last)


def error(failure):
    from .chat import error as chat_error
    return chat_error(failure)
