"""Documents as `GET /api/overview` returns them: of a busy gateway, and of one that has just started."""

import math
import random
import time

MINUTES = 60


def usage(group, calls, prompt, completion, usd, **more):
    return {"group": group, "calls": calls, "incomplete": calls // 90, "cached": 0, "estimated": calls // 120, "unpriced": 0, "promptTokens": prompt,
            "completionTokens": completion, "cachedTokens": prompt // 3, "usd": f"{usd:.6f}", "estimatedUsd": f"{usd / 80:.6f}", **more}


def groups(sums, more=0):
    return {"first": sums, "more": more}


def empty(state="ok"):
    none = {"p50": None, "p95": None, "p99": None}
    now = int(time.time() * 1000)
    return {
        "version": "0.1.0", "node": "gateway-1", "nowMs": now, "startedMs": now - 41_000,
        "live": {
            "inProgress": 0, "requests": [], "seconds": [0] * 60,
            "minutes": {"requests": [0] * MINUTES, "failed": [0] * MINUTES, "tokens": [0] * MINUTES, "usd": ["0"] * MINUTES, "latency": [none] * MINUTES,
                        "firstByte": [none] * MINUTES},
            "hour": {"requests": 0, "failed": 0, "cancelled": 0, "cache": {"requests": 0, "hits": 0}, "promptTokens": 0, "completionTokens": 0, "usd": "0",
                     "latency": none, "firstByte": none, "errors": {}},
        },
        "providers": [], "otherProviders": 3,
        "ledger": {"state": state, "ageMs": 0, "rangeDays": 7,
                   "sums": {"days": [], **{name: groups([]) for name in ("keys", "teams", "models", "providers", "outcomes")}}},
        "keys": {"total": 1, "first": [{"name": "default", "source": "store", "state": "valid", "running": 0, "budgets": []}]},
        "teams": {"total": 0, "first": []},
        "degraded": [], "journal": {"unstoredRows": 0, "openCalls": 0, "bytes": 0},
    }


def busy():
    dice = random.Random(7)
    page = empty()
    now = page["nowMs"]
    page["startedMs"] = now - 11 * 86_400_000

    def times(base, minute):
        half = base * (1 + 0.25 * math.sin(minute / 9) + 0.15 * dice.random())
        return {"p50": round(half, 1), "p95": round(half * (2.4 + dice.random()), 1), "p99": round(half * 5, 1)}

    requests = [int(260 + 90 * math.sin(minute / 8) + dice.randrange(40)) for minute in range(MINUTES)]
    requests[-1] = 120
    failed = [dice.randrange(6) + (38 if 31 <= minute <= 35 else 0) for minute in range(MINUTES)]
    live = page["live"]
    live["inProgress"] = 137
    live["seconds"] = [dice.randrange(2, 9) for _ in range(60)]
    live["minutes"] = {"requests": requests, "failed": failed, "tokens": [one * 900 for one in requests], "usd": [f"{one * 0.0021:.6f}" for one in requests],
                       "latency": [times(2100, minute) for minute in range(MINUTES)], "firstByte": [times(420, minute) for minute in range(MINUTES)]}
    models = ["anthropic/claude-sonnet-5", "openai/gpt-5-mini", "openai/gpt-5.5", "google/gemini-3.8-flash", "groq/openai/gpt-oss-20b", "deepseek/deepseek-chat",
              "mistral/mistral-large-latest"]
    keys = ["checkout-service", "ci", "support-bot", "anna", "nightly-eval", "research-notebooks", "docs-search", "mobile-app"]
    live["requests"] = [
        {"id": f"req_{index:024x}", "key": keys[index % 6], "api": "anthropic", "call": "chat", "model": "fast" if index % 4 == 1 else models[index % 5],
         "served": None if index % 5 == 3 else models[index % 5], "stream": True, "runningMs": 64_000 // (index + 1) + 300,
         "firstByteMs": None if index % 5 == 3 else 380 + index, "bytes": 48_000 // (index + 1)} for index in range(40)]
    live["hour"] = {"requests": sum(requests), "failed": sum(failed), "cancelled": 61, "cache": {"requests": 2210, "hits": 734}, "promptTokens": 12_300_000,
                    "completionTokens": 1_940_000, "usd": "33.4", "latency": {"p50": 2140.0, "p95": 6120.0, "p99": 11800.0},
                    "firstByte": {"p50": 431.0, "p95": 1190.0, "p99": 2400.0}, "errors": {"rate_limit": 131, "overloaded": 84, "spending_limit": 40, "timeout": 22, "invalid_request": 17, "auth": 9}}
    page["providers"] = [
        {"name": name, "state": state, "keys": count, "restingKeys": rest, "succeeded": [int(one * share) for one in requests],
         "failed": [int(one * bad) for one in failed], "latency": times(base, 3),
         **({"restMs": 9000} if rest or state != "ready" else {}), **({"lastError": {"kind": kind, "agoMs": ago}} if kind else {})}
        for name, state, count, rest, share, bad, base, kind, ago in [
            ("anthropic", "ready", 1, 0, 0.5, 0.2, 2600, "overloaded", 312_000), ("google", "ready", 1, 0, 0.12, 0, 900, None, 0),
            ("groq", "resting", 1, 0, 0.05, 0.6, 310, "timeout", 6000), ("openai", "partly", 3, 1, 0.33, 0.2, 1900, "rate_limit", 21_000)]]
    page["otherProviders"] = 2
    days = []
    for ago in range(30):
        weekday = time.gmtime(now / 1000 - ago * 86_400).tm_wday
        size = (0.35 if weekday >= 5 else 1) * (1 - ago / 60) * (0.85 + 0.3 * dice.random()) * (0.55 if ago == 0 else 1)
        group = time.strftime("%Y-%m-%d", time.gmtime(now / 1000 - ago * 86_400))
        days.append(usage(group, int(41_000 * size), int(96e6 * size), int(14e6 * size), 212 * size))
    shares = [0.38, 0.21, 0.17, 0.11, 0.06, 0.04, 0.03]
    page["ledger"]["sums"] = {
        "days": days,
        "keys": groups([usage(name, int(90_000 / (at + 1)), int(2e8 / (at + 1)), int(3e7 / (at + 1)), 431 / (at + 1)) for at, name in enumerate(keys)] +
                       [usage("old-laptop", 210, 600_000, 41_000, 0.92)], 14),
        "teams": groups([usage("web", 131_000, 3 * 10**8, 5 * 10**7, 702.2), usage("research", 40_000, 10**8, 10**7, 311.9), usage("", 900, 10**6, 10**5, 4.1)]),
        "models": groups([usage(model, int(200_000 * share), int(5.1e8 * share), int(9.2e7 * share * (1.6 if at % 2 else 0.8)), 1040 * share)
                          for at, (model, share) in enumerate(zip(models, shares))], 4),
        "providers": groups([]), "outcomes": groups([]),
    }
    day_end = (now // 86_400_000 + 1) * 86_400_000

    def budget(usd, per, spent, reserved=0.0):
        return {"usd": str(usd), "per": per, "spent": f"{spent:.4f}", "reserved": f"{reserved:.4f}", "endsMs": None if per == "total" else day_end + (0 if per == "day" else 9 * 86_400_000)}

    limits = [[budget(100, "day", 61.7, 2.1), budget(2000, "month", 902.4, 2.1)], [budget(20, "day", 18.9, 0.3)], [budget(50, "week", 50.02)], [budget(5, "day", 0.42)], [],
              [budget(400, "month", 143.1, 0.8)], [budget(10, "day", 1.11)], []]
    teams = ["web", "web", "web", None, None, "research", "web", "web"]
    page["keys"] = {"total": 22, "first": [
        {"name": name, "source": "store", "state": "expired" if name == "docs-search" else "valid", "running": 3, "budgets": limit, **({"team": team} if team else {})}
        for name, limit, team in zip(keys, limits, teams)]}
    page["teams"] = {"total": 2, "first": [{"name": "web", "source": "store", "state": "valid", "running": 31, "budgets": [budget(3000, "month", 1820.5, 4.2)]},
                                           {"name": "research", "source": "store", "state": "valid", "running": 4, "budgets": [budget(500, "month", 311.9, 0.8)]}]}
    return page
