#!/usr/bin/env python3
"""Looks at the dashboard in a headless Chromium: empty, busy, failing, locked, narrow and dark.

    python3 tests/dashboard/check.py [--pictures FOLDER] [--gateway target/debug/agentloop] [--docs]

The page is served from the sources with the headers of the gateway, and gets the documents of fixture.py. With --gateway, a real gateway is started as well,
with simulated models, and is asked while it works. Checked in every state: no error in the console, an accessible name for every control, image, table and
heading, nothing wider than the window, no request to another server (all names but this machine's are blocked). Only Python's standard library is used.
"""

import argparse
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import fixture
from browser import Browser

ROOT = Path(__file__).resolve().parent.parent.parent
ADMIN = ROOT / "crates/agentloop-gateway/src/server/admin"
KINDS = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
POLICY = re.search(r"\"(default-src[^\"]*)\"", (ADMIN / "reply.rs").read_text()).group(1)


class Stage:
    """A server with the page and one document, which can be made to fail."""

    def __init__(self):
        self.document, self.status, self.token = fixture.empty(), 200, None
        stage = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path.split("?")[0]
                if path == "/api/overview":
                    right = stage.token is None or self.headers.get("authorization") == f"Bearer {stage.token}"
                    status = stage.status if right else 401
                    body = stage.document if status == 200 else {"error": {"code": "x", "message": "the database is on fire"}}
                    if status == 0:
                        return self.connection.close()
                    return self.reply(status, "application/json", json.dumps(body).encode())
                file = ADMIN / "page" / ("index.html" if path == "/" else path[1:])
                if not file.is_file():
                    return self.reply(404, "text/plain", b"")
                self.reply(200, KINDS[file.suffix], file.read_bytes())

            def reply(self, status, kind, body):
                self.send_response(status)
                for name, value in (("content-type", kind), ("content-length", len(body)), ("content-security-policy", POLICY), ("cache-control", "no-store")):
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Check:
    def __init__(self, folder):
        self.browser, self.folder, self.problems = Browser(), folder, []

    def look(self, name, expected=()):
        """Takes a picture, and notes what is wrong. `expected` are words of complaints that belong to the state."""
        browser = self.browser
        if self.folder:
            browser.picture(os.path.join(self.folder, f"{name}.png"))
        found = [one for one in browser.complaints() if not any(word in one for word in expected)]
        found += [f"a {role} has no accessible name" for role in browser.nameless()]
        width = browser.run("document.documentElement.scrollWidth - innerWidth")
        if width > 0:
            found.append(f"the page is {width} pixels wider than the window")
        for text in ("undefined", "NaN", "[object", "null", "Infinity"):
            if text in browser.run("document.body.innerText + [...document.querySelectorAll('[aria-label]')].map((one) => one.getAttribute('aria-label')).join()"):
                found.append(f"the page shows `{text}`")
        print(f"{'ok  ' if not found else 'FAIL'} {name}")
        for one in found:
            print(f"       {one}")
        self.problems += found

    def expect(self, what, script):
        if not self.browser.run(script):
            print(f"FAIL {what}")
            self.problems.append(what)


def paths(value, name=""):
    """Returns the names of all fields of a document, as in the test of the gateway."""
    if isinstance(value, dict):
        return set().union(*(paths(inner, f"{name}.{field}") for field, inner in value.items())) if value else {name}
    if isinstance(value, list):
        return set().union(*(paths(inner, f"{name}[]") for inner in value))
    return {name}


def compare(check):
    """The documents of fixture.py must have the fields that the gateway's have."""
    lines = (ROOT / "crates/agentloop-gateway/tests/it/overview.txt").read_text().split()
    known = {line.rstrip(":") for line in lines if line.startswith(".")} - {".degraded[]", ".journal"} | {f".journal.{name}" for name in ("unstoredRows", "openCalls", "bytes")}
    document = fixture.busy()
    document["live"]["hour"]["errors"] = {"not_found": 1}
    for sums in document["ledger"]["sums"].values():
        if isinstance(sums, dict):
            sums["first"] = sums["first"] or [fixture.usage("x", 1, 1, 1, 1)]
    found = paths(document)
    optional = {".providers[].restMs", ".providers[].lastError.kind", ".providers[].lastError.agoMs", ".keys.first[].team"}
    for path in sorted((found ^ known) - optional):
        check.problems.append(f"`{path}` is only in {'fixture.py' if path in found else 'the overview of the gateway'}")
        print(f"FAIL {check.problems[-1]}")


def states(check):
    stage, browser = Stage(), check.browser
    ready = "!document.getElementById('main').hidden && document.querySelectorAll('.tile').length === 6 && document.querySelectorAll('.panel').length === 10"
    for name, document in (("empty", fixture.empty()), ("busy", fixture.busy())):
        stage.document = document
        for form, width, height, dark in (("", 1360, 900, False), ("-dark", 1360, 900, True), ("-narrow", 360, 780, False), ("-narrow-dark", 360, 780, True), ("-tablet", 820, 1100, False)):
            browser.shape(width, height, dark)
            browser.open(stage.url)
            browser.wait(ready)
            check.look(name + form)
    hostile = fixture.busy()
    evil = "<img src=x onerror=alert(1)>'\"`" + "x" * 300
    hostile["keys"]["first"][0].update(name=evil, team=evil)
    hostile["live"]["requests"][0].update(model=evil, key=evil, served=evil)
    hostile["ledger"]["sums"]["models"]["first"][0]["group"] = evil
    stage.document = hostile
    browser.shape(360, 780)
    browser.open(stage.url)
    browser.wait(ready)
    check.expect("names are text", "document.querySelectorAll('main img').length === 0")
    check.look("hostile")

    # A gateway that goes away while the page is open, and comes back.
    stage.document = fixture.busy()
    browser.shape(1360, 900)
    browser.open(stage.url)
    browser.wait(ready)
    stage.status = 0
    browser.wait("document.body.classList.contains('stale') && document.querySelector('.notice.bad')")
    check.look("error", ["Failed to load resource", "ERR_"])
    stage.status = 200
    browser.wait("!document.body.classList.contains('stale') && !document.querySelector('.notice.bad')", 20)
    stage.status = 503
    browser.shape(360, 780)
    browser.open(stage.url)
    browser.wait("document.querySelector('.notice.bad')")
    check.expect("the reason is shown", "document.body.innerText.includes('the database is on fire')")
    check.look("error-first", ["Failed to load resource"])
    stage.status = 200

    # The ledger fails while requests go on.
    stage.document = fixture.busy()
    stage.document["ledger"].update(state="failing", error="the database cannot be reached", ageMs=312_000)
    stage.document["degraded"] = ["Redis has not been reached for 12 s"]
    browser.shape(1360, 900)
    browser.open(stage.url)
    browser.wait(ready)
    check.expect("the ledger's failure is shown", "document.querySelectorAll('.notice.warn').length === 2")
    check.look("degraded")

    # A token is asked for, a wrong one is refused, the right one is kept for the tab only.
    stage.token = "secret"
    browser.shape(360, 780)
    browser.open(stage.url)
    browser.wait("!document.getElementById('login').hidden && document.activeElement.id === 'token'")
    check.look("token", ["401"])
    enter = "document.getElementById('token').value = '%s'; document.querySelector('#login button').click(); true"
    browser.run(enter % "wrong")
    browser.wait("document.getElementById('wrong').textContent !== ''")
    browser.run(enter % "secret")
    browser.wait(ready)
    check.expect("the token is kept in the tab", "sessionStorage.getItem('agentloop-admin-token') === 'secret' && localStorage.length === 0 && document.cookie === ''")
    check.look("token-accepted", ["401"])

    # Keys reach everything.
    stage.token = None
    browser.shape(1360, 900)
    browser.open(stage.url)
    browser.wait(ready)
    seen = set()
    for _ in range(12):
        for kind in ("rawKeyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        seen.add(browser.run("document.activeElement.className || document.activeElement.name || document.activeElement.tagName"))
    if not {"skip", "range", "scroll"} <= seen:
        check.problems.append(f"the Tab key does not reach everything: {seen}")
    browser.run("document.querySelector('input[value=\"30d\"]').click(); true")
    check.look("keyboard")


def pictures(browser):
    """Takes the pictures of the documentation."""
    stage = Stage()
    stage.document = fixture.busy()
    for name, width, height, dark in (("dashboard", 1360, 1110, False), ("dashboard-phone", 360, 780, True)):
        browser.shape(width, height, dark)
        browser.open(stage.url)
        browser.wait("document.querySelectorAll('.panel').length === 10")
        browser.picture(str(ROOT / f"docs/images/{name}.webp"), height)


def real(check, program):
    """Starts a gateway with simulated models, and looks at its dashboard while it works."""
    browser = check.browser
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "agentloop.toml")
        config.write_text("[gateway]\nsimulator = true\nlisten = '127.0.0.1:0'\nadmin_listen = '127.0.0.1:0'\nlog = 'off'\n[gateway.keys.demo]\nkey_env = 'DEMO_KEY'\nbudget = '5/day'\n"
                          "[[models.\"sim/echo\".prices]]\nper_million = { input = '3', output = '15' }\n")
        environment = {**os.environ, "AGENTLOOP_DATA": folder, "XDG_DATA_HOME": folder, "HOME": folder, "DEMO_KEY": "al-demo"}
        gateway = subprocess.Popen([program, "serve", "--config", str(config)], env=environment, stderr=subprocess.PIPE, text=True, cwd=folder)
        try:
            urls = []
            while len(urls) < 2:
                line = gateway.stderr.readline()
                if not line:
                    raise RuntimeError("the gateway has ended")
                urls += re.findall(r"http://127\.0\.0\.1:\d+", line)
            threading.Thread(target=gateway.stderr.read, daemon=True).start()
            browser.shape(1360, 900)
            browser.open(urls[1] + "/")
            browser.wait("document.querySelectorAll('.panel').length === 10")
            check.look("real-empty")
            for number in range(60):
                body = {"model": "sim/echo" if number % 9 else "sim/echo!status=429", "messages": [{"role": "user", "content": "Hello " * (number % 20)}]}
                request = urllib.request.Request(urls[0] + "/v1/chat/completions", json.dumps(body).encode(), {"authorization": "Bearer al-demo", "content-type": "application/json"})
                try:
                    urllib.request.urlopen(request, timeout=10).read()
                except urllib.error.HTTPError:
                    pass
            browser.wait("document.getElementById('tiles').innerText.includes('60 in the last hour')", 15)
            time.sleep(6)
            check.look("real-busy")
        finally:
            gateway.terminate()
            gateway.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", help="a folder for screenshots")
    parser.add_argument("--docs", action="store_true", help="only takes the pictures of docs/images again")
    parser.add_argument("--gateway", help="the program agentloop, to look at a real gateway as well")
    options = parser.parse_args()
    if options.pictures:
        os.makedirs(options.pictures, exist_ok=True)
    check = Check(options.pictures)
    try:
        if options.docs:
            return pictures(check.browser)
        compare(check)
        states(check)
        if options.gateway:
            real(check, os.path.abspath(options.gateway))
    finally:
        check.browser.close()
    if check.problems:
        sys.exit(f"{len(check.problems)} problems")


if __name__ == "__main__":
    main()
