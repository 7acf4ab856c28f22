// Turns the overview into tiles, plots and tables. A part is drawn again only if its numbers changed.

import { amount, bytes, count, day, duration, milliseconds, money, percent, short, words } from "./format.js";
import { bars, el, lines, list, spark, track } from "./plot.js";

const RANGES = { 1: "today", 7: "last 7 days", 30: "last 30 days" };
const MOST_ROWS = 8;
const MOST_LIVE = 30;
const drawn = new Map();

const sum = (values) => values.reduce((total, value) => total + value, 0);
const tokens = (one) => one.promptTokens + one.completionTokens;

export function render(overview, tiles, panels, again = false) {
  if (again) drawn.clear();
  const { live, ledger } = overview;
  const sums = ledger.sums;
  const range = RANGES[ledger.rangeDays];
  renderTiles(overview, tiles);
  const place = (name) => panels.querySelector(`.${name}`) ?? panels.appendChild(el("div", { class: `stack ${name}` }));
  const part = (id, title, size, data, draw) => panel(size ? place(size) : panels, id, title, data, draw);

  part("spend", "Spend by day", "", { sums: sums?.days, now: overview.nowMs, ledger: ledger.state }, (host, note) => drawDays(host, note, overview));
  part("rate", "Requests per minute", "", [live.minutes.requests, live.minutes.failed], (host, note) => drawRate(host, note, live));
  part("latency", "Response time", "", live.minutes.latency, (host, note) =>
    drawTimes(host, note, live.minutes.latency, live.hour.latency, "Response time"));
  part("first", "Time to the first byte", "", live.minutes.firstByte, (host, note) =>
    drawTimes(host, note, live.minutes.firstByte, live.hour.firstByte, "Time to the first byte"));
  part("keys", "Keys", "main", { keys: overview.keys, sums: sums?.keys, range }, (host, note) => drawKeys(host, note, overview, range));
  part("providers", "Providers", "main", overview.providers, (host, note) => drawProviders(host, note, overview));
  part("live", "In progress", "main", live.requests, (host, note) => drawLive(host, note, live));
  part("models", "Tokens by model", "side", { sums: sums?.models, range }, (host, note) => drawModels(host, note, sums?.models, range));
  part("errors", "Errors by kind", "side", live.hour.errors, (host, note) => drawErrors(host, note, live.hour));
  part("teams", "Teams", "side", { teams: overview.teams, sums: sums?.teams, range }, (host, note) => drawTeams(host, note, overview, range));

  return { notices: noticesOf(overview), state: stateOf(overview), about: aboutOf(overview) };
}

function panel(panels, id, title, data, draw) {
  let place = panels.querySelector(`#panel-${id}`);
  if (!place) {
    place = el("section", { class: "panel", id: `panel-${id}`, "aria-labelledby": `title-${id}` },
      el("div", { class: "head" }, el("h2", { id: `title-${id}` }, title), el("span", { class: "note" })),
      el("div", { class: "body" }));
    panels.append(place);
  }
  const text = JSON.stringify(data ?? null);
  if (drawn.get(id) === text) return;
  drawn.set(id, text);
  const note = place.querySelector(".note");
  const host = place.querySelector(".body");
  note.textContent = "";
  draw(host, (text) => { note.textContent = text; });
}

function nothing(host, text) {
  host.replaceChildren(el("p", { class: "empty" }, text));
}

function tile(title, big, more, extra, kind = "") {
  return el("div", { class: `tile ${kind}` }, el("h2", {}, title), el("p", { class: "big" }, ...[].concat(big)), el("p", { class: "more" }, more), extra);
}

function renderTiles({ live, ledger, nowMs }, tiles) {
  const days = daysOf(ledger.sums?.days ?? [], nowMs);
  const [today, yesterday] = [days.at(-1), days.at(-2)];
  const hour = live.hour;
  const minute = sum(live.seconds.slice(0, -1));
  const cache = hour.cache ?? { hits: 0, requests: 0 };
  const spent = ledger.sums
    ? tile("Spend today", money(today.usd), `yesterday ${money(yesterday.usd)}`, spark(days.map((one) => Number(one.usd))))
    : tile("Spend, last hour", money(hour.usd), ledger.state === "off" ? "no ledger" : "the ledger is not read yet", spark(live.minutes.usd.map(Number)));
  tiles.replaceChildren(
    spent,
    tile("Requests per minute", count(minute), `${short(hour.requests)} in the last hour`, spark(live.seconds)),
    tile("Errors, last hour", hour.failed ? [percent(hour.failed, hour.requests)] : "0", hour.failed ? `${count(hour.failed)} of ${count(hour.requests)} requests` : "no failed request",
      spark(live.minutes.failed.map(() => 0), live.minutes.failed), hour.failed / hour.requests > 0.05 ? "bad" : ""),
    tile("In progress", count(live.inProgress), live.requests.length ? `longest ${duration(live.requests[0].runningMs)}` : "no request", spark(live.minutes.requests)),
    tile("Median response", milliseconds(hour.latency.p50), hour.latency.p95 === null ? "no response yet" : `95 % below ${milliseconds(hour.latency.p95)}`, spark(live.minutes.latency.map((one) => one.p50 ?? 0))),
    cache.requests
      ? tile("Cache hits", [percent(cache.hits, cache.requests)], `${count(cache.hits)} of ${count(cache.requests)} in the last hour`, null)
      : tile("Tokens, last hour", [short(hour.promptTokens + hour.completionTokens)], `${short(hour.completionTokens)} generated`, spark(live.minutes.tokens)),
  );
}

// The last 30 days, also those without calls.
function daysOf(sums, now) {
  const known = new Map(sums.map((one) => [one.group, one]));
  return Array.from({ length: 30 }, (_, index) => {
    const group = new Date(now - (29 - index) * 86_400_000).toISOString().slice(0, 10);
    return known.get(group) ?? { group, usd: "0", estimatedUsd: "0", calls: 0, promptTokens: 0, completionTokens: 0 };
  });
}

function drawDays(host, note, { ledger, nowMs }) {
  if (!ledger.sums) return nothing(host, ledger.state === "off" ? "This gateway keeps no ledger." : "The ledger has not been read yet.");
  const days = daysOf(ledger.sums.days, nowMs);
  const total = sum(days.map((one) => Number(one.usd)));
  if (!days.some((one) => one.calls)) return nothing(host, "No calls in the last 30 days.");
  const highest = days.reduce((most, one) => (Number(one.usd) > Number(most.usd) ? one : most));
  note(`${money(total)} in 30 days`);
  bars(host, {
    label: `Spend by day: ${money(total)} in the last 30 days, ${money(days.at(-1).usd)} today, most on ${day(highest.group)} with ${money(highest.usd)}`,
    columns: days.map((one, index) => ({
      parts: [[Number(one.usd), index === 29 ? "open" : ""]],
      text: `${day(one.group)}: ${money(one.usd)}, ${count(one.calls)} calls, ${short(tokens(one))} tokens`,
    })),
    format: amount,
    ends: [day(days[0].group), day(days[15].group), "today"],
  });
  host.append(el("p", { class: "legend" }, el("span", {}, "whole days"), el("span", { class: "pale" }, "today so far")));
}

const AGO = ["60 min ago", "30 min ago", "now"];
const ago = (index, length) => (index === length - 1 ? "this minute" : `${length - 1 - index} min ago`);

function drawRate(host, note, live) {
  const { requests, failed } = live.minutes;
  if (!sum(requests)) return nothing(host, "No requests in the last hour. They appear here as soon as they end.");
  note(`${count(live.hour.requests)} in the last hour`);
  bars(host, {
    label: `Requests per minute: ${count(live.hour.requests)} in the last hour, ${count(live.hour.failed)} of them failed`,
    columns: requests.map((all, index) => ({
      parts: [[all - failed[index], ""], [failed[index], "bad"]],
      text: `${ago(index, requests.length)}: ${count(all)} requests, ${count(failed[index])} failed`,
    })),
    format: short,
    ends: AGO,
  });
  host.append(el("p", { class: "legend" }, el("span", {}, "completed"), el("span", { class: "bad" }, "failed")));
}

function drawTimes(host, note, minutes, hour, title) {
  if (hour.p50 === null) return nothing(host, "No complete response in the last hour.");
  note(`median ${milliseconds(hour.p50)} · 99 % ${milliseconds(hour.p99)}`);
  lines(host, {
    label: `${title}, last hour: half below ${milliseconds(hour.p50)}, 95 % below ${milliseconds(hour.p95)}, 99 % below ${milliseconds(hour.p99)}`,
    series: [
      { values: minutes.map((one) => one.p95), kind: "second" },
      { values: minutes.map((one) => one.p50), kind: "", area: true },
    ],
    texts: minutes.map((one, index) => `${ago(index, minutes.length)}: median ${milliseconds(one.p50)}, 95 % ${milliseconds(one.p95)}`),
    format: (value) => (value ? milliseconds(value).replace(/\.0+(?=\D)/, "") : "0"),
    ends: AGO,
  });
  host.append(el("p", { class: "legend" }, el("span", {}, "median"), el("span", { class: "second" }, "95 %")));
}

function drawModels(host, note, models, range) {
  if (!models?.first.length) return nothing(host, "No calls yet.");
  note(range);
  const byTokens = [...models.first].sort((one, other) => tokens(other) - tokens(one)).slice(0, MOST_ROWS);
  const most = Math.max(...byTokens.map(tokens), 1);
  list(host, byTokens.map((one) => ({
    name: one.group || "unknown",
    value: short(tokens(one)),
    detail: money(one.usd),
    parts: [[one.promptTokens / most, ""], [one.completionTokens / most, "pale"]],
  })));
  const more = models.more + models.first.length - byTokens.length;
  host.append(el("p", { class: "legend" }, el("span", {}, "prompt"), el("span", { class: "pale" }, "response"), more ? `and ${count(more)} more models` : null));
}

function drawErrors(host, note, hour) {
  const kinds = Object.entries(hour.errors).sort((one, other) => other[1] - one[1]);
  note(hour.cancelled ? `${count(hour.cancelled)} cancelled by clients` : "last hour");
  if (!kinds.length) return nothing(host, "No errors in the last hour.");
  const most = kinds[0][1];
  list(host, kinds.slice(0, MOST_ROWS).map(([kind, number]) => ({
    name: words(kind), value: count(number), detail: percent(number, hour.requests), parts: [[number / most, "bad"]],
  })));
}

function table(head, rows) {
  const cell = ([text, kind], tag = "th") => el(tag, { class: kind ?? null, scope: tag === "th" ? "col" : null }, text);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" },
    el("table", {}, el("thead", {}, el("tr", {}, ...head.map((one) => cell(one)))), el("tbody", {}, ...rows)));
}

function cell(kind, ...children) {
  return el("td", { class: kind || null }, ...children);
}

function rowName(name, detail) {
  return el("th", { scope: "row", title: name }, name, detail ? el("br") : null, detail ? el("small", {}, detail) : null);
}

function budgets(all, now) {
  if (!all?.length) return [el("small", {}, "no budget")];
  return all.map((one) => {
    const [limit, spent, reserved] = [Number(one.usd), Number(one.spent), Number(one.reserved)];
    const share = limit ? spent / limit : 1;
    const kind = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "";
    const left = one.endsMs ? `new in ${duration(one.endsMs - now)}` : "in total";
    const label = `${money(spent)} of ${amount(limit)} per ${one.per} spent, ${money(reserved)} reserved`;
    return el("div", { class: "budget" },
      el("div", { class: "row" }, el("span", {}, el("b", {}, money(spent)), ` of ${amount(limit)} / ${one.per}`), el("span", { class: "low" }, left)),
      track([[share, kind], [limit ? reserved / limit : 0, "pale"]], label));
  });
}

function drawKeys(host, note, { keys, ledger, nowMs }, range) {
  const used = new Map((ledger.sums?.keys.first ?? []).map((one) => [one.group, one]));
  const known = keys?.first ?? [];
  const shown = known.map((one) => ({ ...one, sum: used.get(one.name) }));
  for (const [name, sum] of used) {
    if (!known.some((one) => one.name === name)) shown.push({ name, sum, state: "gone" });
  }
  if (!shown.length) return nothing(host, "No keys yet: agentloop keys create NAME");
  note(keys && keys.total > known.length ? `${count(known.length)} of ${count(keys.total)} · ${range}` : range);
  const states = { valid: ["", ""], expired: ["warn", "expired"], gone: ["off", "revoked"] };
  host.replaceChildren(table(
    [["Key"], ["Budget"], ["Calls", "number low"], ["Tokens", "number low"], ["Spend", "number"]],
    shown.map((one) => {
      const [, word] = states[one.state] ?? states.valid;
      return el("tr", {}, rowName(one.name, [one.team, word].filter(Boolean).join(" · ")),
        cell("", ...(one.state === "gone" ? [el("small", {}, "–")] : budgets(one.budgets, nowMs))),
        cell("number low", count(one.sum?.calls ?? 0)), cell("number low", short(one.sum ? tokens(one.sum) : 0)),
        cell("number", Number(one.sum?.estimatedUsd) ? el("small", { title: "A part of it is an estimate" }, "≈ ") : null, money(one.sum?.usd ?? 0)));
    })));
}

function drawTeams(host, note, { teams, ledger, nowMs }, range) {
  const used = new Map((ledger.sums?.teams.first ?? []).filter((one) => one.group).map((one) => [one.group, one]));
  const names = new Set([...(teams?.first ?? []).map((one) => one.name), ...used.keys()]);
  if (!names.size) return nothing(host, "No teams. A team gives several keys one budget.");
  note(range);
  host.replaceChildren(table([["Team"], ["Budget"], ["Spend", "number"]], [...names].map((name) => {
    const one = teams?.first.find((team) => team.name === name);
    return el("tr", {}, rowName(name), cell("", ...budgets(one?.budgets, nowMs)), cell("number", money(used.get(name)?.usd ?? 0)));
  })));
}

function drawLive(host, note, live) {
  if (!live.requests.length) return nothing(host, "Nothing is in progress.");
  note(live.inProgress > live.requests.length ? `the ${live.requests.length} oldest of ${count(live.inProgress)}` : `${count(live.inProgress)} requests`);
  host.replaceChildren(table(
    [["Model"], ["Key", "low"], ["State"], ["Received", "number low"], ["Running", "number"]],
    live.requests.slice(0, MOST_LIVE).map((one) => {
      const waits = one.firstByteMs === null;
      const served = one.served && one.served !== one.model ? one.served : null;
      return el("tr", {}, rowName(one.model, served), cell("clip low", one.key ?? "–"),
        cell("", el("span", { class: `state ${waits ? "warn" : ""}` }, waits ? "waiting" : one.stream ? "streaming" : "receiving")),
        cell("number low", waits ? "–" : bytes(one.bytes)), cell("number", duration(one.runningMs)));
    })));
}

function drawProviders(host, note, { providers, otherProviders }) {
  note(otherProviders ? `${count(otherProviders)} more not called in the last hour` : "last hour");
  if (!providers.length) return nothing(host, "No provider was called in the last hour.");
  const states = { ready: ["", "ready"], partly: ["warn", "partly"], resting: ["bad", "resting"] };
  host.replaceChildren(table(
    [["Provider"], ["State"], ["Calls, last hour", "low"], ["Failed", "number"], ["Median", "number low"], ["95 %", "number"], ["Last error", "low"]],
    providers.map((one) => {
      const [kind, word] = states[one.state] ?? states.ready;
      const [good, bad] = [sum(one.succeeded), sum(one.failed)];
      const rest = one.restMs ? el("small", {}, ` ${duration(one.restMs)}`) : null;
      const keys = one.keys > 1 ? `${one.keys - one.restingKeys} of ${one.keys} keys` : null;
      return el("tr", {}, rowName(one.name, keys), cell("", el("span", { class: `state ${kind}` }, word, rest)),
        cell("low", spark(one.succeeded, one.failed)), cell("number", bad ? percent(bad, good + bad) : "0"),
        cell("number low", milliseconds(one.latency.p50)), cell("number", milliseconds(one.latency.p95)),
        cell("low", one.lastError ? `${words(one.lastError.kind)}, ${duration(one.lastError.agoMs)} ago` : "–"));
    })));
}

function noticesOf({ ledger, degraded, live, ledger: { sums } }) {
  const notices = [];
  if (ledger.state === "failing") {
    const age = ledger.ageMs ? ` The sums are ${duration(ledger.ageMs)} old.` : "";
    notices.push(["warn", `The ledger cannot be read: ${ledger.error}.${age} Requests are served and counted nevertheless.`]);
  }
  for (const line of degraded) notices.push(["warn", `Degraded: ${line}.`]);
  const unpriced = sum((sums?.models.first ?? []).map((one) => one.unpriced));
  if (unpriced) notices.push(["", `${count(unpriced)} calls have no known price and count as $0. Set prices in [models] of agentloop.toml.`]);
  if (!live.hour.requests && !live.inProgress && sums && !sums.days.length) {
    notices.push(["", "No request has arrived yet. Set the base URL of a client to this gateway, for example OPENAI_BASE_URL=http://127.0.0.1:4180/v1."]);
  }
  return notices;
}

function stateOf({ ledger, degraded, providers }) {
  const isDegraded = ledger.state === "failing" || degraded.length > 0;
  if (isDegraded) return { kind: "warn", text: "degraded" };
  const resting = providers.filter((one) => one.state === "resting").length;
  if (resting) return { kind: "warn", text: resting > 1 ? `${resting} providers rest` : "1 provider rests" };
  return { kind: "good", text: "working" };
}

function aboutOf({ version, node, nowMs, startedMs, journal }) {
  const rows = journal?.unstoredRows ? `${count(journal.unstoredRows)} rows not stored yet` : null;
  return [node, `version ${version}`, `up ${duration(nowMs - startedMs)}`, rows].filter(Boolean).join(" · ");
}
