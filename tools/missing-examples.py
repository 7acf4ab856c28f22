#!/usr/bin/env python3
"""Lists the public items whose documentation has no example.

    python3 tools/missing-examples.py [CRATE]      agentloop by default

A type, trait, function or macro is covered if its own documentation has a code block. A method is covered if its own documentation has one, or
that of its type or trait: the example of a builder shows its setters. Modules, re-exports, fields, variants, constants and type aliases need none.
The items come from rustdoc's JSON, which the stable compiler writes with RUSTC_BOOTSTRAP=1. Only Python's standard library is used.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TYPES = ("struct", "enum", "union", "trait")
ITEMS = (*TYPES, "function", "macro", "proc_attribute")


def document(crate):
    """Writes rustdoc's JSON of a crate, and returns its items by id."""
    rustdoc = ["--", "-Zunstable-options", "--output-format", "json"]
    command = ["cargo", "rustdoc", "--quiet", "--locked", "-p", crate, "--all-features", "--lib", *rustdoc]
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "RUSTC_BOOTSTRAP": "1"})
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return json.loads((target / "doc" / f"{crate.replace('-', '_')}.json").read_text())["index"]


def kind_of(item):
    return next(iter(item["inner"]))


def has_example(item):
    return "```" in (item["docs"] or "")


def owners(index):
    """Returns the type or trait that each method belongs to. Methods of implemented traits belong to none."""
    found, skipped = {}, set()
    for item in index.values():
        kind = kind_of(item)
        inner = item["inner"][kind]
        if kind == "trait":
            found.update({str(method): item for method in inner["items"]})
        elif kind in TYPES:
            for implementation in inner["impls"]:
                block = index.get(str(implementation))
                if block is None:
                    continue
                block = block["inner"]["impl"]
                if block["trait"] is None:
                    found.update({str(method): item for method in block["items"]})
                else:
                    skipped.update(map(str, block["items"]))
    return found, skipped


def main():
    crate = sys.argv[1] if len(sys.argv) > 1 else "agentloop"
    index = document(crate)
    owned, skipped = owners(index)
    all_items, covered, missing = Counter(), Counter(), []
    for id, item in index.items():
        kind = kind_of(item)
        owner = owned.get(id)
        is_public = item["visibility"] == "public" or (owner is not None and kind_of(owner) == "trait")
        if item["crate_id"] != 0 or kind not in ITEMS or not is_public or id in skipped:
            continue
        if owner is not None and owner["visibility"] != "public":
            continue
        label = "method" if owner is not None else kind
        all_items[label] += 1
        if has_example(item) or (owner is not None and has_example(owner)):
            covered[label] += 1
        else:
            name = f"{owner['name']}::{item['name']}" if owner is not None else item["name"]
            missing.append((item["span"]["filename"] if item["span"] else "", name, label))
    for place, name, label in sorted(missing):
        print(f"{place}: {label} {name}")
    print()
    for label in sorted(all_items):
        print(f"{label}: {covered[label]} of {all_items[label]} have an example")
    print(f"all: {sum(covered.values())} of {sum(all_items.values())} have an example")


if __name__ == "__main__":
    main()
