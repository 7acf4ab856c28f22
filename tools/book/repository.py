#!/usr/bin/env python3
"""A preprocessor of mdBook: links to files outside of docs/ become links to the repository."""

import json
import posixpath
import re
import sys

LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"\s*(```|~~~)")


def target(link, page, repository):
    """Returns where a link of a page goes in the book."""
    if re.match(r"[a-z][a-z0-9+.-]*:|#", link):
        return link
    path, hash_sign, anchor = link.partition("#")
    whole = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), path))
    if whole.startswith("docs/") and whole.endswith((".md", ".webp", ".svg", ".png")):
        return link
    return f"{repository}/blob/main/{whole}{hash_sign}{anchor}"


def rewrite(text, page, repository):
    """Rewrites the links of a page, but not those in its code."""
    lines, in_code = [], False
    for line in text.split("\n"):
        if FENCE.match(line):
            in_code = not in_code
        elif not in_code:
            line = LINK.sub(lambda found: found[1] + target(found[2], page, repository) + found[3], line)
        lines.append(line)
    return "\n".join(lines)


def visit(items, repository):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter:
            if chapter.get("path"):
                chapter["content"] = rewrite(chapter["content"], chapter["path"], repository)
            visit(chapter["sub_items"], repository)


def main():
    if sys.argv[1:2] == ["supports"]:
        return
    context, book = json.load(sys.stdin)
    repository = context["config"]["output"]["html"]["git-repository-url"]
    visit(book.get("items") or book.get("sections") or [], repository)
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
