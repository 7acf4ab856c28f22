#!/usr/bin/env python3
"""Checks a built book: every link and anchor of its pages exists, and no page loads anything from another host."""

import html.parser
import os
import sys
import urllib.parse

# What loads a file by itself. A link is only followed by its reader.
LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("object", "data"), ("video", "src")}
SKIPPED = ("toc.html",)


class Page(html.parser.HTMLParser):
    """The ids, the links and the loaded files of a page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.ids.add(value)
            elif (tag, name) in LOADS:
                self.loads.append(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)


def main(book):
    pages = {}
    for folder, _, files in os.walk(book):
        for name in files:
            if name.endswith(".html") and name not in SKIPPED:
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    pages[path] = Page(file.read())
    wrong, links = [], 0
    for path, page in pages.items():
        name = os.path.relpath(path, book)
        for link in page.links + page.loads:
            parts = urllib.parse.urlsplit(link or "")
            if parts.scheme or parts.netloc:
                if link in page.loads:
                    wrong.append(f"{name} loads {link}")
                continue
            links += 1
            if name == "404.html":
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path))) if parts.path else path
            if os.path.isdir(target):
                target = os.path.join(target, "index.html")
            if not os.path.exists(target):
                wrong.append(f"{name} links to {link}, which does not exist")
            elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].ids:
                wrong.append(f"{name} links to {link}, which has no such anchor")
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(pages)} pages, {links} links within the book, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
