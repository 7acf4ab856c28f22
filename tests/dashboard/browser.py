"""Drives a headless Chromium over the DevTools protocol. Only Python's standard library is used."""

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

# Only this machine can be reached: a page that needs anything else shows errors.
BLOCKED = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


class Socket:
    """A WebSocket client that sends and receives text."""

    def __init__(self, url):
        host, path = url.removeprefix("ws://").split("/", 1)
        name, port = host.split(":")
        self.socket = socket.create_connection((name, int(port)), timeout=30)
        key = base64.b64encode(os.urandom(16)).decode()
        head = f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        self.socket.sendall(head.encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.socket.recv(4096)
        self.buffer = self.buffer.split(b"\r\n\r\n", 1)[1]

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        length = len(data)
        head = b"\x81" + (bytes([0x80 | length]) if length < 126 else b"\xfe" + struct.pack(">H", length) if length < 65536 else b"\xff" + struct.pack(">Q", length))
        self.socket.sendall(head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(data)))

    def take(self, count):
        while len(self.buffer) < count:
            more = self.socket.recv(1 << 16)
            if not more:
                raise ConnectionError("the browser has closed the connection")
            self.buffer += more
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def receive(self):
        text = b""
        while True:
            first, second = self.take(2)
            length = second & 0x7F
            if length == 126:
                (length,) = struct.unpack(">H", self.take(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self.take(8))
            text += self.take(length)
            if first & 0x80:
                return text.decode()


class Browser:
    """A browser with one page."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="agentloop-dashboard-")
        program = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-port=0", "--disable-background-networking",
             "--disable-component-update", "--no-first-run", f"--host-resolver-rules={BLOCKED}", f"--user-data-dir={self.profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        place = os.path.join(self.profile, "DevToolsActivePort")
        for _ in range(300):
            if os.path.exists(place) and open(place).read().count("\n"):
                break
            time.sleep(0.1)
        port = open(place).read().split("\n")[0]
        pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=10))
        self.socket = Socket(next(page for page in pages if page["type"] == "page")["webSocketDebuggerUrl"])
        self.next, self.messages = 0, []
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.next += 1
        self.socket.send(json.dumps({"id": self.next, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.next:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.messages.append(message)

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def shape(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.messages.clear()
        self.call("Page.navigate", url=url)

    def wait(self, script, seconds=10):
        end = time.time() + seconds
        while time.time() < end:
            try:
                if self.run(f"Boolean({script})"):
                    return
            except RuntimeError:
                pass
            time.sleep(0.05)
        raise TimeoutError(f"{script} did not become true: {self.run('document.body.innerText')[:600]}")

    def picture(self, path, height=None):
        """Takes a picture of the whole page, or of its beginning. The end of the name decides whether it is a PNG or a small WebP."""
        height = height or self.run("Math.ceil(document.documentElement.scrollHeight)")
        width = self.run("innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        form = {"format": "webp", "quality": 60} if path.endswith(".webp") else {"format": "png"}
        data = self.call("Page.captureScreenshot", **form, captureBeyondViewport=True, clip=clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def complaints(self):
        """Returns errors and warnings of the console, and requests to other servers or that failed."""
        found = []
        for message in self.messages:
            kind, body = message.get("method"), message.get("params", {})
            if kind == "Runtime.exceptionThrown":
                found.append(body["exceptionDetails"].get("exception", {}).get("description", str(body)))
            elif kind == "Runtime.consoleAPICalled" and body["type"] in ("error", "warning", "assert"):
                found.append(str([one.get("value") for one in body["args"]]))
            elif kind == "Log.entryAdded" and body["entry"]["level"] in ("error", "warning"):
                found.append(f"{body['entry']['text']} {body['entry'].get('url', '')}")
            elif kind == "Network.requestWillBeSent" and not body["request"]["url"].startswith(("http://127.0.0.1:", "data:")):
                found.append(f"a request to {body['request']['url']}")
        return found

    def nameless(self):
        """Returns controls, images, tables and regions without an accessible name."""
        needs = {"button", "textbox", "radio", "link", "img", "image", "region", "group", "heading", "columnheader", "rowheader"}
        found = []
        for node in self.call("Accessibility.getFullAXTree")["nodes"]:
            role = node.get("role", {}).get("value")
            if not node.get("ignored") and role in needs and not node.get("name", {}).get("value"):
                found.append(role)
        return found

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
