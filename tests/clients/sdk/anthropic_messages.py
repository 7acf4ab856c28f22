"""The Anthropic SDK for Python."""

import base64
import time
from functools import partial

import anthropic
from pydantic import BaseModel

from check import BASE, KEY, PDF, PIXEL, RESULTS, WEATHER, check_settings, equal, follow, has, prompt, raises, run, wait_for_disconnect

client = anthropic.Anthropic(base_url=BASE, api_key=KEY, max_retries=0, _strict_response_validation=True)
TOOLS = [{"name": "get_weather", "description": "The weather", "input_schema": WEATHER}]
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


class City(BaseModel):
    city: str
    population: int


def user(text):
    return [{"role": "user", "content": text}]


def create(model, messages, **options):
    return client.messages.create(model=model, max_tokens=4096, messages=messages, **options)


def ask(model, scenario, **options):
    return create(model, user(prompt(scenario)), **options)


def text_of(message):
    return "".join(b.text for b in message.content if b.type == "text")


def check_usage(usage):
    equal((usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens), (90, 10, 20))


def plain(model, upstream):
    message = ask(model, "hello", system="Be brief.")
    has(text_of(message), f"Hello from {upstream}", "checks: ok")
    equal((message.stop_reason, message.role, message.type), ("end_turn", "assistant", "message"))
    check_usage(message.usage)


def length(model, upstream):
    equal(ask(model, "length").stop_reason, "max_tokens")


def stream(model, upstream):
    events = list(ask(model, "hello", stream=True))
    has("".join(e.delta.text for e in events if e.type == "content_block_delta"), f"Hello from {upstream}", "checks: ok")
    equal((events[0].type, events[-1].type), ("message_start", "message_stop"))
    last = next(e for e in events if e.type == "message_delta")
    equal((last.delta.stop_reason, last.usage.output_tokens), ("end_turn", 20))


def stream_helper(model, upstream):
    with client.messages.stream(model=model, max_tokens=4096, messages=user(prompt("hello"))) as events:
        text = "".join(events.text_stream)
        final = events.get_final_message()
    has(text, f"Hello from {upstream}")
    check_usage(final.usage)


def results(message):
    return {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": b.id, "content": RESULTS[b.input["city"]]} for b in message.content if b.type == "tool_use"]}


def sent(message):
    return {"role": "assistant", "content": [b.model_dump(exclude_none=True, exclude={"parsed_output"}) for b in message.content]}


def round_trip(model, first, scenario="tools"):
    messages = user(prompt(scenario))
    message = first(messages)
    calls = [b for b in message.content if b.type == "tool_use"]
    equal([c.input["city"] for c in calls], ["Paris", "London"])
    assert len({c.id for c in calls}) == 2, "the ids are not distinct"
    equal(message.stop_reason, "tool_use")
    messages += [sent(message), results(message)]
    second = create(model, messages, tools=TOOLS, **THINKING)
    has(text_of(second), "Paris=", "21", "London=", "15", "checks: ok")
    messages += [sent(second), *user(follow(messages[0]["content"], scenario))]
    has(text_of(create(model, messages, tools=TOOLS, **THINKING)), "again: checks: ok")


def tools(model, upstream, scenario="tools"):
    round_trip(model, lambda messages: create(model, messages, tools=TOOLS, **THINKING), scenario)


def tools_stream(model, upstream, scenario="tools"):
    def first(messages):
        with client.messages.stream(model=model, max_tokens=4096, messages=messages, tools=TOOLS, **THINKING) as events:
            return events.get_final_message()
    round_trip(model, first, scenario)


def tools_runner(model, upstream):
    @anthropic.beta_tool
    def get_weather(city: str, unit: str) -> str:
        """The weather"""
        return RESULTS[city]
    lenient = anthropic.Anthropic(base_url=BASE, api_key=KEY, max_retries=0)
    runner = lenient.beta.messages.tool_runner(model=model, max_tokens=4096, messages=user(prompt("tools")), tools=[get_weather], **THINKING)
    has(text_of(runner.until_done()), "Paris=", "21", "London=", "15", "checks: ok")


def loop(model, upstream):
    """Eight rounds of calls, every other one streamed: a body and a stream must leave the same history."""
    messages = user(prompt("loop"))
    for turn in range(9):
        if turn % 2:
            with client.messages.stream(model=model, max_tokens=4096, messages=messages, tools=TOOLS, **THINKING) as events:
                message = events.get_final_message()
        else:
            message = create(model, messages, tools=TOOLS, **THINKING)
        messages += [sent(message), results(message)]
    has(text_of(message), "8 steps; checks: ok")


def thinking(model, upstream):
    message = ask(model, "think", **THINKING)
    block = message.content[0]
    equal(block.type, "thinking")
    has(block.thinking, "I weigh the options: “first”, then\nsecond")
    with client.messages.stream(model=model, max_tokens=4096, messages=user(prompt("think")), **THINKING) as events:
        text = "".join(e.thinking for e in events if e.type == "thinking")
        equal(events.get_final_message().content[0].thinking, text)
    has(text, "I weigh the options: “first”, then\nsecond")


def thinking_back(model, upstream):
    messages = user(prompt("think"))
    message = create(model, messages, **THINKING)
    messages += [sent(message), *user(follow(messages[0]["content"], "again"))]
    text = text_of(create(model, messages, **THINKING))
    has(text, "checks: ok")
    if upstream != "chat":
        has(text, "state: present")
    return text


def image(model, upstream):
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PIXEL).decode()}
    content = [{"type": "text", "text": prompt("image")}, {"type": "image", "source": source}]
    has(text_of(create(model, user(content))), f"image/png {len(PIXEL)} bytes", "checks: ok")


def document(model, upstream):
    source = {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(PDF).decode()}
    content = [{"type": "text", "text": prompt("image")}, {"type": "document", "source": source, "title": "a.pdf"}]
    has(text_of(create(model, user(content))), f"application/pdf {len(PDF)} bytes", "checks: ok")


def tools_image(model, upstream):
    """The result of a tool that contains an image."""
    messages = user(prompt("tools"))
    message = create(model, messages, tools=TOOLS, **THINKING)
    messages += [sent(message), results(message)]
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PIXEL).decode()}
    messages[-1]["content"][1]["content"] = [{"type": "text", "text": "15"}, {"type": "image", "source": source}]
    text = text_of(create(model, messages, tools=TOOLS, **THINKING))
    has(text, "Paris=", "21", "London=", "15", f"image/png {len(PIXEL)} bytes", "checks: ok")


def settings(model, upstream):
    message = client.messages.create(model=model, max_tokens=321, messages=user(prompt("settings")), stop_sequences=["END"], tools=TOOLS,
                                     extra_body={"temperature": 0.3}, tool_choice={"type": "tool", "name": "get_weather"})
    check_settings(upstream, text_of(message))


def structured(model, upstream):
    parsed = client.messages.parse(model=model, max_tokens=4096, messages=user(prompt("json")), output_format=City)
    equal(parsed.parsed_output, City(city="Paris", population=2100000))


def count(model, upstream):
    tokens = client.messages.count_tokens(model=model, messages=user(prompt("hello"))).input_tokens
    assert tokens > 0, tokens
    if upstream in ("anthropic", "gemini"):  # others are estimated
        equal(tokens, 42)
    return tokens


def models(model, upstream):
    ids = [m.id for m in client.models.list(limit=1000)]
    assert model in ids, f"{model} is not in {ids[:10]}"
    equal(client.models.retrieve(model).id, model)


def wrong_key(model, upstream):
    error = raises(anthropic.AuthenticationError, lambda: client.with_options(api_key="sk-wrong").messages.create(model=model, max_tokens=10, messages=user("Hi")))
    equal(error.body["error"]["type"], "authentication_error")


def unknown_model(model, upstream):
    error = raises(anthropic.NotFoundError, lambda: ask("nowhere/missing", "hello"))
    equal(error.body["error"]["type"], "not_found_error")


def rate(model, upstream):
    for options in ({}, {"stream": True}):
        error = raises(anthropic.RateLimitError, lambda: ask(model, "rate", **options))
        equal((error.response.headers.get("retry-after"), error.body["error"]["type"]), ("7", "rate_limit_error"))
        has(error.message, "slow down")


def bad(model, upstream):
    error = raises(anthropic.BadRequestError, lambda: ask(model, "bad"))
    equal(error.body["error"]["type"], "invalid_request_error")
    has(error.message, "temperature must be at most 2")


def invalid(model, upstream):
    error = raises(anthropic.BadRequestError, lambda: client.post("/v1/messages", cast_to=object, body={"model": model, "max_tokens": 5, "messages": 7}))
    equal(error.body["error"]["type"], "invalid_request_error")


def midstream(model, upstream):
    seen = []
    def consume():
        for event in ask(model, "midstream", stream=True):
            seen.append(event.delta.text if event.type == "content_block_delta" else "")
            assert event.type not in ("message_stop", "message_delta"), "a failed stream was completed"
    error = raises(anthropic.APIStatusError, consume)
    has("".join(seen), "This is the beginning")
    has(str(error), "overloaded")


def cut(model, upstream):
    kinds = []
    try:
        for event in ask(model, "cut", stream=True):
            kinds.append(event.type)
    except Exception as error:
        return type(error).__name__
    raise AssertionError(f"a truncated stream ended without an error: {kinds[-3:]}")


def disconnect(model, upstream):
    text = prompt("slow")
    events = create(model, user(text), stream=True)
    for event, _ in zip(events, range(9)):
        pass
    closed = time.time()
    events.close()
    return wait_for_disconnect(text, closed)


run("py-anthropic", "anthropic", {
    "plain": plain, "length": length, "stream": stream, "stream-helper": stream_helper, "tools": tools, "tools-stream": tools_stream,
    **{f"{name}-{scenario}": partial(check, scenario=scenario) for scenario in ("silent", "interleaved")
       for name, check in (("tools", tools), ("stream", tools_stream))},
   
    "tools-runner": tools_runner, "loop": loop, "thinking": thinking, "thinking-back": thinking_back, "image": image, "document": document, "tools-image": tools_image, "settings": settings, "structured": structured,
    "count": count, "models": models, "401": wrong_key, "404": unknown_model, "429": rate, "400": bad, "400-own": invalid,
    "midstream": midstream, "cut": cut, "disconnect": disconnect,
})
