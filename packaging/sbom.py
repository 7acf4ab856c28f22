#!/usr/bin/env python3
"""Lists the crates that the program is made of: as a CycloneDX file (SBOM), and with the text of their licences.

Usage: packaging/sbom.py --target TRIPLE --features LIST --json FILE --licenses FILE
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = "agentloop-cli"


def metadata(target, features):
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target, "--features", ",".join(f"{PROGRAM}/{name}" for name in features.split(","))]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def reachable(data):
    """Returns the ids of the crates that are compiled into the program or run to build it, and the dependencies of each."""
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    start = next(package["id"] for package in data["packages"] if package["name"] == PROGRAM)
    found, waiting = {}, [start]
    while waiting:
        crate = waiting.pop()
        if crate in found:
            continue
        found[crate] = [dep["pkg"] for dep in nodes[crate]["deps"] if any(kind["kind"] in (None, "build") for kind in dep["dep_kinds"])]
        waiting += found[crate]
    return start, found


def checksums():
    """Returns the SHA-256 of each crate of the registry, from the lock file."""
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    pattern = r'name = "([^"]+)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "([0-9a-f]+)"'
    return {(name, version): checksum for name, version, checksum in re.findall(pattern, lock)}


def expression(package):
    # Old manifests separate licences with a slash.
    return (package["license"] or "").replace("/", " OR ") or None


def component(package, sums):
    url = f"pkg:cargo/{package['name']}@{package['version']}"
    entry = {"type": "library", "bom-ref": url, "name": package["name"], "version": package["version"], "purl": url}
    entry["licenses"] = [{"expression": expression(package)}] if expression(package) else [{"license": {"name": package["license_file"] or "unknown"}}]
    checksum = sums.get((package["name"], package["version"]))
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package.get("description"):
        entry["description"] = " ".join(package["description"].split())
    if package.get("repository"):
        entry["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return entry


def document(start, found, packages, sums):
    program = packages[start]
    refs = {crate: f"pkg:cargo/{packages[crate]['name']}@{packages[crate]['version']}" for crate in found}
    others = sorted((crate for crate in found if crate != start), key=lambda crate: refs[crate])
    components = [component(packages[crate], sums) for crate in others]
    # The same crates have the same serial number, so the file can be reproduced.
    digest = hashlib.sha256(json.dumps(components, sort_keys=True).encode()).hexdigest()
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    stamp = subprocess.run(["date", "-u", "-d", f"@{epoch}", "+%Y-%m-%dT%H:%M:%SZ"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": stamp,
            "component": {"type": "application", "bom-ref": refs[start], "name": "agentloop", "version": program["version"], "purl": refs[start], "licenses": [{"expression": program["license"]}]},
        },
        "components": components,
        "dependencies": [{"ref": refs[crate], "dependsOn": sorted({refs[dep] for dep in found[crate]})} for crate in [start, *others]],
    }


def licenses(start, found, packages):
    """Returns the names of all crates of others with their licences, and each text of a licence once."""
    texts, lines = {}, []
    for crate in sorted(found, key=lambda crate: (packages[crate]["name"], packages[crate]["version"])):
        package = packages[crate]
        if package["source"] is None:
            continue
        name = f"{package['name']} {package['version']}"
        lines.append(f"{name}: {expression(package) or 'see its text'}")
        folder = pathlib.Path(package["manifest_path"]).parent
        for path in sorted(folder.iterdir()):
            if path.is_file() and re.match(r"(?i)(licen[cs]e|copying|notice|unlicense)", path.name) and path.suffix not in (".html", ".rs"):
                text = path.read_text(encoding="utf-8", errors="replace").strip()
                texts.setdefault(text, []).append(name)
    parts = ["The program contains these crates of others:\n\n" + "\n".join(lines)]
    parts += [f"{', '.join(names)}:\n\n{text}" for text, names in texts.items()]
    return ("\n\n" + "-" * 80 + "\n\n").join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser()
    for option in ("target", "features", "json", "licenses"):
        parser.add_argument(f"--{option}", required=True)
    options = parser.parse_args()
    data = metadata(options.target, options.features)
    packages = {package["id"]: package for package in data["packages"]}
    start, found = reachable(data)
    with open(options.json, "w", encoding="utf-8") as file:
        json.dump(document(start, found, packages, checksums()), file, indent=1)
        file.write("\n")
    pathlib.Path(options.licenses).write_text(licenses(start, found, packages), encoding="utf-8")
    print(f"{len(found)} crates")


if __name__ == "__main__":
    main()
