#!/usr/bin/env python3
"""Gives the same bytes to every library, judges what it returns, and writes docs/fidelity.md.

    python3 bench/fidelity.py             builds, runs, writes
    python3 bench/fidelity.py --no-build  with the binaries that are there

Other options: --stdout (print, write nothing), --show CASE (print what each one saw of a fixture).
The bytes are bench/fidelity/fixtures; what each library is asked is bench/fidelity/src/bin. Only Python's standard
library is used.
"""

import argparse
import json
import re
import socket
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
RELEASE = BENCH / "target" / "release"
FIXTURES = BENCH / "fidelity" / "fixtures"
CONTESTANTS = ["ours", "genai", "rig", "async-openai"]
CRATES = {"ours": "agentloop", "genai": "genai", "rig": "rig-core", "async-openai": "async-openai"}
# How long one may take for one answer, its own retries included.
SECONDS = 60

OSLO = "https://weather.example/oslo"
RAIN = "https://news.example/rain"
CALLS = [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"})]


# What a check says: None if the thing is there, else "lost: …" or "wrong: …".


def is_in(wanted, found, what):
    """`found` has all that was sent, nothing of it (lost), or something else (wrong)."""
    if found == wanted:
        return None
    return f"lost: {what}" if not found else f"wrong: {shorten(json.dumps(found, ensure_ascii=False))}"


def text(wanted):
    return lambda seen: is_in(wanted, seen["text"], "no text")


def thinking(wanted):
    return lambda seen: is_in(wanted, "".join(thought["text"] for thought in seen["thinking"]), "no thinking")


def signature(wanted):
    return lambda seen: is_in([wanted], [thought["signature"] for thought in seen["thinking"] if thought["signature"]], "no signature")


def calls(wanted, ids=None):
    def check(seen):
        found = is_in(wanted, [(call["name"], call["arguments"]) for call in seen["calls"]], "no call")
        return found or (is_in(ids, [call["id"] for call in seen["calls"]], "no ids") if ids else None)

    return check


def state(needle):
    return lambda seen: None if needle in json.dumps(seen["states"]) else "lost: not kept"


def server_call(seen):
    return is_in([("web_search", {"query": "weather Oslo"})], [(call["name"], call["arguments"]) for call in seen["server_calls"]], "no such part")


def server_result(seen):
    results = json.dumps(seen["server_results"])
    return "lost: no such part" if not seen["server_results"] else None if OSLO in results and "RW5jcnlwdGVkUmFpbg==" in results else "wrong: incomplete"


def cited(urls, title=None, starts=None, passage=None):
    def check(seen):
        found = seen["citations"]
        if not found:
            return "lost: no citation"
        if [one["url"] for one in found] != urls:
            return f"wrong: {shorten(json.dumps([one['url'] for one in found]))}"
        if title and found[0]["title"] != title:
            return "wrong: without its title"
        if passage and found[0]["text"] != passage:
            return "wrong: without the cited text"
        if starts and found[0]["start"] is None:
            return "lost: its position in the text"
        if starts and found[0]["start"] not in starts:
            return f"wrong: begins at {found[0]['start']}"
        return None

    return check


def finish(wanted):
    return lambda seen: is_in(wanted, seen["finish"], "no reason")


def tokens(prompt, completion):
    def check(seen):
        found = (seen["prompt_tokens"], seen["completion_tokens"])
        return None if found == (prompt, completion) else "lost: no usage" if found == (None, None) else "wrong: {} and {}".format(*found)

    return check


def refused(words):
    def check(seen):
        if words and words not in (seen["refusal"] or "") and words not in seen["text"]:
            return "lost: an empty response"
        return None if seen["finish"] == "content_filter" or seen["refusal"] else f"wrong: as a response that ends with {seen['finish']}"

    return check


def blocked(seen):
    """An answer that was filtered, or an error that says so."""
    if seen["error"] is None:
        return refused("")(seen)
    return None if re.search("block|PROHIBITED", seen["error"]) else f"wrong: {shorten(seen['error'])}"


blocked.of_errors = True


def is_reported(words):
    """A failure that the caller must learn of."""

    def check(seen):
        if seen["error"] is None:
            if seen["finish"] is None:
                return "lost: no error, only no finish reason"
            return None if seen["finish"] == "error" else f"wrong: a complete response that ends with {seen['finish']}"
        return None if words in seen["error"] else f"wrong: {shorten(seen['error'])}"

    check.of_errors = True
    return check


def either(*wanted):
    """The first complaint of several checks."""
    return lambda seen: next((found for found in (check(seen) for check in wanted) if found), None)


# What is looked for, the fixture, the check, and what shows that a raw value carries it.
ROWS = [
    ("Server tools in a stream (Anthropic)", "anthropic-search.sse", [
        ("the text before and after the search", text("I'll look that up.Oslo has light rain."), ()),
        ("the call of web_search", server_call, ("srvtoolu_01Lab",)),
        ("its complete results", server_result, (OSLO, "RW5jcnlwdGVkUmFpbg==")),
        ("the citation: URL, title, cited text", cited([OSLO], "Oslo today", passage="Light rain, 7 degrees."), ("Light rain, 7 degrees.",)),
        ("the citation's opaque index", state("RWo4S0luZGV4"), ("RWo4S0luZGV4",)),
        ("input tokens including cached ones", tokens(400, 61), ()),
    ]),
    ("Thinking with signatures in a stream (Anthropic)", "anthropic-thinking.sse", [
        ("the thinking", thinking("Two cities, so two looks."), ("so two looks",)),
        ("its signature", signature("U2lnbmF0dXJlT25l"), ("U2lnbmF0dXJlT25l",)),
        ("redacted thinking", lambda seen: is_in(["UmVkYWN0ZWRUd28="], seen["redacted"], "no such part"), ("UmVkYWN0ZWRUd28=",)),
        ("two calls, one without arguments", calls([("get_weather", {"city": "Oslo"}), ("list_files", {})], ["toolu_01A", "toolu_01B"]), ()),
    ]),
    ("Unknown blocks and events in a stream (Anthropic)", "anthropic-unknown.sse", [
        ("the text", text("Here it is."), ()),
        ("the unknown block", state("file_lab_7"), ("file_lab_7",)),
    ]),
    ("Parallel calls in a stream (OpenAI)", "openai-calls.sse", [
        ("two calls with interleaved fragments", calls(CALLS, ["call_A", "call_B"]), ()),
        ("the finish reason", finish("tool_calls"), ()),
    ]),
    ("Parallel calls with the same index (OpenAI-compatible providers)", "openai-calls-one-index.sse", [
        ("two calls, distinguished by id", calls(CALLS, ["call_A", "call_B"]), ("call_A", "call_B")),
    ]),
    ("Gemini's parts in a stream", "gemini-parts.sse", [
        ("text", text("Oslö has light rain."), ()),
        ("thoughts", thinking("Two cities, two looks."), ("two looks.",)),
        ("two calls with their ids", calls(CALLS, ["fc-1", "fc-2"]), ("fc-1", "fc-2")),
        ("the signature of a call", state("R2VtaW5pU2ln"), ("R2VtaW5pU2ln",)),
        ("executableCode", lambda seen: is_in(["print(7 + 11)"], seen["code"], "no such part"), ("print(7 + 11)",)),
        ("codeExecutionResult", lambda seen: is_in(["18\n"], seen["code_results"], "no such part"), ("OUTCOME_OK",)),
        ("inlineData", lambda seen: None if [one[:8] for one in seen["images"]] == ["iVBORw0K"] else "lost: no image", ("iVBORw0K",)),
        # An offset of bytes, or of characters.
        ("grounding as a citation", cited([OSLO], "Oslo today", (9, 10)), ("groundingChunks",)),
        ("the finish reason `tool_calls`", finish("tool_calls"), ()),
        ("tokens including thoughts", tokens(25, 41), ()),
    ]),
    ("URL citations (OpenAI annotations)", "openai-annotations.json", [("complete response", cited([OSLO], "Oslo today", (20,)), (OSLO,))]),
    ("", "openai-annotations.sse", [("stream", cited([OSLO], "Oslo today", (20,)), (OSLO,))]),
    ("Source lists (Perplexity's citations)", "openai-sources.json", [("complete response", cited([OSLO, RAIN], "Oslo today"), (RAIN,))]),
    ("Finish reason `eos`", "openai-eos.json", [("complete response", either(text("Light rain."), lambda seen: None if seen["finish"] in ("stop", "eos") else is_in("stop", seen["finish"], "no reason")), ("Light rain.", "eos"))]),
    ("", "openai-eos.sse", [("stream", either(text("Light rain."), lambda seen: None if seen["finish"] in ("stop", "eos") else is_in("stop", seen["finish"], "no reason")), ("eos",))]),
    ("service_tier `on_demand`", "openai-tier.json", [
        ("complete response, the text", text("Light rain."), ("Light rain.",)),
        ("complete response, the tier", lambda seen: is_in("on_demand", seen["tier"], "no tier"), ("on_demand",)),
    ]),
    ("", "openai-tier.sse", [
        ("stream, the text", text("Light rain."), ("rain.",)),
        ("stream, the tier", lambda seen: is_in("on_demand", seen["tier"], "no tier"), ("on_demand",)),
    ]),
    ("reasoning_content", "openai-reasoning.json", [("complete response", thinking("I remember the forecast."), ("I remember the forecast.",))]),
    ("", "openai-reasoning.sse", [("stream", thinking("I remember the forecast."), (" the forecast.",))]),
    ("Usage on every chunk", "openai-usage.sse", [("the last one counts", tokens(30, 12), ('"completion_tokens": 12',))]),
    ("A truncated stream on a connection that is closed regularly", "openai-cut.sse", [("OpenAI: an error is returned", is_reported(""), ())]),
    ("", "anthropic-cut.sse", [("Anthropic: an error is returned", is_reported(""), ())]),
    ("", "gemini-cut.sse", [("Gemini: an error is returned", is_reported(""), ())]),
    ("An error with status 200", "openai-error.json", [("OpenAI, complete", is_reported("overloaded in the lab"), ("overloaded in the lab",))]),
    ("", "openai-error.sse", [("OpenAI, in a stream", is_reported("overloaded in the lab"), ("overloaded in the lab",))]),
    ("", "anthropic-error.json", [("Anthropic, complete", is_reported("Overloaded for now"), ("Overloaded for now",))]),
    ("", "anthropic-error.sse", [("Anthropic, in a stream", is_reported("Overloaded for now"), ("Overloaded for now",))]),
    ("", "gemini-error.json", [("Gemini, complete", is_reported("overloaded in the lab"), ("overloaded in the lab",))]),
    ("", "gemini-error.sse", [("Gemini, in a stream", is_reported("overloaded in the lab"), ("overloaded in the lab",))]),
    ("A refusal", "openai-refusal.json", [("OpenAI, complete: the text, and that it is a refusal", refused("I can't help with that."), ("I can't help with that.",))]),
    ("", "openai-refusal.sse", [("OpenAI, in a stream", refused("I can't help with that."), (" with that.",))]),
    ("", "anthropic-refusal.sse", [("Anthropic, in a stream", refused(""), ("refusal",))]),
    ("", "gemini-blocked.json", [("Gemini, blocked prompt", blocked, ("PROHIBITED_CONTENT",))]),
]


def shorten(words, most=70):
    words = re.sub(r"127\.0\.0\.1:\d+", "HOST", re.sub(r"\s+", " ", words)).replace("|", "\\|").replace("`", "'")
    return words if len(words) <= most else words[: most - 1] + "…"


def bytes_of(fixture):
    """The whole HTTP answer; each event of a stream is a chunk of its own."""
    body = (FIXTURES / fixture).read_bytes()
    if fixture.endswith(".json"):
        return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
    pieces = [event + b"\n\n" for event in body.split(b"\n\n") if event]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


def serve(listener):
    """Answers with the fixture that the first segment of the path names."""

    def answer(connection):
        with connection:
            request = b""
            while b"\r\n\r\n" not in request:
                more = connection.recv(65536)
                if not more:
                    return
                request += more
            head, _, body = request.partition(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            while length and len(body) < int(length.group(1)):
                body += connection.recv(65536)
            connection.sendall(bytes_of(head.split(b"/")[1].decode()))
            connection.shutdown(socket.SHUT_WR)

    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def look(name, fixture, port):
    """What a library saw of a fixture, or None if it does not speak the protocol."""
    wire = fixture.split("-")[0]
    if name == "async-openai" and wire != "openai":
        return None
    mode = "chat" if fixture.endswith(".json") else "stream"
    command = [RELEASE / name, wire, mode, f"http://127.0.0.1:{port}/{fixture}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {"broken": f"no end within {SECONDS} s"}
    if done.returncode != 0 or not done.stdout:
        return {"broken": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"}
    return json.loads(done.stdout)


def judge(seen, check, needles):
    """The verdict and a short word."""
    if seen is None:
        return "–", ""
    if "broken" in seen:
        return "failed", shorten(seen["broken"])
    raw = json.dumps(seen["raw"], ensure_ascii=False)
    carried = bool(needles) and all(needle in raw for needle in needles)
    if getattr(check, "of_errors", False):
        found = check(seen)
    elif seen["error"] is not None:
        return "failed", shorten(seen["error"]) + ("; a raw value has it" if carried else "")
    else:
        found = check(seen)
    if found is None:
        return "kept", "an error" if seen["error"] is not None else ""
    verdict, _, word = found.partition(": ")
    if carried and verdict == "lost":
        return "raw", word
    return verdict, word + ("; a raw value has it" if carried and needles else "")


def version(name):
    found = re.search(rf'name = "{CRATES[name]}"\nversion = "([^"]+)"', (BENCH / "Cargo.lock").read_text())
    return found.group(1) if found else "?"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--no-build", action="store_true")
    options.add_argument("--stdout", action="store_true")
    options.add_argument("--show")
    options = options.parse_args()
    if not options.no_build:
        subprocess.run(["cargo", "build", "--release", "--ignore-rust-version", "-p", "bench-fidelity"], cwd=BENCH, check=True)
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    port = listener.getsockname()[1]
    if options.show:
        for name in CONTESTANTS:
            print(name, json.dumps(look(name, options.show, port), indent=1, ensure_ascii=False))
        return
    lines, counts = [], {name: Counter() for name in CONTESTANTS}
    for title, fixture, checks in ROWS:
        if title:
            lines.append(f"| **{title}** |" + " |" * len(CONTESTANTS))
        seen = {name: look(name, fixture, port) for name in CONTESTANTS}
        for label, check, needles in checks:
            cells = []
            for name in CONTESTANTS:
                verdict, word = judge(seen[name], check, needles)
                counts[name][verdict] += 1
                shown = verdict if verdict in ("kept", "–") else f"**{verdict}**"
                cells.append(f"{shown}: {word}" if word else shown)
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
    verdicts = ["kept", "raw", "lost", "wrong", "failed", "–"]
    heads = [f"{CRATES[name]} {version(name)}" for name in CONTESTANTS]
    text = "# Fidelity\n\nWhat each library returns when it reads the same bytes. Written by `python3 bench/fidelity.py`"
    text += f" on {time.strftime('%Y-%m-%d')}; the bytes are in bench/fidelity/fixtures, the programs in bench/fidelity/src/bin.\n\n"
    text += "- **kept**: the library's own types contain it as it was sent.\n"
    text += "- **raw**: the library's types do not contain it, but a raw value or frame that the library returns does.\n"
    text += "- **lost**: it is missing, without an error or a warning.\n- **wrong**: the value is different.\n"
    text += "- **failed**: the call failed although the response was valid.\n- –: the library does not support the protocol.\n\n"
    text += "Each library is used as its documentation shows, with every option for capturing raw data turned on, and with one OpenAI-compatible, one Anthropic and one Gemini client for all rows. async-openai returns chunks; they are joined by index, as in its examples. A stream is not read further after an error, so one error can fail several rows. The rows are what AgentLoop was designed to keep, which favours it. The totals count rows and do not weigh them.\n\n"
    text += "|  | " + " | ".join(verdicts) + " |\n|" + "---|" * (len(verdicts) + 1) + "\n"
    for name, head in zip(CONTESTANTS, heads):
        text += f"| {head} | " + " | ".join(str(counts[name][verdict]) for verdict in verdicts) + " |\n"
    text += "\n|  | " + " | ".join(heads) + " |\n|" + "---|" * (len(CONTESTANTS) + 1) + "\n" + "\n".join(lines) + "\n"
    if options.stdout:
        print(text)
    else:
        (ROOT / "docs" / "fidelity.md").write_text(text)


if __name__ == "__main__":
    main()
