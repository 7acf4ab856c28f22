"""Runs the checks of an SDK against every upstream and prints one line per check."""

import base64
import json
import os
import time
import traceback
import urllib.request
import uuid

BASE = os.environ["BASE"]
KEY = os.environ["KEY"]
MODELS = json.loads(os.environ["MODELS"])  # upstream protocol: model
UPSTREAM = os.environ.get("UPSTREAM")
DIRECT = os.environ.get("DIRECT") == "1"  # without a gateway: only the SDK's own protocol
ONLY = os.environ.get("ONLY")
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
    "required": ["city", "unit"],
    "additionalProperties": False,
}
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "population": {"type": "integer"}},
    "required": ["city", "population"],
    "additionalProperties": False,
}
RESULTS = {"Paris": "21", "London": "15"}


PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"


def check_settings(upstream, text, stop=["END"]):
    """What an upstream must receive of temperature 0.3, at most 321 tokens, the stop sequence END and the forced tool get_weather."""
    body = json.loads(text)
    config = body.get("generationConfig", {})
    found = {
        "chat": lambda: [body.get("temperature"), body.get("max_completion_tokens", body.get("max_tokens")), body.get("stop"), body["tool_choice"]["function"]["name"]],
        "responses": lambda: [body.get("temperature"), body.get("max_output_tokens"), stop, body["tool_choice"]["name"]],
        "anthropic": lambda: [body.get("temperature"), body.get("max_tokens"), body.get("stop_sequences"), body["tool_choice"]["name"]],
        "gemini": lambda: [config.get("temperature"), config.get("maxOutputTokens"), config.get("stopSequences"),
                           body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"][0]],
    }[upstream]()
    found[2] = [found[2]] if isinstance(found[2], str) else found[2]
    equal(found, [0.3, 321, stop, "get_weather"])


class Skip(Exception):
    pass


def prompt(scenario):
    """A prompt that makes the scripted model play a scenario, in a conversation of its own."""
    return f"Please go on. #{scenario}:{uuid.uuid4().hex[:12]}"


def follow(first, scenario):
    """A later prompt of the same conversation."""
    return f"And now? #{scenario}:{first.rpartition(':')[2]}"


def has(text, *needles):
    for needle in needles:
        assert needle in text, f"{needle!r} is not in {text!r:.600}"


def equal(left, right):
    assert left == right, f"{left!r:.300} is not {right!r:.300}"


def raises(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {getattr(kind, '__name__', kind)} was raised")


def wait_for_disconnect(text, closed_at):
    """Waits until the upstream notices that the conversation of a prompt was given up."""
    if not UPSTREAM:
        raise Skip("needs the URL of the scripted upstream")
    name = text.rpartition(":")[2]
    for _ in range(60):
        with urllib.request.urlopen(f"{UPSTREAM}/__conversation?name={name}") as response:
            seen = json.load(response).get("disconnected")
        if seen:
            late = seen["at"] - closed_at
            assert late < 1, f"the upstream was cancelled only after {late:.2f} s"
            return f"cancelled after {late * 1000:.0f} ms"
        time.sleep(0.05)
    raise AssertionError("the upstream request was not cancelled within 3 s")


def run(sdk, api, checks):
    """`checks` maps a name to a function of (model, upstream)."""
    failed = False
    for upstream, model in MODELS.items():
        if DIRECT and upstream != api:
            continue
        for name, check in checks.items():
            if ONLY and ONLY not in f"{sdk} {upstream} {name}":
                continue
            try:
                detail, word = check(model, upstream) or "", "PASS"
            except Skip as why:
                detail, word = str(why), "SKIP"
            except Exception as error:  # every failure of a check is a result
                place = traceback.extract_tb(error.__traceback__)
                line = next((f.lineno for f in reversed(place) if f.filename.endswith(f"{os.path.basename(checks_file())}")), 0)
                detail, word, failed = f"line {line}: {type(error).__name__}: {error}", "FAIL", True
            print(word, sdk, upstream, name, " ".join(str(detail).split())[:700], flush=True)
    raise SystemExit(1 if failed else 0)


def checks_file():
    import __main__
    return __main__.__file__
