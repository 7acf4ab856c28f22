"""What the protocols have in common: a request as the script sees it, and a response as the script writes it."""

import base64
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Call:
    """A tool call that the model makes."""

    name: str
    arguments: Any  # a dict, or a string for a free-text tool
    id: str = ""
    signature: str = ""  # of the thinking before this call; on the call itself with Gemini
    thinking: str = ""  # further thinking between the calls of a response
    custom: bool = False
    namespace: str = ""

    def text(self):
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass
class Turn:
    """A response of the model."""

    text: str = ""
    thinking: str = ""
    signature: str = ""
    silent: bool = False  # thinking of which only the signature is shown
    calls: list[Call] = field(default_factory=list)
    finish: str = ""  # "", "length"
    after: str = ""  # what happens after the content of a stream: "", "error", "cut", "slow"

    def thoughts(self):
        """The thinking with its signatures, and the order of thinking and calls."""
        found = [(self.thinking, self.signature)] if self.thinking or self.silent else []
        order = ["thinking"] * len(found)
        for call in self.calls:
            if call.thinking:
                found.append((call.thinking, call.signature))
                order.append("thinking")
            order.append("call")
        return found, order

    def reason(self):
        return self.finish or ("tool_calls" if self.calls else "stop")


@dataclass
class Failure(Exception):
    """A response with an HTTP error."""

    status: int
    message: str
    headers: dict = field(default_factory=dict)
    details: dict = field(default_factory=dict)


@dataclass
class Tool:
    name: str
    schema: dict
    custom: bool = False
    namespace: str = ""


@dataclass
class SeenCall:
    """A tool call in the history of a request."""

    id: str
    name: str
    arguments: Any
    signature: str = ""


@dataclass
class Step:
    """One response of the model, as the history of a request has it."""

    thinking: list = field(default_factory=list)  # (text, signature)
    text: str = ""
    signature: str = ""  # of a text part
    calls: list[SeenCall] = field(default_factory=list)
    order: list[str] = field(default_factory=list)  # "thinking", "text", "call"


@dataclass
class View:
    """A request, read from any of the protocols."""

    api: str
    model: str = ""
    stream: bool = False
    system: Any = None
    items: list = field(default_factory=list)
    tools: dict[str, Tool] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    results: list = field(default_factory=list)  # (call id, text)
    user_texts: list[str] = field(default_factory=list)
    system_texts: list[str] = field(default_factory=list)  # of system messages between the others
    images: list = field(default_factory=list)  # (media type, bytes) or (media type, url)
    schema: Any = None
    forced: str = ""  # the tool that must be called
    include_usage: bool = True
    encrypted: bool = True  # Responses: whether encrypted reasoning was asked for
    problems: list[str] = field(default_factory=list)
    body: dict = field(default_factory=dict)

    def new_step(self):
        self.steps.append(Step())
        return self.steps[-1]


# What every response reports: 100 tokens in, of which 10 were cached; 20 out, of which 5 were reasoning.
INPUT, CACHED, OUTPUT, REASONING = 100, 10, 20, 5


def canonical(value):
    """JSON with sorted keys, without what a client changes when it moves its cache marker: the marker itself, and a text that is a
    list of one block while it has the marker and a string otherwise (Claude Code)."""
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        value = {**value, "content": [{"type": "text", "text": value["content"]}]}
    return json.dumps(strip(value), sort_keys=True, separators=(",", ":"))


def strip(value):
    if isinstance(value, dict):
        return {k: strip(v) for k, v in value.items() if k != "cache_control"}
    if isinstance(value, list):
        return [strip(v) for v in value]
    return value


def pieces(text, size=9):
    """The deltas of a text."""
    return [text[i : i + size] for i in range(0, len(text), size)]


def media(url):
    """The media type and the bytes of a data URL, or the URL itself."""
    if not url.startswith("data:"):
        return "", url
    head, data = url.split(",", 1)
    return head[5:].split(";")[0], base64.b64decode(data, validate=True)


def loads(text):
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text
