#!/usr/bin/env python3
"""Opens a built book in a headless Chromium, light and dark, narrow and wide: search works, no page asks another host for anything, nothing is wider than the
window, and the console has no errors. Other hosts cannot be reached meanwhile.

Usage: tools/book/look.py [BOOK] [FOLDER FOR PICTURES]   (default: target/book, no pictures)
"""

import functools
import http.server
import os
import sys
import threading

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "dashboard"))

from browser import Browser  # noqa: E402

PAGES = ["index.html", "first-chat.html", "agent.html", "gateway.html", "configuration.html", "parameters.html", "errors.html", "migrate/litellm.html", "why.html", "providers/openai.html", "terminal.html"]
WINDOWS = {"wide": (1440, 900), "narrow": (390, 844)}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def look(browser, url, pictures):
    wrong = []
    for window, (width, height) in WINDOWS.items():
        for theme in ("light", "dark"):
            browser.shape(width, height, dark=theme == "dark")
            for page in PAGES:
                browser.open(f"{url}/{page}")
                browser.wait("document.readyState === 'complete' && document.querySelector('main h1')")
                name = f"{page} ({window}, {theme})"
                wrong += [f"{name}: {complaint}" for complaint in browser.complaints()]
                # mdBook keeps the menu beside a narrow page; only the content counts.
                over = browser.run("document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth")
                if over > 1:
                    wrong.append(f"{name}: the page is {over} pixels wider than the window")
                dark = browser.run("/navy|coal|ayu/.test(document.documentElement.className)")
                if dark != (theme == "dark"):
                    wrong.append(f"{name}: the theme is {browser.run('document.documentElement.className')}")
                if pictures:
                    browser.picture(os.path.join(pictures, f"{page.replace('/', '-')}-{window}-{theme}.png"), height)
    browser.shape(*WINDOWS["wide"])
    browser.open(f"{url}/index.html?search=fallback")
    browser.wait("document.querySelectorAll('#mdbook-searchresults li, #searchresults li').length > 3", 20)
    if pictures:
        browser.picture(os.path.join(pictures, "search.png"), 900)
    wrong += [f"search: {complaint}" for complaint in browser.complaints()]
    return wrong


def main():
    book = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "target", "book")
    pictures = sys.argv[2] if len(sys.argv) > 2 else None
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=book))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = Browser()
    try:
        wrong = look(browser, f"http://127.0.0.1:{server.server_port}", pictures)
    finally:
        browser.close()
    print("\n".join(wrong) or f"{len(PAGES)} pages in 2 sizes and 2 themes, and the search: nothing is wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
