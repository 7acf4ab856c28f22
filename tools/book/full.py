#!/usr/bin/env python3
"""Prints the text of all pages of the guide, in the order of its table of contents: llms-full.txt, for language models.

Decisions are left out: they describe how the code came to be, not how it is used. `not tested` and other marks of blocks are left out too.
"""

import pathlib
import re
import sys

MARK = re.compile(r"^\s*<!-- (not tested|file|keys)\b.*-->\n", re.M)


def main(docs):
    for name in re.findall(r"\]\(([^)]+\.md)\)", (docs / "SUMMARY.md").read_text(encoding="utf-8")):
        if not name.startswith("adr/"):
            print(f"<!-- docs/{name} -->\n")
            print(MARK.sub("", (docs / name).read_text(encoding="utf-8")))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
