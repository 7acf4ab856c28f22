// Runs the checks of an SDK against every upstream and prints one line per check.

import { randomUUID } from "node:crypto";

export const { BASE, KEY, UPSTREAM, ONLY } = process.env;
const MODELS = JSON.parse(process.env.MODELS);
const DIRECT = process.env.DIRECT === "1"; // without a gateway: only the SDK's own protocol
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
export const PIXEL_BYTES = Buffer.from(PIXEL, "base64").length;
export const WEATHER = {
  type: "object",
  properties: { city: { type: "string" }, unit: { type: "string" } },
  required: ["city", "unit"],
  additionalProperties: false,
};
export const CITY = {
  type: "object",
  properties: { city: { type: "string" }, population: { type: "integer" } },
  required: ["city", "population"],
  additionalProperties: false,
};
export const PARIS = { city: "Paris", population: 2100000 };
export const RESULTS = { Paris: "21", London: "15" };
export const DONE = ["Paris=", "21", "London=", "15", "checks: ok"];
export const THOUGHT = "I weigh the options: “first”, then\nsecond";

export class Skip extends Error {}

// A prompt that makes the scripted model play a scenario, in a conversation of its own.
export const prompt = (scenario) => `Please go on. #${scenario}:${randomUUID().replaceAll("-", "").slice(0, 12)}`;

// A later prompt of the same conversation.
export const follow = (first, scenario) => `And now? #${scenario}:${first.split(":").at(-1)}`;

export function has(text, ...needles) {
  for (const needle of needles) {
    if (!String(text).includes(needle)) throw new Error(`'${needle}' is not in '${String(text).slice(0, 600)}'`);
  }
}

export function equal(left, right) {
  if (JSON.stringify(left) !== JSON.stringify(right)) throw new Error(`${JSON.stringify(left)} is not ${JSON.stringify(right)}`);
}

export async function raises(call, kind = Error) {
  let value;
  try {
    value = await call();
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
  throw new Error(`no error was raised: ${JSON.stringify(value)?.slice(0, 300)}`);
}

// Waits until the upstream notices that the conversation of a prompt was given up.
export async function waitForDisconnect(text, closedAt) {
  if (!UPSTREAM) throw new Skip("needs the URL of the scripted upstream");
  for (let i = 0; i < 60; i++) {
    const seen = (await (await fetch(`${UPSTREAM}/__conversation?name=${text.split(":").at(-1)}`)).json()).disconnected;
    if (seen) {
      const late = seen.at * 1000 - closedAt;
      if (late > 1000) throw new Error(`the upstream was cancelled only after ${late} ms`);
      return `cancelled after ${Math.round(late)} ms`;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the upstream request was not cancelled within 3 s");
}

const limit = (promise) =>
  Promise.race([promise, new Promise((_, reject) => setTimeout(() => reject(new Error("no result after 30 s")), 30000).unref())]);

// `checks` maps a name to a function of (model, upstream).
export async function run(sdk, api, checks) {
  let failed = false;
  for (const [upstream, model] of Object.entries(MODELS)) {
    if (DIRECT && upstream !== api) continue;
    for (const [name, check] of Object.entries(checks)) {
      if (ONLY && !`${sdk} ${upstream} ${name}`.includes(ONLY)) continue;
      let word = "PASS";
      let detail = "";
      try {
        detail = (await limit(check(model, upstream))) ?? "";
      } catch (error) {
        word = error instanceof Skip ? "SKIP" : "FAIL";
        failed ||= word === "FAIL";
        const line = /\/(\w+\.mjs:\d+):\d+\)?\n/.exec(`${error?.stack?.replace(/.*check\.mjs.*\n/g, "")}\n`)?.[1] ?? "";
        detail = word === "SKIP" ? error.message : `${line}: ${error?.name}: ${error?.message ?? error}`;
      }
      console.log(`${word} ${sdk} ${upstream} ${name} ${String(detail).replace(/\s+/g, " ").slice(0, 700)}`);
    }
  }
  return failed;
}
