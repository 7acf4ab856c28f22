// Asks the gateway for its overview, and shows it.

import { duration } from "./format.js";
import { el } from "./plot.js";
import { render } from "./view.js";

const EVERY = 2000;
const SLOWEST = 15_000;
const PATIENCE = 10_000;

const $ = (id) => document.getElementById(id);
const page = { range: "7d", failures: 0, last: null, seen: 0, timer: 0, busy: false };

function token() {
  return sessionStorage.getItem("agentloop-admin-token");
}

async function refresh() {
  clearTimeout(page.timer);
  if (page.busy) return;
  page.busy = true;
  try {
    const headers = token() ? { authorization: `Bearer ${token()}` } : {};
    const signal = AbortSignal.timeout(PATIENCE);
    const response = await fetch(`/api/overview?range=${page.range}`, { headers, signal, cache: "no-store" });
    if (response.status === 401) return ask(token() !== null);
    const body = await response.json();
    if (!response.ok) throw new Error(body.error?.message ?? `status ${response.status}`);
    page.failures = 0;
    page.last = body;
    page.seen = performance.now();
    show();
  } catch (error) {
    page.failures += 1;
    fail(error);
  } finally {
    page.busy = false;
    plan();
  }
}

// A page that nobody looks at asks for nothing, and a gateway that does not respond is asked less often.
function plan() {
  clearTimeout(page.timer);
  if (document.hidden || !$("login").hidden) return;
  page.timer = setTimeout(refresh, Math.min(EVERY * 2 ** Math.min(page.failures, 4), SLOWEST));
}

function show() {
  $("login").hidden = true;
  $("main").hidden = false;
  document.body.classList.remove("stale");
  const { notices, state, about } = render(page.last, $("tiles"), $("panels"));
  $("about").textContent = about;
  status(state.kind, state.text);
  notify(notices);
}

function status(kind, text) {
  const place = $("status");
  place.className = `status ${kind}`;
  // Screen readers announce a change, not every refresh.
  if (place.textContent !== text) place.textContent = text;
}

function notify(notices) {
  const wanted = JSON.stringify(notices);
  const place = $("notices");
  if (place.dataset.shown === wanted) return;
  place.dataset.shown = wanted;
  place.replaceChildren(...notices.map(([kind, text]) => el("p", { class: `notice ${kind}` }, text)));
}

function fail(error) {
  const reason = error.name === "TimeoutError" ? "it takes too long to respond"
    : error instanceof TypeError ? "there is no connection" : error.message;
  status("bad", "not reachable");
  document.body.classList.toggle("stale", page.last !== null);
  const age = page.last ? ` The numbers are ${duration(performance.now() - page.seen)} old.` : "";
  notify([["bad", `The gateway cannot be asked: ${reason}. The page tries again by itself.${age}`]]);
}

function ask(wasWrong) {
  sessionStorage.removeItem("agentloop-admin-token");
  status("warn", "locked");
  notify([]);
  $("main").hidden = true;
  $("login").hidden = false;
  $("wrong").textContent = wasWrong ? "The gateway does not accept this token." : "";
  $("token").value = "";
  $("token").focus();
}

$("login").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("agentloop-admin-token", $("token").value.trim());
  refresh();
});
$("ranges").addEventListener("change", (event) => {
  page.range = event.target.value;
  refresh();
});
document.addEventListener("visibilitychange", () => (document.hidden ? plan() : refresh()));
let resizing = 0;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => {
    if (page.last && !$("main").hidden) render(page.last, $("tiles"), $("panels"), true);
  }, 120);
});

$("footer").append(
  "The same numbers: ", el("code", {}, "GET /api/overview"), ", ", el("code", {}, "/api/usage"), ", ", el("code", {}, "/api/rows?format=csv"),
  ", ", el("code", {}, "/metrics"), ". Days are in UTC.",
);
refresh();
