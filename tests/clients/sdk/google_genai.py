"""The Google Gen AI SDK for Python."""

import time
from functools import partial

from google import genai
from google.genai import errors, types
from pydantic import BaseModel

from check import BASE, CITY, KEY, PDF, PIXEL, RESULTS, WEATHER, check_settings, equal, follow, has, prompt, raises, run, wait_for_disconnect


def make_client(key=KEY):
    options = types.HttpOptions(base_url=BASE, retry_options=types.HttpRetryOptions(attempts=1))
    return genai.Client(api_key=key, http_options=options)


client = make_client()
TOOLS = [types.Tool(function_declarations=[
    types.FunctionDeclaration(name="get_weather", description="The weather", parameters_json_schema=WEATHER)])]
THINKING = types.ThinkingConfig(include_thoughts=True)


class City(BaseModel):
    city: str
    population: int


def ask(model, scenario, **config):
    return client.models.generate_content(model=model, contents=prompt(scenario), config=config or None)


def check_usage(usage):
    equal((usage.prompt_token_count, usage.total_token_count, usage.cached_content_token_count), (100, 120, 10))
    equal((usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0), 20)


def plain(model, upstream):
    response = ask(model, "hello", system_instruction="Be brief.")
    has(response.text, f"Hello from {upstream}", "checks: ok")
    equal(response.candidates[0].finish_reason, types.FinishReason.STOP)
    check_usage(response.usage_metadata)


def length(model, upstream):
    equal(ask(model, "length", max_output_tokens=5).candidates[0].finish_reason, types.FinishReason.MAX_TOKENS)


def stream(model, upstream):
    chunks = list(client.models.generate_content_stream(model=model, contents=prompt("hello")))
    has("".join(c.text or "" for c in chunks), f"Hello from {upstream}", "checks: ok")
    equal(chunks[-1].candidates[0].finish_reason, types.FinishReason.STOP)
    check_usage(chunks[-1].usage_metadata)


def chat_helper(model, upstream):
    chat = client.chats.create(model=model)
    has("".join(c.text or "" for c in chat.send_message_stream(prompt("hello"))), f"Hello from {upstream}")
    has(chat.send_message(prompt("hello")).text, f"Hello from {upstream}", "checks: ok")


def results(content):
    parts = []
    for part in content.parts:
        if part.function_call:
            response = types.FunctionResponse(id=part.function_call.id, name=part.function_call.name,
                                              response={"result": RESULTS[part.function_call.args["city"]]})
            parts.append(types.Part(function_response=response))
    return types.Content(role="user", parts=parts)


def generate(model, contents):
    config = types.GenerateContentConfig(tools=TOOLS, thinking_config=THINKING)
    return client.models.generate_content(model=model, contents=contents, config=config)


def round_trip(model, first, scenario="tools"):
    text = prompt(scenario)
    contents = [types.Content(role="user", parts=[types.Part(text=text)])]
    content = first(contents)
    calls = [p.function_call for p in content.parts if p.function_call]
    equal([c.args["city"] for c in calls], ["Paris", "London"])
    contents += [content, results(content)]
    second = generate(model, contents)
    has(second.text, "Paris=", "21", "London=", "15", "checks: ok")
    contents += [second.candidates[0].content, types.Content(role="user", parts=[types.Part(text=follow(text, scenario))])]
    has(generate(model, contents).text, "again: checks: ok")


def tools(model, upstream, scenario="tools"):
    round_trip(model, lambda contents: generate(model, contents).candidates[0].content, scenario)


def streamed(model, contents):
    config = types.GenerateContentConfig(tools=TOOLS, thinking_config=THINKING)
    parts = []
    for chunk in client.models.generate_content_stream(model=model, contents=contents, config=config):
        parts += (chunk.candidates[0].content.parts or []) if chunk.candidates[0].content else []
    return types.Content(role="model", parts=parts)


def tools_stream(model, upstream, scenario="tools"):
    round_trip(model, lambda contents: streamed(model, contents), scenario)


def loop(model, upstream):
    """Eight rounds of calls, every other one streamed: a body and a stream must leave the same history."""
    contents = [types.Content(role="user", parts=[types.Part(text=prompt("loop"))])]
    for turn in range(9):
        content = streamed(model, contents) if turn % 2 else generate(model, contents).candidates[0].content
        contents += [content, results(content)]
    has("".join(p.text or "" for p in content.parts), "8 steps; checks: ok")


def tools_bare(model, upstream):
    """A client that drops thoughts and keeps the calls with their signatures."""
    def first(contents):
        content = generate(model, contents).candidates[0].content
        return types.Content(role="model", parts=[p for p in content.parts if not p.thought])
    round_trip(model, first)


def tools_automatic(model, upstream):
    def get_weather(city: str, unit: str) -> str:
        """The weather"""
        return RESULTS[city]
    response = client.models.generate_content(model=model, contents=prompt("tools"), config={"tools": [get_weather], "thinking_config": THINKING})
    has(response.text, "Paris=", "21", "London=", "15", "checks: ok")


def thinking(model, upstream):
    parts = ask(model, "think", thinking_config=THINKING).candidates[0].content.parts
    has("".join(p.text for p in parts if p.thought), "I weigh the options: “first”, then\nsecond")
    has("".join(p.text for p in parts if p.text and not p.thought), "I have thought")


def thinking_back(model, upstream):
    text = prompt("think")
    chat = client.chats.create(model=model, config={"thinking_config": THINKING})
    chat.send_message(text)
    reply = chat.send_message(follow(text, "again")).text
    has(reply, "checks: ok")
    if upstream != "chat":
        has(reply, "state: present")
    return reply


def image(model, upstream):
    text = client.models.generate_content(model=model, contents=[prompt("image"), types.Part.from_bytes(data=PIXEL, mime_type="image/png")]).text
    has(text, f"image/png {len(PIXEL)} bytes", "checks: ok")


def document(model, upstream):
    text = client.models.generate_content(model=model, contents=[prompt("image"), types.Part.from_bytes(data=PDF, mime_type="application/pdf")]).text
    has(text, f"application/pdf {len(PDF)} bytes", "checks: ok")


def settings(model, upstream):
    calling = types.FunctionCallingConfig(mode="ANY", allowed_function_names=["get_weather"])
    response = ask(model, "settings", temperature=0.3, max_output_tokens=321, stop_sequences=["END"], tools=TOOLS,
                   tool_config=types.ToolConfig(function_calling_config=calling))
    check_settings(upstream, response.text)


def structured(model, upstream):
    response = ask(model, "json", response_mime_type="application/json", response_schema=City)
    equal(response.parsed, City(city="Paris", population=2100000))
    response = ask(model, "json", response_mime_type="application/json", response_json_schema=CITY)
    equal(response.parsed, {"city": "Paris", "population": 2100000})


def embeddings(model, upstream):
    def call():
        return client.models.embed_content(model=model, contents=["a", "b"])
    if upstream == "anthropic":
        error = raises(errors.APIError, call)
        assert error.code in (400, 404, 501), error.code
        return f"refused with {error.code}"
    equal([e.values for e in call().embeddings], [[0.5, -0.25, 0.125]] * 2)


def count(model, upstream):
    tokens = client.models.count_tokens(model=model, contents=prompt("hello")).total_tokens
    assert tokens > 0, tokens
    if upstream in ("anthropic", "gemini"):  # others are estimated
        equal(tokens, 42)
    return tokens


def models(model, upstream):
    names = [m.name for m in client.models.list(config={"page_size": 1000})]
    assert f"models/{model}" in names, f"models/{model} is not in {names[:10]}"
    equal(client.models.get(model=model).name, f"models/{model}")


def status(code, call):
    error = raises(errors.APIError, call)
    equal(error.code, code)
    return error


def wrong_key(model, upstream):
    wrong = make_client("wrong")
    status(401, lambda: wrong.models.generate_content(model=model, contents="Hi"))


def unknown_model(model, upstream):
    equal(status(404, lambda: ask("nowhere/missing", "hello")).status, "NOT_FOUND")


def rate(model, upstream):
    calls = (lambda: ask(model, "rate"), lambda: list(client.models.generate_content_stream(model=model, contents=prompt("rate"))))
    for call in calls:
        error = status(429, call)
        equal((error.status, error.response.headers.get("retry-after")), ("RESOURCE_EXHAUSTED", "7"))
        has(error.message, "slow down")


def bad(model, upstream):
    error = status(400, lambda: ask(model, "bad"))
    equal(error.status, "INVALID_ARGUMENT")
    has(error.message, "temperature must be at most 2")


def midstream(model, upstream):
    seen = []
    def consume():
        for chunk in client.models.generate_content_stream(model=model, contents=prompt("midstream")):
            seen.append(chunk.text or "")
            assert not chunk.candidates[0].finish_reason, "a failed stream has a finish reason"
    error = raises(errors.APIError, consume)
    has("".join(seen), "This is the beginning")
    has(str(error), "overloaded")


def cut(model, upstream):
    last = None
    try:
        for last in client.models.generate_content_stream(model=model, contents=prompt("cut")):
            pass
    except Exception as error:
        return type(error).__name__
    raise AssertionError(f"a truncated stream ended without an error, finish reason {last.candidates[0].finish_reason}")


def disconnect(model, upstream):
    text = prompt("slow")
    events = client.models.generate_content_stream(model=model, contents=text)
    for event, _ in zip(events, range(5)):
        pass
    closed = time.time()
    events.close()
    del events
    return wait_for_disconnect(text, closed)


run("py-genai", "gemini", {
    "plain": plain, "length": length, "stream": stream, "chat-helper": chat_helper, "tools": tools, "tools-stream": tools_stream,
    **{f"{name}-{scenario}": partial(check, scenario=scenario) for scenario in ("silent", "interleaved")
       for name, check in (("tools", tools), ("stream", tools_stream))},
   
    "tools-bare": tools_bare, "tools-automatic": tools_automatic, "loop": loop, "thinking": thinking, "thinking-back": thinking_back, "image": image, "document": document, "settings": settings,
    "structured": structured, "embeddings": embeddings, "count": count, "models": models, "401": wrong_key, "404": unknown_model,
    "429": rate, "400": bad, "midstream": midstream, "cut": cut, "disconnect": disconnect,
})
