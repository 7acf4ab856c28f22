#!/usr/bin/env python3
"""Checks that the documentation of every public item has an example, or that there is a reason why it needs none.

    python3 tools/missing-examples.py [CRATE …]     all library crates by default

A type, trait, function or macro is covered if its own documentation has a code block. A method is covered if its own documentation has one, or
that of its type or trait: the example of a builder shows its setters. Modules, re-exports, fields, variants, constants and type aliases need none.
The reasons for all others are in REASONS, by a pattern of their path; a pattern that matches nothing is an error too.

The items come from rustdoc's JSON. The stable rustdoc writes it with RUSTC_BOOTSTRAP=1, which only rustdoc gets: set for cargo, it would rebuild the
dependencies. So the check costs one more run of rustdoc for each crate. Only Python's standard library is used.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = ("agentloop", "agentloop-sim", "agentloop-local", "agentloop-gateway", "agentloop-macros")
TYPES = ("struct", "enum", "union", "trait")
ITEMS = (*TYPES, "function", "macro", "proc_macro")

# Paths of items without an example, and why. `*` also matches `::`.
REASONS = {
    "agentloop::carry::request::restore": "the example of `Carrier` calls it",
    "agentloop::client::batches::Batches*": "the example of `Batch` calls it",
    "agentloop::client::batches::prepare::PreparedBatch*": "the example of `Batch` submits one",
    "agentloop::client::batches::read::BatchResult": "a value of `BatchResults`",
    "agentloop::client::files::Files*": "the example of `StoredFile` calls it",
    "agentloop::client::relay::RelayError": "the error of `AgentLoop::relay`",
    "agentloop::client::relay::Relayed": "the result of `AgentLoop::relay`",
    "agentloop::client::relay::body::*": "a field of `Relayed`",
    "agentloop::config::gateway::Gateway[CKLMPRSTW]*": "a field of `GatewayConfig`, whose example sets it",
    "agentloop::config::gateway::money::Gateway[PT]*": "a field of `GatewayConfig`, whose example sets it",
    "agentloop::config::gateway::storage::*": "a field of `GatewayConfig`, whose example sets it",
    "agentloop::protocol::serve::StreamFraming": "a field of `ServedChat`",
    "agentloop_gateway::key::ApiKey": "a value of `KeyRing`",
    "agentloop_gateway::log::RequestLog*": "the example of `Gateway` makes one",
    "agentloop_gateway::metrics::Metrics*": "the example of `Gateway` writes them",
    "agentloop_gateway::record::Record": "the argument of `Recorder::record`",
    "agentloop_gateway::record::Record::*": "the argument of `Recorder::record`",
    "agentloop_gateway::server::Server*": "the example of `Gateway` starts one",
    "agentloop_gateway::server::tls::Tls*": "needs a certificate",
    "agentloop_gateway::state::State*": "the example of `Gateway` makes one",
    "agentloop_gateway::store::KeyTable": "the result of `Store::load_keys`, which the example of `MemoryStore` reads",
    "agentloop_gateway::store::key::TeamRecord": "the example of `SqliteStore` stores one",
    "agentloop_gateway::store::query::*": "the example of `Store` asks for sums",
    "agentloop_gateway::store::row::LedgerRow": "the example of `Store` adds one",
    "agentloop_gateway::stream::GatewayBody": "the body of responses, which has no methods of its own",
    "agentloop::agent::approval::Pending*": "the example of `Approver` reads one",
    "agentloop::agent::approval::Review": "a value of `Approver::review`",
    "agentloop::agent::approval::Wants": "a field of `Pending`",
    "agentloop::agent::hook::*": "the argument of a hook; the examples of `Agent::before_step` and `Agent::repair` read it",
    "agentloop::agent::mcp::connection::McpConnection*": "needs a server; docs/mcp.md and examples/mcp.rs show it",
    "agentloop::agent::outcome::RunError*": "an error; its fields are its documentation",
    "agentloop::agent::outcome::Step": "a field of `Outcome`",
    "agentloop::agent::stream::Typed*": "the result of `Agent::run_structured`",
    "agentloop::agent::tool::client::computer::ComputerAction": "a field of `ComputerCall`",
    "agentloop::agent::tool::client::computer::SafetyCheck": "a field of `ComputerCall`",
    "agentloop::agent::tool::client::files::*": "the argument of a handler, as in the examples of `Tool`",
    "agentloop::blocking::*": "mirrors the async client; the module has the example",
    "agentloop::chat::param::Param*": "the names of parameters; the examples of `Provider` and `Rule` use them",
    "agentloop::config::trust::RestrictedSetting*": "returned by `ConfigReader`, whose example reads files",
    "agentloop::inspect::DecodeOptions*": "the example of `inspect::decode` sets them",
    "agentloop::inspect::EncodedRequest": "the result of `inspect::encode`",
    "agentloop::middleware::Request*": "the example of `Middleware` reads one",
    "agentloop::middleware::Response": "the example of `Middleware` returns one",
    "agentloop::middleware::cache::key::CacheKey*": "only a `CacheStore` sees one, as in the example of that trait",
    "agentloop::middleware::cost::CostPeriod*": "the argument of `Costs::per`",
    "agentloop::middleware::limits::shared::Acquire*": "what a `SharedLimits` receives and returns",
    "agentloop::middleware::limits::shared::Shared*": "for stores of other kinds; `InProcess` is one",
    "agentloop::middleware::next::Next*": "the example of `Middleware` calls it",
    "agentloop::models::ability::Abilities*": "a field of `ModelData`",
    "agentloop::models::file::Source*": "a field of `DataFile`",
    "agentloop::models::price::UnitPrices*": "a field of `Price`, whose example sets one",
    "agentloop::models::record::ModelKind": "a field of `ModelData`",
    "agentloop::protocol::embed::write::VectorForm": "a field of `ServedEmbed`",
    "agentloop::protocol::serve::Operation": "the result of `serve::route`",
    "agentloop::protocol::serve::Served*": "the results of `serve::read_chat` and `serve::read_embed`",
    "agentloop::protocol::serve::write_embed": "takes what `serve::read_embed` returned",
    "agentloop::provider::endpoint::Bends": "a field of `Endpoint`",
    "agentloop::provider::capability::Feature*": "the example of `Provider::supports` asks for one",
    "agentloop::provider::model::*": "a setting of `ModelRule`, whose example sets one",
    "agentloop::provider::quirks::*": "a field of `Quirks`, whose example sets one",
    "agentloop::structured::Structured": "the result of `AgentLoop::chat_structured`, whose module has the example",
    "agentloop::structured::stream::StructuredEvent": "the example of `StructuredStream` reads them",
    "agentloop_macros::tool": "the crate depends on `agentloop`'s names; docs/agent.md has the example",
    "agentloop_sim::fault::Cut": "a field of `Fault`",
    "agentloop_sim::reply::*": "the parts of a simulated response; `Simulator::respond` returns it",
    "agentloop_sim::script::Scene": "a piece of a `Script`, whose example has one",
}


def document():
    """Writes rustdoc's JSON of the library crates."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    with tempfile.TemporaryDirectory() as folder:
        rustdoc = Path(folder) / "rustdoc"
        rustdoc.write_text('#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc "$@"\n')
        rustdoc.chmod(0o755)
        flags = "-Zunstable-options --output-format json"
        command = ["cargo", "doc", "--quiet", "--locked", "--no-deps", "--lib"]
        environment = {**os.environ, "RUSTDOC": str(rustdoc), "RUSTDOCFLAGS": flags}
        # The engine of local models has no public items, and needs CMake and libclang.
        exclude = ["--exclude", "agentloop-cli", "--exclude", "agentloop-local"]
        for chosen in (["--workspace", *exclude, "--all-features"], ["-p", "agentloop-local"]):
            subprocess.run([*command, *chosen], cwd=ROOT, check=True, env=environment)
    return target / "doc"


def kind_of(item):
    return next(iter(item["inner"]))


def has_example(item):
    return "```" in (item["docs"] or "")


def owners(index):
    """Returns the type or trait that each method belongs to, and the methods of implemented traits, which belong to none."""
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


def reachable(document):
    """Returns the ids of the items that a user of the crate can name."""
    index, seen, waiting = document["index"], set(), [str(document["root"])]
    while waiting:
        id = waiting.pop()
        item = index.get(id)
        if item is None or id in seen:
            continue
        seen.add(id)
        kind = kind_of(item)
        inner = item["inner"][kind]
        if kind == "module":
            waiting += [str(inside) for inside in inner["items"] if is_public(index.get(str(inside)))]
        elif kind == "use" and inner["id"] is not None:
            waiting.append(str(inner["id"]))
    return seen


def is_public(item):
    return item is not None and item["visibility"] == "public"


def check(crate, document, used):
    """Returns the items of a crate without an example or a reason, and the numbers of those with one."""
    index, paths = document["index"], document["paths"]
    owned, skipped = owners(index)
    named = reachable(document)
    all_items, covered, missing = Counter(), Counter(), []
    for id, item in index.items():
        kind, owner = kind_of(item), owned.get(id)
        if item["crate_id"] != 0 or kind not in ITEMS or id in skipped:
            continue
        top = item if owner is None else owner
        of_trait = owner is not None and kind_of(owner) == "trait"
        if str(top["id"]) not in named or not (is_public(item) or of_trait):
            continue
        path = "::".join(paths[str(top["id"])]["path"]) if str(top["id"]) in paths else f"{crate}::{top['name']}"
        if owner is not None:
            path = f"{path}::{item['name']}"
        label = kind if owner is None else "method"
        all_items[label] += 1
        reasons = [pattern for pattern in REASONS if fnmatchcase(path, pattern)]
        if has_example(item) or (owner is not None and has_example(owner)):
            covered[label] += 1
        elif reasons:
            used.update(reasons)
            covered[label] += 1
        else:
            place = item["span"]["filename"] if item["span"] else ""
            missing.append(f"{place}: {label} {path}")
    return missing, all_items, covered


def main():
    crates = sys.argv[1:] or CRATES
    folder = document()
    used, failed = set(), False
    for crate in crates:
        read = json.loads((folder / f"{crate.replace('-', '_')}.json").read_text())
        missing, all_items, covered = check(crate, read, used)
        for line in sorted(missing):
            print(line)
        failed |= bool(missing)
        parts = ", ".join(f"{label} {covered[label]} of {all_items[label]}" for label in sorted(all_items))
        print(f"{crate}: {sum(covered.values())} of {sum(all_items.values())} items have an example or a reason ({parts})")
    if tuple(crates) == CRATES:
        for pattern in REASONS.keys() - used:
            print(f"the reason for {pattern} is not needed any more")
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
