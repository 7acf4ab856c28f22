// The Google Gen AI SDK for JavaScript.

import { ApiError, GoogleGenAI } from "@google/genai";
import { BASE, CITY, DONE, KEY, PARIS, PIXEL, PIXEL_BYTES, RESULTS, THOUGHT, WEATHER, equal, follow, has, prompt, raises, run, waitForDisconnect } from "./check.mjs";

const connect = (apiKey) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: BASE } });
const client = connect(KEY);
const tools = [{ functionDeclarations: [{ name: "get_weather", description: "The weather", parametersJsonSchema: WEATHER }] }];
const thinkingConfig = { includeThoughts: true };
const user = (text) => ({ role: "user", parts: [{ text }] });
const generate = (model, contents, config = {}) => client.models.generateContent({ model, contents, config });
const ask = (model, scenario, config) => generate(model, prompt(scenario), config);
const stream = (model, contents, config = {}) => client.models.generateContentStream({ model, contents, config });

async function status(code, call) {
  const error = await raises(call, ApiError);
  equal(error.status, code);
  return error;
}

async function roundTrip(model, first) {
  const text = prompt("tools");
  const contents = [user(text)];
  const content = await first(contents);
  const calls = content.parts.filter((p) => p.functionCall).map((p) => p.functionCall);
  equal(calls.map((c) => c.args.city), ["Paris", "London"]);
  const parts = calls.map(({ id, name, args }) => ({ functionResponse: { id, name, response: { result: RESULTS[args.city] } } }));
  contents.push(content, { role: "user", parts });
  const second = await generate(model, contents, { tools, thinkingConfig });
  has(second.text, ...DONE);
  contents.push(second.candidates[0].content, user(follow(text, "tools")));
  has((await generate(model, contents, { tools, thinkingConfig })).text, "again: checks: ok");
}

async function streamed(model, contents) {
  const parts = [];
  for await (const chunk of await stream(model, contents, { tools, thinkingConfig })) parts.push(...(chunk.candidates[0].content?.parts ?? []));
  return { role: "model", parts };
}

async function failing(model, scenario) {
  let text = "";
  try {
    for await (const chunk of await stream(model, prompt(scenario))) {
      text += chunk.text ?? "";
      if (chunk.candidates?.[0]?.finishReason) throw new TypeError("a failed stream was completed");
    }
  } catch (error) {
    if (error instanceof TypeError && error.message.includes("completed")) throw error;
    return [text, String(error?.message ?? error)];
  }
  throw new Error("a failed stream ended without an error");
}

const checks = {
  async plain(model, upstream) {
    const response = await ask(model, "hello", { systemInstruction: "Be brief." });
    has(response.text, `Hello from ${upstream}`, "checks: ok");
    const { promptTokenCount, totalTokenCount } = response.usageMetadata;
    equal([response.candidates[0].finishReason, promptTokenCount, totalTokenCount], ["STOP", 100, 120]);
  },
  async stream(model, upstream) {
    let text = "";
    let last;
    for await (last of await stream(model, prompt("hello"))) text += last.text ?? "";
    has(text, `Hello from ${upstream}`, "checks: ok");
    equal([last.candidates[0].finishReason, last.usageMetadata.totalTokenCount], ["STOP", 120]);
  },
  async tools(model) {
    await roundTrip(model, async (contents) => (await generate(model, contents, { tools, thinkingConfig })).candidates[0].content);
  },
  async "tools-stream"(model) {
    await roundTrip(model, (contents) => streamed(model, contents));
  },
  async "tools-bare"(model) {
    await roundTrip(model, async (contents) => {
      const content = await streamed(model, contents);
      return { role: "model", parts: content.parts.filter((p) => !p.thought) };
    });
  },
  async "thinking-back"(model, upstream) {
    const chat = client.chats.create({ model, config: { thinkingConfig } });
    const text = prompt("think");
    const first = await chat.sendMessage({ message: text });
    has(first.candidates[0].content.parts.filter((p) => p.thought).map((p) => p.text).join(""), THOUGHT);
    const reply = (await chat.sendMessage({ message: follow(text, "again") })).text;
    has(reply, "checks: ok", upstream === "chat" ? "" : "state: present");
    return reply;
  },
  async image(model) {
    const parts = [{ text: prompt("image") }, { inlineData: { mimeType: "image/png", data: PIXEL } }];
    has((await generate(model, [{ role: "user", parts }])).text, `image/png ${PIXEL_BYTES} bytes`);
  },
  async structured(model) {
    const response = await ask(model, "json", { responseMimeType: "application/json", responseJsonSchema: CITY });
    equal(JSON.parse(response.text), PARIS);
    const responseSchema = { type: "OBJECT", properties: { city: { type: "STRING" }, population: { type: "INTEGER" } }, required: ["city", "population"] };
    equal(JSON.parse((await ask(model, "json", { responseMimeType: "application/json", responseSchema })).text), PARIS);
  },
  async embeddings(model, upstream) {
    const call = () => client.models.embedContent({ model, contents: ["a", "b"] });
    if (upstream === "anthropic") return `refused with ${(await raises(call, ApiError)).status}`;
    equal((await call()).embeddings.map((e) => e.values), [[0.5, -0.25, 0.125], [0.5, -0.25, 0.125]]);
  },
  async count(model) {
    const { totalTokens } = await client.models.countTokens({ model, contents: prompt("hello") });
    if (!(totalTokens > 0)) throw new Error(`${totalTokens} tokens`);
    return totalTokens;
  },
  async models(model) {
    const names = [];
    for await (const row of await client.models.list({ config: { pageSize: 1000 } })) names.push(row.name);
    has(` ${names.join(" ")} `, ` models/${model} `);
    equal((await client.models.get({ model })).name, `models/${model}`);
  },
  async 401(model) {
    await status(401, () => connect("wrong").models.generateContent({ model, contents: "Hi" }));
  },
  async 404() {
    has((await status(404, () => ask("nowhere/missing", "hello"))).message, "NOT_FOUND");
  },
  async 429(model) {
    has((await status(429, () => ask(model, "rate"))).message, "RESOURCE_EXHAUSTED", "slow down");
    await status(429, () => stream(model, prompt("rate")));
  },
  async 400(model) {
    has((await status(400, () => ask(model, "bad"))).message, "INVALID_ARGUMENT", "temperature must be at most 2");
  },
  async midstream(model) {
    const [text, error] = await failing(model, "midstream");
    has(text, "This is the beginning");
    has(error, "overloaded");
  },
  async cut(model) {
    return (await failing(model, "cut"))[1];
  },
  async disconnect(model) {
    const text = prompt("slow");
    const abort = new AbortController();
    let seen = 0;
    try {
      for await (const _ of await stream(model, text, { abortSignal: abort.signal })) if (++seen === 5) abort.abort();
    } catch {}
    return waitForDisconnect(text, Date.now());
  },
};

process.exit((await run("js-genai", "gemini", checks)) ? 1 : 0);
