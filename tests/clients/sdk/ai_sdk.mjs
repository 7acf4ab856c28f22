// The AI SDK with its OpenAI, OpenAI-compatible, Anthropic and Google providers.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Output, embedMany, generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { BASE, DONE, KEY, PARIS, PIXEL, PIXEL_BYTES, RESULTS, THOUGHT, equal, follow, has, prompt, raises, run, waitForDisconnect } from "./check.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const City = z.object({ city: z.string(), population: z.number().int() });
const quiet = { maxRetries: 0, onError() {} };

function providers(apiKey) {
  const openai = createOpenAI({ baseURL: `${BASE}/v1`, apiKey });
  const anthropic = createAnthropic({ baseURL: `${BASE}/v1`, apiKey });
  const google = createGoogle({ baseURL: `${BASE}/v1beta`, apiKey });
  const compatible = createOpenAICompatible({ name: "gateway", baseURL: `${BASE}/v1`, apiKey, includeUsage: true, supportsStructuredOutputs: true });
  return {
    "ai-responses": { api: "responses", model: (m) => openai.responses(m), state: true,
      options: { openai: { store: false, include: ["reasoning.encrypted_content"], reasoningSummary: "auto", reasoningEffort: "low", forceReasoning: true } } },
    "ai-chat": { api: "chat", model: (m) => openai.chat(m), embed: (m) => openai.embeddingModel(m), silent: true, options: {} },
    "ai-compatible": { api: "chat", model: (m) => compatible.chatModel(m), embed: (m) => compatible.embeddingModel(m), options: {} },
    "ai-anthropic": { api: "anthropic", model: (m) => anthropic(m), state: true, options: { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } } },
    "ai-google": { api: "gemini", model: (m) => google(m), embed: (m) => google.embeddingModel(m), state: true, options: { google: { thinkingConfig: { includeThoughts: true } } } },
  };
}

function checksOf(name, sdk, wrong) {
  const user = (content) => [{ role: "user", content }];
  const call = (model, messages, more = {}) => ({ model: sdk.model(model), messages, providerOptions: sdk.options, ...quiet, ...more });
  const ask = (model, scenario, more) => generateText(call(model, user(prompt(scenario)), more));
  const weather = () => ({ get_weather: tool({ description: "The weather", inputSchema: z.object({ city: z.string(), unit: z.string() }), execute: async ({ city }) => RESULTS[city] }) });

  async function status(code, action) {
    const error = await raises(action);
    equal(error.statusCode, code);
    return error;
  }

  async function failing(model, scenario) {
    let text = "";
    let finish = "";
    try {
      for await (const part of streamText(call(model, user(prompt(scenario)))).fullStream) {
        if (part.type === "text-delta") text += part.text;
        if (part.type === "error") return [text, JSON.stringify(part.error?.message ?? part.error)];
        if (part.type === "finish") finish = part.finishReason;
      }
    } catch (error) {
      return [text, error.message];
    }
    throw new Error(`a failed stream ended without an error; its finish reason is ${finish}`);
  }

  // Chat completions have no field for the state of the last text.
  const again = (text) => has(sdk.state ? text : text.replace("the state of a text is absent", "ok"), "again: checks: ok");

  async function tools(model, scenario) {
    const text = prompt(scenario);
    const result = await generateText(call(model, user(text), { tools: weather(), stopWhen: isStepCount(3) }));
    has(result.text, ...DONE);
    const messages = [...user(text), ...(result.responseMessages ?? result.response.messages), ...user(follow(text, scenario))];
    again((await generateText(call(model, messages, { tools: weather() }))).text);
  }

  async function toolsStream(model, scenario) {
    const text = prompt(scenario);
    const result = streamText(call(model, user(text), { tools: weather(), stopWhen: isStepCount(3) }));
    has(await result.text, ...DONE);
    const messages = [...user(text), ...((await result.responseMessages) ?? (await result.response).messages), ...user(follow(text, scenario))];
    again(await streamText(call(model, messages, { tools: weather() })).text);
  }

  const checks = {
    tools: (model) => tools(model, "tools"),
    "tools-silent": (model) => tools(model, "silent"),
    "tools-interleaved": (model) => tools(model, "interleaved"),
    "tools-stream": (model) => toolsStream(model, "tools"),
    "stream-silent": (model) => toolsStream(model, "silent"),
    "stream-interleaved": (model) => toolsStream(model, "interleaved"),
    async plain(model, upstream) {
      const result = await ask(model, "hello");
      has(result.text, `Hello from ${upstream}`, "checks: ok");
      equal([result.finishReason, result.usage.inputTokens, result.usage.outputTokens], ["stop", 100, 20]);
    },
    async stream(model, upstream) {
      const result = streamText(call(model, user(prompt("hello"))));
      has(await result.text, `Hello from ${upstream}`, "checks: ok");
      const usage = await result.usage;
      equal([await result.finishReason, usage.inputTokens, usage.outputTokens], ["stop", 100, 20]);
    },
    async thinking(model, upstream) {
      const text = prompt("think");
      const first = await generateText(call(model, user(text)));
      if (!sdk.silent) has(first.reasoningText, THOUGHT);
      const messages = [...user(text), ...(first.responseMessages ?? first.response.messages), ...user(follow(text, "again"))];
      const reply = (await generateText(call(model, messages))).text;
      if (sdk.state) has(reply, "checks: ok", upstream === "chat" ? "" : "state: present");
      return reply;
    },
    async image(model) {
      const content = [{ type: "text", text: prompt("image") }, { type: "file", data: PIXEL, mediaType: "image/png" }];
      has((await generateText(call(model, user(content)))).text, `image/png ${PIXEL_BYTES} bytes`);
    },
    async structured(model) {
      equal((await ask(model, "json", { output: Output.object({ schema: City }) })).output, PARIS);
    },
    async 401(model) {
      await status(401, () => generateText({ model: wrong.model(model), prompt: "Hi", ...quiet }));
    },
    async 404() {
      await status(404, () => ask("nowhere/missing", "hello"));
    },
    async 429(model) {
      const error = await status(429, () => ask(model, "rate"));
      equal(error.responseHeaders["retry-after"], "7");
      has(error.message, "slow down");
    },
    async 400(model) {
      has((await status(400, () => ask(model, "bad"))).message, "temperature must be at most 2");
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
      let at = 0;
      for await (const part of streamText(call(model, user(text), { abortSignal: abort.signal })).fullStream) {
        if (part.type === "text-delta" && ++seen === 5) {
          at = Date.now();
          abort.abort();
        }
      }
      return waitForDisconnect(text, at);
    },
  };
  if (sdk.embed) {
    checks.embeddings = async (model, upstream) => {
      const action = () => embedMany({ model: sdk.embed(model), values: ["a", "b"], maxRetries: 0 });
      if (upstream === "anthropic") return `refused with ${(await raises(action)).statusCode}`;
      equal((await action()).embeddings, [[0.5, -0.25, 0.125], [0.5, -0.25, 0.125]]);
    };
  }
  return checks;
}

const wrong = providers("sk-wrong");
let failed = false;
for (const [name, sdk] of Object.entries(providers(KEY))) {
  failed = (await run(name, sdk.api, checksOf(name, sdk, wrong[name]))) || failed;
}
process.exit(failed ? 1 : 0);
