"""The OpenAI SDK for Python: Responses."""

import base64
import json
import time
from functools import partial

import openai
from openai.lib.responses_tool_runner import RegisteredFunction, ResponsesToolRunner
from pydantic import BaseModel

from check import BASE, KEY, PDF, PIXEL, RESULTS, WEATHER, Skip, check_settings, equal, follow, has, prompt, raises, run, wait_for_disconnect

client = openai.OpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0, _strict_response_validation=True)
TOOLS = [{"type": "function", "name": "get_weather", "description": "The weather", "parameters": WEATHER, "strict": True}]
STATELESS = {"store": False, "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low", "summary": "auto"}}


class City(BaseModel):
    city: str
    population: int


def ask(model, scenario, **options):
    return client.responses.create(model=model, input=prompt(scenario), **options)


def user(text):
    return [{"role": "user", "content": text}]


def check_usage(usage):
    equal((usage.input_tokens, usage.output_tokens, usage.total_tokens), (100, 20, 120))
    equal(usage.input_tokens_details.cached_tokens, 10)


def plain(model, upstream):
    response = ask(model, "hello")
    has(response.output_text, f"Hello from {upstream}", "checks: ok")
    equal(response.status, "completed")
    check_usage(response.usage)


def length(model, upstream):
    response = ask(model, "length", max_output_tokens=20)
    equal((response.status, response.incomplete_details.reason), ("incomplete", "max_output_tokens"))


def stream(model, upstream):
    events = list(ask(model, "hello", stream=True))
    has("".join(e.delta for e in events if e.type == "response.output_text.delta"), f"Hello from {upstream}")
    equal(events[-1].type, "response.completed")
    has(events[-1].response.output_text, f"Hello from {upstream}", "checks: ok")
    check_usage(events[-1].response.usage)
    equal([e.sequence_number for e in events], list(range(len(events))))


def stream_helper(model, upstream):
    with client.responses.stream(model=model, input=prompt("hello")) as events:
        for _ in events:
            pass
        final = events.get_final_response()
    has(final.output_text, f"Hello from {upstream}")


def answer(output):
    """The items of a response and the results of its calls, as a client sends them back."""
    items = [item.model_dump(exclude_none=True, exclude={"parsed_arguments", "parsed"}) for item in output]
    for item in output:
        if item.type == "function_call":
            city = json.loads(item.arguments)["city"]
            items.append({"type": "function_call_output", "call_id": item.call_id, "output": RESULTS[city]})
    return items


def round_trip(model, first, scenario="tools"):
    items = user(prompt(scenario))
    output = first(items)
    calls = [i for i in output if i.type == "function_call"]
    equal([json.loads(c.arguments)["city"] for c in calls], ["Paris", "London"])
    assert len({c.call_id for c in calls}) == 2, "the ids are not distinct"
    items += answer(output)
    second = client.responses.create(model=model, input=items, tools=TOOLS, **STATELESS)
    has(second.output_text, "Paris=", "21", "London=", "15", "checks: ok")
    items += answer(second.output) + user(follow(items[0]["content"], scenario))
    third = client.responses.create(model=model, input=items, tools=TOOLS, **STATELESS)
    has(third.output_text, "again: checks: ok")


def tools(model, upstream, scenario="tools"):
    round_trip(model, lambda items: client.responses.create(model=model, input=items, tools=TOOLS, **STATELESS).output, scenario)


def tools_stream(model, upstream, scenario="tools"):
    def first(items):
        with client.responses.stream(model=model, input=items, tools=TOOLS, **STATELESS) as events:
            for _ in events:
                pass
            return events.get_final_response().output
    round_trip(model, first, scenario)


def tools_bare(model, upstream):
    """A client that drops reasoning items. Thinking of Responses and Anthropic is lost with them; the state of calls must not be."""
    if upstream in ("responses", "anthropic"):
        raise Skip("the thinking of this upstream is in the reasoning item, which clients must send back")
    def first(items):
        output = client.responses.create(model=model, input=items, tools=TOOLS, **STATELESS).output
        return [i for i in output if i.type != "reasoning"]
    items = user(prompt("tools"))
    items += answer(first(items))
    second = client.responses.create(model=model, input=items, tools=TOOLS, **STATELESS)
    has(second.output_text, "Paris=", "21", "London=", "15", "checks: ok")


def tools_runner(model, upstream):
    weather = RegisteredFunction(TOOLS[0], lambda arguments: RESULTS[arguments["city"]])
    for stream in (False, True):
        parameters = {"model": model, "input": user(prompt("tools")), **STATELESS}
        response = ResponsesToolRunner(functions=[weather]).run(client, parameters, max_steps=3, stream=stream)
        has(response.output_text, "Paris=", "21", "London=", "15", "checks: ok")


def loop(model, upstream):
    """Eight rounds of calls, every other one streamed: a body and a stream must leave the same history."""
    items = user(prompt("loop"))
    for turn in range(9):
        if turn % 2:
            with client.responses.stream(model=model, input=items, tools=TOOLS, **STATELESS) as events:
                for _ in events:
                    pass
                response = events.get_final_response()
        else:
            response = client.responses.create(model=model, input=items, tools=TOOLS, **STATELESS)
        items += answer(response.output)
    has(response.output_text, "8 steps; checks: ok")


def thinking(model, upstream):
    response = ask(model, "think", **STATELESS)
    item = next(i for i in response.output if i.type == "reasoning")
    has(item.summary[0].text, "I weigh the options: “first”, then\nsecond")
    events = list(ask(model, "think", stream=True, **STATELESS))
    has("".join(e.delta for e in events if e.type == "response.reasoning_summary_text.delta"), "I weigh the options: “first”, then\nsecond")


def thinking_back(model, upstream):
    items = user(prompt("think"))
    output = client.responses.create(model=model, input=items, **STATELESS).output
    items += answer(output) + user(follow(items[0]["content"], "again"))
    text = client.responses.create(model=model, input=items, **STATELESS).output_text
    has(text, "checks: ok")
    if upstream != "chat":
        has(text, "state: present")
    return text


def image(model, upstream):
    url = "data:image/png;base64," + base64.b64encode(PIXEL).decode()
    content = [{"type": "input_text", "text": prompt("image")}, {"type": "input_image", "image_url": url, "detail": "auto"}]
    text = client.responses.create(model=model, input=user(content)).output_text
    has(text, f"image/png {len(PIXEL)} bytes", "checks: ok")


def document(model, upstream):
    data = "data:application/pdf;base64," + base64.b64encode(PDF).decode()
    content = [{"type": "input_text", "text": prompt("image")}, {"type": "input_file", "filename": "a.pdf", "file_data": data}]
    has(client.responses.create(model=model, input=user(content)).output_text, f"application/pdf {len(PDF)} bytes", "checks: ok")


def tools_image(model, upstream):
    """The result of a tool that contains an image."""
    items = user(prompt("tools"))
    output = client.responses.create(model=model, input=items, tools=TOOLS, **STATELESS).output
    items += answer(output)
    url = "data:image/png;base64," + base64.b64encode(PIXEL).decode()
    items[-1]["output"] = [{"type": "input_text", "text": "15"}, {"type": "input_image", "image_url": url, "detail": "auto"}]
    text = client.responses.create(model=model, input=items, tools=TOOLS, **STATELESS).output_text
    has(text, "Paris=", "21", "London=", "15", f"image/png {len(PIXEL)} bytes", "checks: ok")


def settings(model, upstream):
    choice = {"type": "function", "name": "get_weather"}
    response = ask(model, "settings", temperature=0.3, max_output_tokens=321, tools=TOOLS, tool_choice=choice)
    check_settings(upstream, response.output_text, stop=None)  # Responses has no stop sequences


def structured(model, upstream):
    parsed = client.responses.parse(model=model, input=prompt("json"), text_format=City)
    equal(parsed.output_parsed, City(city="Paris", population=2100000))


def count(model, upstream):
    tokens = client.responses.input_tokens.count(model=model, input=prompt("hello")).input_tokens
    assert tokens > 0, tokens
    if upstream in ("responses", "anthropic", "gemini"):
        equal(tokens, 42)
    return tokens


def wrong_key(model, upstream):
    raises(openai.AuthenticationError, lambda: client.with_options(api_key="sk-wrong").responses.create(model=model, input="Hi"))


def unknown_model(model, upstream):
    error = raises(openai.NotFoundError, lambda: ask("nowhere/missing", "hello"))
    assert error.body and "message" in error.body, error.body


def rate(model, upstream):
    for options in ({}, {"stream": True}):
        error = raises(openai.RateLimitError, lambda: ask(model, "rate", **options))
        equal(error.response.headers.get("retry-after"), "7")
        has(error.message, "slow down")


def bad(model, upstream):
    has(raises(openai.BadRequestError, lambda: ask(model, "bad")).message, "temperature must be at most 2")


def invalid(model, upstream):
    error = raises(openai.BadRequestError, lambda: client.post("/responses", cast_to=object, body={"model": model, "input": 7}))
    assert error.body and "message" in error.body, error.body


def midstream(model, upstream):
    seen, failed = [], []
    try:
        for event in ask(model, "midstream", stream=True):
            if event.type == "response.output_text.delta":
                seen.append(event.delta)
            elif event.type in ("response.failed", "error"):
                failed.append(event)
            assert event.type != "response.completed", "a failed stream was completed"
    except openai.APIError as error:
        failed.append(error)
    has("".join(seen), "This is the beginning")
    assert failed, "no error was reported"
    has(str(failed[0]), "overloaded")
    return type(failed[0]).__name__


def cut(model, upstream):
    kinds = []
    try:
        for event in ask(model, "cut", stream=True):
            kinds.append(event.type)
    except Exception as error:
        return type(error).__name__
    assert "response.completed" not in kinds, "a truncated stream was completed"
    assert "response.failed" in kinds or "error" in kinds, f"a truncated stream ended without an error: {kinds[-3:]}"
    return kinds[-1]


def disconnect(model, upstream):
    text = prompt("slow")
    events = client.responses.create(model=model, input=text, stream=True)
    for event, _ in zip(events, range(9)):
        pass
    closed = time.time()
    events.close()
    return wait_for_disconnect(text, closed)


run("py-openai-responses", "responses", {
    "plain": plain, "length": length, "stream": stream, "stream-helper": stream_helper, "tools": tools, "tools-stream": tools_stream,
    **{f"{name}-{scenario}": partial(check, scenario=scenario) for scenario in ("silent", "interleaved")
       for name, check in (("tools", tools), ("stream", tools_stream))},
   
    "tools-bare": tools_bare, "tools-runner": tools_runner, "loop": loop, "thinking": thinking, "thinking-back": thinking_back, "image": image, "document": document, "tools-image": tools_image, "settings": settings, "structured": structured,
    "count": count, "401": wrong_key, "404": unknown_model, "429": rate, "400": bad, "400-own": invalid, "midstream": midstream,
    "cut": cut, "disconnect": disconnect,
})
