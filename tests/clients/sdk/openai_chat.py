"""The OpenAI SDK for Python: chat completions, embeddings, models."""

import base64
import json
import time
from functools import partial

import openai
from pydantic import BaseModel

from check import BASE, KEY, PDF, PIXEL, RESULTS, WEATHER, check_settings, equal, follow, has, prompt, raises, run, wait_for_disconnect

client = openai.OpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0, _strict_response_validation=True)
# The SDK itself cannot validate the base64 vectors that it asks for by default.
lenient = openai.OpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0)
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "The weather", "parameters": WEATHER, "strict": True}}]


class City(BaseModel):
    city: str
    population: int


def user(text):
    return [{"role": "user", "content": text}]


def ask(model, scenario, **options):
    return client.chat.completions.create(model=model, messages=user(prompt(scenario)), **options)


def check_usage(usage):
    equal((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (100, 20, 120))
    equal(usage.prompt_tokens_details.cached_tokens, 10)


def plain(model, upstream):
    response = ask(model, "hello")
    choice = response.choices[0]
    has(choice.message.content, f"Hello from {upstream}", "checks: ok")
    equal(choice.finish_reason, "stop")
    check_usage(response.usage)


def length(model, upstream):
    equal(ask(model, "length", max_completion_tokens=5).choices[0].finish_reason, "length")


def stream(model, upstream):
    chunks = list(ask(model, "hello", stream=True, stream_options={"include_usage": True}))
    has("".join(c.choices[0].delta.content or "" for c in chunks if c.choices), f"Hello from {upstream}", "checks: ok")
    equal(chunks[-1].choices, [])
    check_usage(chunks[-1].usage)
    chunks = list(ask(model, "hello", stream=True))
    assert all(c.usage is None for c in chunks), "usage was not asked for"
    equal(chunks[-1].choices[0].finish_reason, "stop")


def stream_helper(model, upstream):
    with client.chat.completions.stream(model=model, messages=user(prompt("hello"))) as events:
        kinds = [event.type for event in events]
        final = events.get_final_completion()
    has(final.choices[0].message.content, f"Hello from {upstream}")
    assert "content.done" in kinds, kinds


def answer(message):
    """The message and the results of its calls, as a client sends them back."""
    sent = message.model_dump(exclude_none=True)
    results = []
    for call in message.tool_calls:
        city = json.loads(call.function.arguments)["city"]
        results.append({"role": "tool", "tool_call_id": call.id, "content": RESULTS[city]})
    return [sent, *results]


def round_trip(model, first, scenario="tools"):
    messages = user(prompt(scenario))
    message = first(messages)
    equal([json.loads(c.function.arguments)["city"] for c in message.tool_calls], ["Paris", "London"])
    assert len({c.id for c in message.tool_calls}) == 2, "the ids are not distinct"
    messages += answer(message)
    second = client.chat.completions.create(model=model, messages=messages, tools=TOOLS).choices[0].message
    has(second.content, "Paris=", "21", "London=", "15", "checks: ok")
    messages += [second.model_dump(exclude_none=True), *user(follow(messages[0]["content"], scenario))]
    third = client.chat.completions.create(model=model, messages=messages, tools=TOOLS).choices[0].message
    # Chat completions have no field for the state of the last text.
    assert third.content in ("again: checks: ok", "again: checks: the state of a text is absent"), third.content


def tools(model, upstream, scenario="tools"):
    def first(messages):
        choice = client.chat.completions.create(model=model, messages=messages, tools=TOOLS).choices[0]
        equal(choice.finish_reason, "tool_calls")
        return choice.message
    round_trip(model, first, scenario)


def tools_stream(model, upstream, scenario="tools"):
    def first(messages):
        with client.chat.completions.stream(model=model, messages=messages, tools=TOOLS) as events:
            return events.get_final_completion().choices[0].message
    round_trip(model, first, scenario)


def tools_bare(model, upstream):
    """A client that sends back only what the API documents: no reasoning, no fields that it does not know."""
    def first(messages):
        message = client.chat.completions.create(model=model, messages=messages, tools=TOOLS).choices[0].message
        for field in list(message.model_extra or {}):
            delattr(message, field)
        return message
    round_trip(model, first)


def loop(model, upstream):
    """Eight rounds of calls, every other one streamed: a body and a stream must leave the same history."""
    messages = user(prompt("loop"))
    for turn in range(9):
        if turn % 2:
            with client.chat.completions.stream(model=model, messages=messages, tools=TOOLS) as events:
                message = events.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(model=model, messages=messages, tools=TOOLS).choices[0].message
        if not message.tool_calls:
            break
        messages += answer(message)
    has(message.content, "8 steps; checks: ok")


def thinking(model, upstream):
    message = ask(model, "think", reasoning_effort="low").choices[0].message
    has(message.content, "I have thought")
    text = (message.model_extra or {}).get("reasoning_content") or (message.model_extra or {}).get("reasoning")
    has(text or "", "I weigh the options: “first”, then\nsecond")


def thinking_back(model, upstream):
    messages = user(prompt("think"))
    message = client.chat.completions.create(model=model, messages=messages, reasoning_effort="low").choices[0].message
    messages += [message.model_dump(exclude_none=True), *user(follow(messages[0]["content"], "again"))]
    text = client.chat.completions.create(model=model, messages=messages).choices[0].message.content
    assert text.endswith(("checks: ok", "checks: the state of a text is absent")), text
    return text


def image(model, upstream):
    url = "data:image/png;base64," + base64.b64encode(PIXEL).decode()
    content = [{"type": "text", "text": prompt("image")}, {"type": "image_url", "image_url": {"url": url}}]
    text = client.chat.completions.create(model=model, messages=[{"role": "user", "content": content}]).choices[0].message.content
    has(text, f"image/png {len(PIXEL)} bytes", "checks: ok")


def document(model, upstream):
    data = "data:application/pdf;base64," + base64.b64encode(PDF).decode()
    content = [{"type": "text", "text": prompt("image")}, {"type": "file", "file": {"filename": "a.pdf", "file_data": data}}]
    text = client.chat.completions.create(model=model, messages=[{"role": "user", "content": content}]).choices[0].message.content
    has(text, f"application/pdf {len(PDF)} bytes", "checks: ok")


def settings(model, upstream):
    response = ask(model, "settings", temperature=0.3, max_completion_tokens=321, stop="END", tools=TOOLS,
                   tool_choice={"type": "function", "function": {"name": "get_weather"}})
    check_settings(upstream, response.choices[0].message.content)


def structured(model, upstream):
    parsed = client.chat.completions.parse(model=model, messages=user(prompt("json")), response_format=City)
    equal(parsed.choices[0].message.parsed, City(city="Paris", population=2100000))


def embeddings(model, upstream):
    response = lenient.embeddings.create(model=model, input=["a", "b"])
    equal([e.embedding for e in response.data], [[0.5, -0.25, 0.125]] * 2)


def embeddings_float(model, upstream):
    response = client.embeddings.create(model=model, input="a", encoding_format="float")
    equal(response.data[0].embedding, [0.5, -0.25, 0.125])


def without_embeddings(check):
    """Anthropic has no embeddings: the gateway must say so in the caller's format."""
    def checked(model, upstream):
        if upstream != "anthropic":
            return check(model, upstream)
        error = raises(openai.APIStatusError, lambda: check(model, upstream))
        assert error.status_code in (400, 404, 501), error.status_code
        return f"refused with {error.status_code}"
    return checked


def models(model, upstream):
    ids = [m.id for m in client.models.list()]
    assert model in ids, f"{model} is not in {ids[:10]}"
    equal(client.models.retrieve(model).id, model)


def wrong_key(model, upstream):
    error = raises(openai.AuthenticationError, lambda: client.with_options(api_key="sk-wrong").chat.completions.create(model=model, messages=user(prompt("hello"))))
    assert error.body and "message" in error.body, error.body


def unknown_model(model, upstream):
    error = raises(openai.NotFoundError, lambda: ask("nowhere/missing", "hello"))
    assert error.body and "message" in error.body, error.body


def rate(model, upstream):
    for options in ({}, {"stream": True}):
        error = raises(openai.RateLimitError, lambda: ask(model, "rate", **options))
        equal(error.response.headers.get("retry-after"), "7")
        has(error.message, "slow down")


def bad(model, upstream):
    error = raises(openai.BadRequestError, lambda: ask(model, "bad"))
    has(error.message, "temperature must be at most 2")


def invalid(model, upstream):
    error = raises(openai.BadRequestError, lambda: client.post("/chat/completions", cast_to=object, body={"model": model, "messages": 7}))
    assert error.body and "message" in error.body, error.body


def midstream(model, upstream):
    seen = []
    def consume():
        for chunk in ask(model, "midstream", stream=True):
            seen.append(chunk.choices[0].delta.content or "")
            assert not chunk.choices[0].finish_reason, "a failed stream has a finish reason"
    error = raises(openai.APIError, consume)
    has("".join(seen), "This is the beginning")
    has(str(error), "overloaded")


def cut(model, upstream):
    """A truncated upstream must not look complete."""
    seen = []
    def consume():
        for chunk in ask(model, "cut", stream=True):
            seen.append(chunk)
    try:
        consume()
    except (openai.APIError, Exception) as error:
        return f"{type(error).__name__}"
    assert not any(c.choices and c.choices[0].finish_reason for c in seen), "a truncated stream has a finish reason"
    raise AssertionError("a truncated stream ended without an error")


def disconnect(model, upstream):
    text = prompt("slow")
    events = client.chat.completions.create(model=model, messages=user(text), stream=True)
    for chunk, _ in zip(events, range(5)):
        pass
    closed = time.time()
    events.close()
    return wait_for_disconnect(text, closed)


run("py-openai-chat", "chat", {
    "plain": plain, "length": length, "stream": stream, "stream-helper": stream_helper, "tools": tools, "tools-stream": tools_stream,
    **{f"{name}-{scenario}": partial(check, scenario=scenario) for scenario in ("silent", "interleaved")
       for name, check in (("tools", tools), ("stream", tools_stream))},
   
    "tools-bare": tools_bare, "loop": loop, "thinking": thinking, "thinking-back": thinking_back, "image": image, "document": document, "settings": settings, "structured": structured,
    "embeddings": without_embeddings(embeddings), "embeddings-float": without_embeddings(embeddings_float), "models": models,
    "401": wrong_key, "404": unknown_model, "429": rate, "400": bad, "400-own": invalid, "midstream": midstream, "cut": cut,
    "disconnect": disconnect,
})
