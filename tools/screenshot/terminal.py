#!/usr/bin/env python3
"""Writes docs/images/terminal.svg: a session of the command at a terminal, as it was printed.

The model is the simulator with the responses of script.json. Needs pyte (from PyPI) and a built `agentloop`:

    pip install pyte && cargo build -p agentloop-cli && tools/screenshot/terminal.py target/debug/agentloop
"""

import fcntl
import html
import os
import pathlib
import pty
import re
import select
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

import pyte

COLUMNS, ROWS = 92, 60
PATIENCE = 20  # seconds that a command may print nothing
HERE = pathlib.Path(__file__).resolve().parent
TARGET = HERE.parent.parent / "docs/images/terminal.svg"

# What is typed, and the replies to questions of the command.
SESSION = [
    ("agentloop 'How do I reverse a string in Rust?'", []),
    ("agentloop --tool run_command 'How many Rust files are here?'", [b"y\n"]),
]

CONFIG = """
default_model = "lab/tutor"
[providers.lab]
base_url = "http://127.0.0.1:{port}/v1"
[models."lab/tutor"]
prices = [{{ per_million = {{ input = "3.00", output = "15.00" }} }}]
"""

COLOURS = {
    "default": "#d6deeb", "black": "#5c6773", "red": "#f07178", "green": "#8bd49c", "brown": "#ffcb6b", "yellow": "#ffcb6b",
    "blue": "#82aaff", "magenta": "#c792ea", "cyan": "#7fdbca", "white": "#ffffff", "brightblack": "#7a8599",
}


def run(program, command, replies, folder, screen_feed):
    """Runs one command at a terminal of its own, and feeds what it prints."""
    words = [program] + re.findall(r"'[^']*'|\S+", command)[1:]
    words = [word.strip("'") for word in words]
    environment = {"HOME": f"{folder}/home", "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(f"{folder}/work")
        os.execve(program, words, environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    pending, seen = list(replies), b""
    while select.select([terminal], [], [], PATIENCE)[0]:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        screen_feed(data)
        seen += data
        if pending and b"[y]es" in seen:
            time.sleep(0.8)  # what is typed before the question is discarded
            os.write(terminal, pending.pop(0))
    os.waitpid(child, 0)


def svg(screen):
    """Returns the screen as an SVG: one text element for each run of characters with the same look."""
    lines = list(screen.buffer[row] for row in range(screen.cursor.y))
    width, height, left, top, em, line = 8.0, 0, 18, 44, 13.3, 19
    height = top + len(lines) * line + 8
    total = left * 2 + COLUMNS * width
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:.0f} {height:.0f}" font-family="ui-monospace, \'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="{em}">',
        f'<rect width="{total:.0f}" height="{height:.0f}" rx="8" fill="#10171f"/>',
        *(f'<circle cx="{20 + at * 18}" cy="18" r="5.5" fill="#3b4654"/>' for at in range(3)),
    ]
    for row, cells in enumerate(lines):
        runs, text, look = [], "", None
        for column in range(COLUMNS + 1):
            cell = cells[column] if column < COLUMNS else None
            now = (cell.fg, cell.bold, cell.italics, cell.underscore) if cell else None
            if now != look and text:
                runs.append((column - len(text), text, look))
                text = ""
            look = now
            text += cell.data if cell else ""
        for column, text, (colour, bold, italics, underline) in runs:
            if not text.strip():
                continue
            fill = COLOURS.get(colour, f"#{colour}" if re.fullmatch("[0-9a-f]{6}", colour) else COLOURS["default"])
            style = (' font-weight="bold"' if bold else "") + (' font-style="italic"' if italics else "")
            style += ' text-decoration="underline"' if underline else ""
            x, y = left + column * width, top + row * line + 12
            parts.append(
                f'<text x="{x:.1f}" y="{y}" fill="{fill}"{style} textLength="{len(text) * width:.1f}" xml:space="preserve">{html.escape(text)}</text>'
            )
    return "\n".join([*parts, "</svg>", ""])


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([program, "sim", "--port", str(port), "--script", str(HERE / "script.json")], stdout=subprocess.DEVNULL)
    try:
        with tempfile.TemporaryDirectory() as folder:
            home, work = pathlib.Path(folder, "home/.config/agentloop"), pathlib.Path(folder, "work/src")
            home.mkdir(parents=True)
            work.mkdir(parents=True)
            (home / "agentloop.toml").write_text(CONFIG.format(port=port))
            for name in ["main.rs", "lib.rs", "parse.rs"]:
                (work / name).write_text("")
            for _ in range(100):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            screen = pyte.Screen(COLUMNS, ROWS)
            stream = pyte.ByteStream(screen)
            for command, replies in SESSION:
                stream.feed(f"\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m\r\n".encode())
                run(program, command, replies, folder, stream.feed)
                stream.feed(b"\r\n")
            TARGET.write_text(svg(screen))
    finally:
        server.terminate()
        server.wait()


main()
