// The Anthropic SDK for JavaScript.

import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { z } from "zod";
import { BASE, DONE, KEY, PARIS, PIXEL, PIXEL_BYTES, RESULTS, THOUGHT, WEATHER, equal, follow, has, prompt, raises, run, waitForDisconnect } from "./check.mjs";

const client = new Anthropic({ baseURL: BASE, apiKey: KEY, maxRetries: 0 });
const City = z.object({ city: z.string(), population: z.number().int() });
const tools = [{ name: "get_weather", description: "The weather", input_schema: WEATHER }];
const thinking = { type: "enabled", budget_tokens: 1024 };
const user = (content) => [{ role: "user", content }];
const create = (model, messages, options = {}) => client.messages.create({ model, max_tokens: 4096, messages, ...options });
const ask = (model, scenario, options) => create(model, user(prompt(scenario)), options);
const textOf = (message) => message.content.filter((b) => b.type === "text").map((b) => b.text).join("");

async function status(code, kind, call) {
  const error = await raises(call, Anthropic.APIError);
  equal([error.status, error.error?.error?.type], [code, kind]);
  return error;
}

async function roundTrip(model, first) {
  const messages = user(prompt("tools"));
  const message = await first(messages);
  const calls = message.content.filter((b) => b.type === "tool_use");
  equal(calls.map((c) => c.input.city), ["Paris", "London"]);
  const results = calls.map((c) => ({ type: "tool_result", tool_use_id: c.id, content: RESULTS[c.input.city] }));
  messages.push({ role: "assistant", content: message.content }, { role: "user", content: results });
  const second = await create(model, messages, { tools, thinking });
  has(textOf(second), ...DONE);
  messages.push({ role: "assistant", content: second.content }, ...user(follow(messages[0].content, "tools")));
  has(textOf(await create(model, messages, { tools, thinking })), "again: checks: ok");
}

async function failing(events) {
  let text = "";
  try {
    for await (const event of events) {
      text += event.delta?.text ?? "";
      if (event.type === "message_stop" || event.type === "message_delta") throw new TypeError("a failed stream was completed");
    }
  } catch (error) {
    if (error instanceof TypeError && error.message.includes("completed")) throw error;
    return [text, String(error?.message ?? error)];
  }
  throw new Error("a failed stream ended without an error");
}

const checks = {
  async plain(model, upstream) {
    const message = await ask(model, "hello", { system: "Be brief." });
    has(textOf(message), `Hello from ${upstream}`, "checks: ok");
    equal([message.stop_reason, message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens], ["end_turn", 90, 10, 20]);
  },
  async stream(model, upstream) {
    let text = "";
    for await (const event of await ask(model, "hello", { stream: true })) text += event.delta?.text ?? "";
    has(text, `Hello from ${upstream}`, "checks: ok");
  },
  async "stream-helper"(model, upstream) {
    const message = await client.messages.stream({ model, max_tokens: 4096, messages: user(prompt("hello")) }).finalMessage();
    has(textOf(message), `Hello from ${upstream}`);
    equal([message.stop_reason, message.usage.output_tokens], ["end_turn", 20]);
  },
  async tools(model) {
    await roundTrip(model, (messages) => create(model, messages, { tools, thinking }));
  },
  async "tools-stream"(model) {
    await roundTrip(model, (messages) => client.messages.stream({ model, max_tokens: 4096, messages, tools, thinking }).finalMessage());
  },
  async "tools-runner"(model) {
    const weather = betaTool({ name: "get_weather", description: "The weather", inputSchema: WEATHER, run: ({ city }) => RESULTS[city] });
    for (const stream of [false, true]) {
      const runner = client.beta.messages.toolRunner({ model, max_tokens: 4096, messages: user(prompt("tools")), tools: [weather], thinking, stream });
      let last;
      for await (const step of runner) last = stream ? await step.finalMessage() : step;
      has(textOf(last), ...DONE);
    }
  },
  async "thinking-back"(model, upstream) {
    const messages = user(prompt("think"));
    const message = await client.messages.stream({ model, max_tokens: 4096, messages, thinking }).finalMessage();
    has(message.content[0].thinking, THOUGHT);
    messages.push({ role: "assistant", content: message.content }, ...user(follow(messages[0].content, "again")));
    const text = textOf(await create(model, messages, { thinking }));
    has(text, "checks: ok", upstream === "chat" ? "" : "state: present");
    return text;
  },
  async image(model) {
    const source = { type: "base64", media_type: "image/png", data: PIXEL };
    has(textOf(await create(model, user([{ type: "text", text: prompt("image") }, { type: "image", source }]))), `image/png ${PIXEL_BYTES} bytes`);
  },
  async structured(model) {
    const message = await client.messages.parse({ model, max_tokens: 4096, messages: user(prompt("json")), output_config: { format: zodOutputFormat(City) } });
    equal(message.parsed_output, PARIS);
  },
  async count(model) {
    const { input_tokens } = await client.messages.countTokens({ model, messages: user(prompt("hello")) });
    if (!(input_tokens > 0)) throw new Error(`${input_tokens} tokens`);
    return input_tokens;
  },
  async models(model) {
    const ids = [];
    for await (const row of client.models.list({ limit: 1000 })) ids.push(row.id);
    has(` ${ids.join(" ")} `, ` ${model} `);
    equal((await client.models.retrieve(model)).id, model);
  },
  async 401(model) {
    const wrong = new Anthropic({ baseURL: BASE, apiKey: "sk-wrong", maxRetries: 0 });
    await status(401, "authentication_error", () => wrong.messages.create({ model, max_tokens: 5, messages: user("Hi") }));
  },
  async 404() {
    await status(404, "not_found_error", () => ask("nowhere/missing", "hello"));
  },
  async 429(model) {
    equal((await status(429, "rate_limit_error", () => ask(model, "rate"))).headers.get("retry-after"), "7");
    await status(429, "rate_limit_error", () => ask(model, "rate", { stream: true }));
  },
  async 400(model) {
    has((await status(400, "invalid_request_error", () => ask(model, "bad"))).message, "temperature must be at most 2");
  },
  async midstream(model) {
    const [text, error] = await failing(await ask(model, "midstream", { stream: true }));
    has(text, "This is the beginning");
    has(error, "overloaded");
  },
  async cut(model) {
    return (await failing(await ask(model, "cut", { stream: true })))[1];
  },
  async disconnect(model) {
    const text = prompt("slow");
    let seen = 0;
    for await (const _ of await create(model, user(text), { stream: true })) if (++seen === 9) break;
    return waitForDisconnect(text, Date.now());
  },
};

process.exit((await run("js-anthropic", "anthropic", checks)) ? 1 : 0);
