"""What the model has said, and the check that histories repeat it exactly."""

import base64
import hashlib
import threading
import time

from .model import canonical


# Not every API has a field for the state of a text without calls. The providers accept that it is missing.
ABSENT = "the state of a text is absent"


class Memory:
    def __init__(self):
        self.lock = threading.RLock()
        self.count = 0
        self.by_call = {}  # call id: turn
        self.by_text = {}  # text: turn
        self.conversations = {}

    def conversation(self, name):
        with self.lock:
            if name not in self.conversations:
                self.conversations[name] = {"problems": [], "requests": 0, "last": None, "notes": [], "apis": []}
            return self.conversations[name]

    def mint(self, api, turn):
        """Gives a turn its ids and signatures, in the form of the API, and remembers it."""
        with self.lock:
            self.count += 1
            number = f"{int(time.time())}{self.count:04}"
            if turn.thinking or turn.silent:
                turn.signature = signature(api, number)
            for index, call in enumerate(turn.calls):
                digest = hashlib.sha256(f"{number}.{index}".encode()).hexdigest()
                call.id = {"anthropic": "toolu_01" + digest[:22], "gemini": digest[:8]}.get(api, "call_" + digest[:24])
                self.by_call[call.id] = turn
                # Gemini signs the first of several parallel calls, and each that has thinking of its own.
                if call.thinking:
                    call.signature = signature(api, f"{number}.{index}")
                elif api == "gemini" and index == 0:
                    call.signature = turn.signature
            if turn.text and not turn.calls:
                self.by_text[turn.text] = turn
            return number

    def check(self, view):
        """Returns what is wrong with the history of a request."""
        problems = list(view.problems)
        for step in view.steps:
            turns = {id(t): t for t in (self.by_call.get(c.id) for c in step.calls) if t}
            for call in step.calls:
                if call.id not in self.by_call:
                    problems.append(f"call id {call.id[:80]!r} was not made by the model")
            if len(turns) > 1:
                problems.append("the calls of two responses were merged")
            elif turns:
                problems += compare(view, step, next(iter(turns.values())))
            elif step.text in self.by_text:
                problems += compare_state(view, step, self.by_text[step.text])
        return problems

    def check_prefix(self, view, conversation):
        """Returns where a request does not begin with the previous request of its conversation."""
        now = (system_of(view), canonical(view.body.get("tools")), [canonical(i) for i in view.items])
        before, conversation["last"] = conversation["last"], now
        if before is None:
            return []
        problems = []
        for name, old, new in (("system prompt", before[0], now[0]), ("tools", before[1], now[1])):
            if old != new:
                problems.append(f"the {name} changed: {difference(old, new)}")
        for index, old in enumerate(before[2]):
            if index >= len(now[2]):
                problems.append(f"message {index} is gone: {old[:200]}")
                break
            if old != now[2][index]:
                problems.append(f"message {index} changed: {difference(old, now[2][index])}")
                break
        return problems


def signature(api, number):
    raw = hashlib.sha512(number.encode()).digest() * 5
    if api == "anthropic":
        return "Eo4C" + base64.b64encode(raw).decode()
    if api == "responses":
        return "gAAAAAB" + base64.urlsafe_b64encode(raw).decode()
    if api == "gemini":
        return base64.b64encode(b"\x12\x34" + raw).decode()
    return ""


def system_of(view):
    """The system prompt without the block of Claude Code whose value differs in every request."""
    blocks = view.system if isinstance(view.system, list) else [view.system]
    return canonical([b for b in blocks if "x-anthropic-billing-header" not in canonical(b)])


def difference(old, new):
    at = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    start = max(0, at - 60)
    return f"…{old[start : at + 100]!r} became …{new[start : at + 100]!r}"


def compare(view, step, turn):
    problems = []
    ids, expected = [c.id for c in step.calls], [c.id for c in turn.calls]
    if ids != expected:
        problems.append(f"calls {ids} instead of {expected}")
    for seen in step.calls:
        made = next((c for c in turn.calls if c.id == seen.id), None)
        if not made:
            continue
        if seen.name != made.name:
            problems.append(f"call {seen.id} has the name {seen.name!r} instead of {made.name!r}")
        if seen.arguments != made.arguments:
            problems.append(f"call {seen.id} has the arguments {seen.arguments!r:.200} instead of {made.arguments!r:.200}")
        if view.api == "gemini" and not same(seen.signature, made.signature):
            problems.append(f"call {seen.id} has the signature {seen.signature[:40]!r} instead of {made.signature[:40]!r}")
    if turn.text and step.text and step.text.strip() != turn.text.strip():
        problems.append(f"text {step.text!r:.200} instead of {turn.text!r:.200}")
    return problems + compare_state(view, step, turn)


def compare_state(view, step, turn):
    """Compares the thinking of a step with what the model made: Anthropic and Responses require it back unchanged."""
    expected, order = turn.thoughts()
    if expected and view.api != "chat" and not turn.calls and not step.thinking and not step.signature:
        return [ABSENT]
    if not expected:
        return [f"thinking was invented: {step.thinking!r:.200}"] if any(s for _, s in step.thinking) else []
    if view.api == "gemini":
        if turn.calls:
            return []  # the signatures of the calls were compared
        return [] if same(step.signature, turn.signature) else [f"text has the signature {step.signature[:40]!r} instead of {turn.signature[:40]!r}"]
    if view.api == "chat":
        text = "".join(text for text, _ in expected)
        if step.thinking and step.thinking[0][0] != text:
            return [f"reasoning_content is {step.thinking[0][0]!r:.100} instead of {text!r:.100}"]
        return []
    if view.api == "anthropic" and not step.thinking and (view.body.get("thinking") or {}).get("type", "disabled") == "disabled":
        return []  # Anthropic asks for the thinking back only if more thinking is to follow
    if not view.encrypted:
        expected = [(text, "") for text, _ in expected]
    problems = []
    if len(step.thinking) != len(expected):
        problems.append(f"the thinking is there {len(step.thinking)} times instead of {len(expected)}: {step.thinking!r:.200}")
    for (text, mark), (made, signed) in zip(step.thinking, expected):
        if mark != signed:
            problems.append(f"the thinking has the signature {mark[:40]!r} instead of {signed[:40]!r}")
        if text != made:
            problems.append(f"the thinking is {text!r:.100} instead of {made!r:.100}")
    seen = [kind for kind in step.order if kind in ("thinking", "call")]
    if not problems and seen != order:
        problems.append(f"the order is {seen} instead of {order}")
    if step.order and step.order[0] != "thinking":
        problems.append(f"the thinking is not first: {step.order}")
    return problems


def same(a, b):
    """Signatures of Gemini are bytes; SDKs may write either alphabet of base64."""
    def plain(text):
        return text.replace("-", "+").replace("_", "/").rstrip("=")
    return plain(a) == plain(b)
