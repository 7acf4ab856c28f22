"""Markdown tables of results."""

UPSTREAMS = ["chat", "responses", "anthropic", "gemini"]


def markdown_of_sdks(lines):
    """A row per SDK and a column per upstream: how many checks passed, and the names of those that failed."""
    cells = {}
    for line in lines:
        word, sdk, upstream, check, *_ = line.split(" ", 4)
        cells.setdefault(sdk, {}).setdefault(upstream, []).append((word, check))
    rows = ["| SDK | " + " | ".join(UPSTREAMS) + " |", "|---|" + "---|" * len(UPSTREAMS)]
    for sdk, by_upstream in cells.items():
        rows.append(f"| {sdk} | " + " | ".join(cell(by_upstream.get(u, [])) for u in UPSTREAMS) + " |")
    return "\n".join(rows)


def cell(checks):
    if not checks:
        return "–"
    failed = [name for word, name in checks if word == "FAIL"]
    passed = sum(word == "PASS" for word, _ in checks)
    total = sum(word != "SKIP" for word, _ in checks)
    return f"{passed}/{total}" + (f" ({', '.join(failed)})" if failed else "")


def markdown_of_agents(lines):
    """A row per agent and a column per upstream."""
    cells = {}
    for line in lines:
        word, agent, upstream, *_ = line.split(" ", 3)
        cells.setdefault(agent, {})[upstream] = {"PASS": "yes", "FAIL": "no"}[word]
    rows = ["| agent | " + " | ".join(UPSTREAMS) + " |", "|---|" + "---|" * len(UPSTREAMS)]
    for agent, by_upstream in cells.items():
        rows.append(f"| {agent} | " + " | ".join(by_upstream.get(u, "–") for u in UPSTREAMS) + " |")
    return "\n".join(rows)
