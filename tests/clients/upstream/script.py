"""What the model does. A marker `#scenario:conversation` in a user message chooses it."""

import json
import re

from . import agent
from .model import Call, Failure, Turn

MARKER = re.compile(r"#([a-z0-9-]+):([A-Za-z0-9-]+)")
THOUGHT = "The user wants an exact result. I weigh the options: “first”, then\nsecond. Done."


def marker(view):
    """The last marker of the conversation."""
    for text in reversed(view.user_texts):
        found = MARKER.findall(text)
        if found:
            return found[-1]
    return ("hello", "none")


def respond(view, memory):
    """Returns the next turn of the model and records what is wrong with the request."""
    scenario, name = marker(view)
    conversation = memory.conversation(name)
    with memory.lock:
        conversation["requests"] += 1
        conversation["apis"].append(view.api)
        problems = memory.check(view)
        if scenario == "agent" and not agent.is_main(view):
            conversation["notes"].append(f"side request with {len(view.tools)} tools to {view.model}")
            return Turn(text=json.dumps(sample(view.schema)) if view.schema else "Ok.")
        if view.tools:
            problems += memory.check_prefix(view, conversation)
        if scenario == "agent" and name.startswith(("error", "cut")) and not conversation.get("failed"):
            # The first response fails in mid-stream, once.
            conversation["failed"] = True
            turn = Turn(text="I begin with a text that does not end", after="error" if name.startswith("error") else "cut")
        elif scenario == "agent":
            turn, more = agent.respond(view, memory, name)
            problems += more
        else:
            turn = SCENARIOS[scenario](view, problems)
        conversation["problems"] += [p for p in problems if p not in conversation["problems"]]
        conversation["last_response"] = turn.text
    return turn


def verdict(problems):
    return "checks: " + ("; ".join(problems) if problems else "ok")


def hello(view, problems):
    return Turn(text=f"Hello from {view.api}. {verdict(problems)}")


def think(view, problems):
    return Turn(text=f"I have thought about it, says {view.api} {len(view.steps)}.", thinking=THOUGHT)


def again(view, problems):
    """Reports whether the state of the previous response came back."""
    last = view.steps[-1] if view.steps else None
    has_state = bool(last and (last.signature or any(s for _, s in last.thinking)))
    has_text = bool(last and last.thinking)
    return Turn(text=f"state: {'present' if has_state else 'absent'}; thinking: {'present' if has_text else 'absent'}; {verdict(problems)}")


def tools(view, problems, thinking=THOUGHT, between="", silent=False):
    """Two parallel calls; then reports their results."""
    results = dict(view.results)
    if not results:
        name = view.forced or next(iter(view.tools), "")
        if not name:
            return Turn(text=f"no tools were declared; {verdict(problems)}")
        calls = [Call(name, {"city": "Paris", "unit": "°C"}), Call(name, {"city": "London", "unit": "°C"}, thinking=between)]
        return Turn(text="I look both up.", thinking=thinking, silent=silent, calls=calls)
    if len(view.steps) > 1:
        return Turn(text=f"again: {verdict(problems)}")
    cities = []
    for call in view.steps[-1].calls:
        cities.append(f"{call.arguments.get('city')}={results.get(call.id, 'nothing')}")
    thinking = thinking and thinking + " Now I know."
    images = f" images: {media_of(view)}." if view.images else ""
    return Turn(text=f"Results: {', '.join(cities)}.{images} {verdict(problems)}", thinking=thinking, silent=silent)


def silent(view, problems):
    """Thinking of which only the signature is shown, as most models do unless they are asked for a summary."""
    return tools(view, problems, "", silent=True)


def interleaved(view, problems):
    """Thinking before each of the two calls."""
    return tools(view, problems, between="And the second one, too.")


def image(view, problems):
    return Turn(text=f"images: {media_of(view)}; {verdict(problems)}")


def loop(view, problems):
    """Eight responses with calls, each of another kind, then a text."""
    step = len(view.steps)
    if step == 8:
        return Turn(text=f"{step} steps; {verdict(problems)}")
    name = next(iter(view.tools), "")
    calls = [Call(name, {"city": city, "unit": f"{step} “°”\n\\ \u2028 😀"}) for city in ("Paris", "London")[: 1 + step % 2]]
    if step % 4 == 3:
        calls[-1].thinking = f"Once more {step}."
    return Turn(text="" if step % 3 else f"Step {step}.\n", thinking="" if step in (2, 5) else f"{THOUGHT} {step}", silent=step == 5, calls=calls)


def media_of(view):
    return ", ".join(f"{kind} {len(data)} bytes" if isinstance(data, bytes) else f"{kind} {data}" for kind, data in view.images) or "none"


def structured(view, problems):
    city = {"city": "Paris", "population": 2100000}
    # The AI SDK asks for a call of a tool `json` if it does not know that the model has structured output.
    tool = view.forced or ("json" if "json" in view.tools else "")
    if tool:
        return Turn(calls=[Call(tool, city)])
    if not view.schema:
        return Turn(text=f"no schema was sent: {list(view.body)}")
    return Turn(text=json.dumps(city))


def settings(view, problems):
    """Returns the request itself, so that a check can look at what arrived."""
    return Turn(text=json.dumps({k: v for k, v in view.body.items() if k not in ("messages", "input", "contents")}))


def rate(view, problems):
    raise Failure(429, "slow down", {"retry-after": "7"})


def bad(view, problems):
    raise Failure(400, "temperature must be at most 2")


def broken(view, problems):
    raise Failure(500, "internal failure")


SCENARIOS = {
    "hello": hello, "think": think, "again": again, "tools": tools, "silent": silent, "interleaved": interleaved, "image": image, "json": structured, "settings": settings,
    "loop": loop, "rate": rate, "bad": bad, "broken": broken,
    "length": lambda view, problems: Turn(text="This is cut", finish="length"),
    "midstream": lambda view, problems: Turn(text="This is the beginning of a text", after="error"),
    "cut": lambda view, problems: Turn(text="This is the beginning of a text", after="cut"),
    "slow": lambda view, problems: Turn(text="Counting: ", after="slow"),
}


def sample(schema):
    """The smallest value of a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = str(schema.get("type", "object")).lower()
    if kind == "object":
        return {k: sample(v) for k, v in (schema.get("properties") or {}).items()}
    return {"array": [], "string": "ok", "boolean": False, "number": 1, "integer": 1, "null": None}.get(kind)
