// The OpenAI SDK for JavaScript: chat completions, Responses, embeddings, models.

import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { BASE, DONE, KEY, PARIS, PIXEL, PIXEL_BYTES, RESULTS, THOUGHT, WEATHER, equal, follow, has, prompt, raises, run, waitForDisconnect } from "./check.mjs";

const client = new OpenAI({ baseURL: `${BASE}/v1`, apiKey: KEY, maxRetries: 0 });
const wrong = new OpenAI({ baseURL: `${BASE}/v1`, apiKey: "sk-wrong", maxRetries: 0 });
const City = z.object({ city: z.string(), population: z.number().int() });
const user = (content) => [{ role: "user", content }];
const url = `data:image/png;base64,${PIXEL}`;

async function collect(events) {
  const all = [];
  for await (const event of events) all.push(event);
  return all;
}

async function status(code, call) {
  const error = await raises(call, OpenAI.APIError);
  equal(error.status, code);
  return error;
}

// What a failed or truncated stream looks like: an error is raised, or the error event of the API arrives.
async function failing(events, isEnd, textOf) {
  let text = "";
  try {
    for await (const event of events) {
      text += textOf(event) ?? "";
      if (isEnd(event)) throw new TypeError("a failed stream was completed");
      if (event.type === "response.failed" || event.type === "error") return [text, JSON.stringify(event)];
    }
  } catch (error) {
    if (error instanceof TypeError && error.message.includes("completed")) throw error;
    return [text, String(error)];
  }
  throw new Error("a failed stream ended without an error");
}

const chatTools = [{ type: "function", function: { name: "get_weather", description: "The weather", parameters: WEATHER, strict: true } }];
const chat = (model, scenario, options = {}) => client.chat.completions.create({ model, messages: user(prompt(scenario)), ...options });
const chatEnd = (chunk) => Boolean(chunk.choices?.[0]?.finish_reason);
const chatText = (chunk) => chunk.choices?.[0]?.delta?.content;

async function chatRoundTrip(model, first) {
  const messages = user(prompt("tools"));
  const message = await first(messages);
  equal(message.tool_calls.map((call) => JSON.parse(call.function.arguments).city), ["Paris", "London"]);
  messages.push(message);
  for (const call of message.tool_calls) {
    messages.push({ role: "tool", tool_call_id: call.id, content: RESULTS[JSON.parse(call.function.arguments).city] });
  }
  const second = (await client.chat.completions.create({ model, messages, tools: chatTools })).choices[0].message;
  has(second.content, ...DONE);
  messages.push(second, ...user(follow(messages[0].content, "tools")));
  // Chat completions have no field for the state of the last text.
  const third = (await client.chat.completions.create({ model, messages, tools: chatTools })).choices[0].message.content;
  has(third.replace("the state of a text is absent", "ok"), "again: checks: ok");
}

const chatChecks = {
  async plain(model, upstream) {
    const response = await chat(model, "hello");
    has(response.choices[0].message.content, `Hello from ${upstream}`, "checks: ok");
    equal([response.choices[0].finish_reason, response.usage.prompt_tokens, response.usage.completion_tokens], ["stop", 100, 20]);
  },
  async stream(model, upstream) {
    const chunks = await collect(await chat(model, "hello", { stream: true, stream_options: { include_usage: true } }));
    has(chunks.map(chatText).join(""), `Hello from ${upstream}`, "checks: ok");
    equal([chunks.at(-1).usage.total_tokens, chunks.at(-1).choices], [120, []]);
  },
  async "stream-helper"(model, upstream) {
    const stream = client.chat.completions.stream({ model, messages: user(prompt("hello")), stream_options: { include_usage: true } });
    has(await stream.finalContent(), `Hello from ${upstream}`);
    equal((await stream.totalUsage()).total_tokens, 120);
  },
  async tools(model) {
    await chatRoundTrip(model, async (messages) => (await client.chat.completions.create({ model, messages, tools: chatTools })).choices[0].message);
  },
  async "tools-stream"(model, upstream) {
    await chatRoundTrip(model, async (messages) => {
      const message = await client.chat.completions.stream({ model, messages, tools: chatTools }).finalMessage();
      // The helper keeps only the last delta of a field that it does not know. A gateway must not use that as the thinking.
      if (upstream === "chat") delete message.reasoning_content;
      return message;
    });
  },
  async "tools-runner"(model) {
    const weather = { type: "function", function: { ...chatTools[0].function, parse: JSON.parse, function: ({ city }) => RESULTS[city] } };
    for (const stream of [false, true]) {
      const runner = client.chat.completions.runTools({ model, messages: user(prompt("tools")), tools: [weather], stream });
      has(await runner.finalContent(), ...DONE);
    }
  },
  async thinking(model) {
    const chunks = await collect(await chat(model, "think", { stream: true, reasoning_effort: "low" }));
    has(chunks.map((c) => c.choices[0]?.delta.reasoning_content ?? c.choices[0]?.delta.reasoning ?? "").join(""), THOUGHT);
  },
  async image(model) {
    const content = [{ type: "text", text: prompt("image") }, { type: "image_url", image_url: { url } }];
    has((await client.chat.completions.create({ model, messages: user(content) })).choices[0].message.content, `image/png ${PIXEL_BYTES} bytes`);
  },
  async structured(model) {
    const response = await client.chat.completions.parse({ model, messages: user(prompt("json")), response_format: zodResponseFormat(City, "city") });
    equal(response.choices[0].message.parsed, PARIS);
  },
  async embeddings(model, upstream) {
    const call = () => client.embeddings.create({ model, input: ["a", "b"] });
    if (upstream === "anthropic") return `refused with ${(await raises(call, OpenAI.APIError)).status}`;
    equal((await call()).data.map((row) => row.embedding), [[0.5, -0.25, 0.125], [0.5, -0.25, 0.125]]);
  },
  async models(model) {
    const ids = (await collect(client.models.list())).map((row) => row.id);
    has(` ${ids.join(" ")} `, ` ${model} `);
    equal((await client.models.retrieve(model)).id, model);
  },
  async 401(model) {
    await status(401, () => wrong.chat.completions.create({ model, messages: user("Hi") }));
  },
  async 404() {
    has((await status(404, () => chat("nowhere/missing", "hello"))).error.message, "");
  },
  async 429(model) {
    const error = await status(429, () => chat(model, "rate"));
    equal(error.headers.get("retry-after"), "7");
    await status(429, () => chat(model, "rate", { stream: true }));
  },
  async 400(model) {
    has((await status(400, () => chat(model, "bad"))).message, "temperature must be at most 2");
  },
  async midstream(model) {
    const [text, error] = await failing(await chat(model, "midstream", { stream: true }), chatEnd, chatText);
    has(text, "This is the beginning");
    has(error, "overloaded");
  },
  async cut(model) {
    return (await failing(await chat(model, "cut", { stream: true }), chatEnd, chatText))[1];
  },
  async disconnect(model) {
    const text = prompt("slow");
    const stream = await client.chat.completions.create({ model, messages: user(text), stream: true });
    let seen = 0;
    for await (const _ of stream) if (++seen === 5) break;
    return waitForDisconnect(text, Date.now());
  },
};

const tools = [{ type: "function", name: "get_weather", description: "The weather", parameters: WEATHER, strict: true }];
const stateless = { store: false, include: ["reasoning.encrypted_content"], reasoning: { effort: "low", summary: "auto" } };
const ask = (model, scenario, options = {}) => client.responses.create({ model, input: prompt(scenario), ...options });
const responseEnd = (event) => event.type === "response.completed";
const responseText = (event) => (event.type === "response.output_text.delta" ? event.delta : "");

function outputs(output) {
  const calls = output.filter((item) => item.type === "function_call");
  return calls.map((c) => ({ type: "function_call_output", call_id: c.call_id, output: RESULTS[JSON.parse(c.arguments).city] }));
}

async function roundTrip(model, first) {
  const input = user(prompt("tools"));
  const output = (await first(input)).map(({ parsed_arguments, ...item }) => item);
  equal(outputs(output).map((o) => o.output), ["21", "15"]);
  input.push(...output, ...outputs(output));
  const second = await client.responses.create({ model, input, tools, ...stateless });
  has(second.output_text, ...DONE);
  input.push(...second.output, ...user(follow(input[0].content, "tools")));
  has((await client.responses.create({ model, input, tools, ...stateless })).output_text, "again: checks: ok");
}

const responsesChecks = {
  async plain(model, upstream) {
    const response = await ask(model, "hello");
    has(response.output_text, `Hello from ${upstream}`, "checks: ok");
    equal([response.status, response.usage.input_tokens, response.usage.output_tokens], ["completed", 100, 20]);
  },
  async stream(model, upstream) {
    const events = await collect(await ask(model, "hello", { stream: true }));
    has(events.map(responseText).join(""), `Hello from ${upstream}`);
    equal([events.at(-1).type, events.at(-1).response.usage.total_tokens], ["response.completed", 120]);
  },
  async "stream-helper"(model, upstream) {
    has((await client.responses.stream({ model, input: prompt("hello") }).finalResponse()).output_text, `Hello from ${upstream}`);
  },
  async tools(model) {
    await roundTrip(model, async (input) => (await client.responses.create({ model, input, tools, ...stateless })).output);
  },
  async "tools-stream"(model) {
    await roundTrip(model, async (input) => (await client.responses.stream({ model, input, tools, ...stateless }).finalResponse()).output);
  },
  async "thinking-back"(model, upstream) {
    const input = user(prompt("think"));
    const { output } = await client.responses.create({ model, input, ...stateless });
    has(output[0].summary[0].text, THOUGHT);
    input.push(...output, ...user(follow(input[0].content, "again")));
    const text = (await client.responses.create({ model, input, ...stateless })).output_text;
    has(text, "checks: ok", upstream === "chat" ? "" : "state: present");
    return text;
  },
  async image(model) {
    const content = [{ type: "input_text", text: prompt("image") }, { type: "input_image", image_url: url, detail: "auto" }];
    has((await client.responses.create({ model, input: user(content) })).output_text, `image/png ${PIXEL_BYTES} bytes`);
  },
  async structured(model) {
    equal((await client.responses.parse({ model, input: prompt("json"), text: { format: zodTextFormat(City, "city") } })).output_parsed, PARIS);
  },
  async count(model) {
    const { input_tokens } = await client.responses.inputTokens.count({ model, input: prompt("hello") });
    if (!(input_tokens > 0)) throw new Error(`${input_tokens} tokens`);
    return input_tokens;
  },
  async 401(model) {
    await status(401, () => wrong.responses.create({ model, input: "Hi" }));
  },
  async 404() {
    await status(404, () => ask("nowhere/missing", "hello"));
  },
  async 429(model) {
    equal((await status(429, () => ask(model, "rate"))).headers.get("retry-after"), "7");
    await status(429, () => ask(model, "rate", { stream: true }));
  },
  async 400(model) {
    has((await status(400, () => ask(model, "bad"))).message, "temperature must be at most 2");
  },
  async midstream(model) {
    const [text, error] = await failing(await ask(model, "midstream", { stream: true }), responseEnd, responseText);
    has(text, "This is the beginning");
    has(error, "overloaded");
  },
  async cut(model) {
    return (await failing(await ask(model, "cut", { stream: true }), responseEnd, responseText))[1];
  },
  async disconnect(model) {
    const text = prompt("slow");
    let seen = 0;
    for await (const _ of await client.responses.create({ model, input: text, stream: true })) if (++seen === 9) break;
    return waitForDisconnect(text, Date.now());
  },
};

const failed = [await run("js-openai-chat", "chat", chatChecks), await run("js-openai-responses", "responses", responsesChecks)];
process.exit(failed.includes(true) ? 1 : 0);
