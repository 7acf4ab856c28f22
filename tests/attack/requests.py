"""Requests of a client that wants to end, block or fill a gateway: a name, a path and a body."""

import json

MB = 1 << 20
PROTOCOLS = ["chat", "responses", "anthropic", "gemini"]


def chat(model, **more):
    return json.dumps({"model": model, "max_tokens": 64, "messages": [{"role": "user", "content": "Hi"}], **more})


def with_schema(model, schema):
    """A request with a tool, whose schema is JSON text."""
    tool = '{"type":"function","function":{"name":"f","description":"d","parameters":' + schema + "}}"
    return chat(model)[:-1] + f', "tools": [{tool}]}}'


def with_format(model, schema):
    form = '{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":' + schema + "}}"
    return chat(model)[:-1] + f', "response_format": {form}}}'


def schemas():
    large = json.dumps({"type": "string", "description": "d" * MB})
    refs = ",".join(f'"p{n}":{{"$ref":"#/$defs/d"}}' for n in range(4_500))
    yield "schema-refs", f'{{"type":"object","properties":{{{refs}}},"$defs":{{"d":{large}}}}}'
    lost = ",".join(f'"p{n}":{{"type":"string","unknown{n}":1,"if":{{}}}}' for n in range(9_000))
    yield "schema-path", '{"type":"object","properties":{"' + "n" * MB + f'":{{"type":"object","properties":{{{lost}}}}}}}}}'
    branches = ",".join('{"type":"object","properties":{"a":{"type":"string"}}}' for _ in range(4_000))
    yield "schema-union", f'{{"anyOf":[{branches}],"description":"{"w" * MB}","properties":{{"x":{large}}}}}'
    names = ",".join(f'"n{n}"' for n in range(150_000))
    yield "schema-required", f'{{"type":"object","required":[{names}],"properties":{{"a":{{"type":"string"}}}}}}'
    yield "schema-enum", f'{{"type":"object","properties":{{"a":{{"enum":[{names}]}}}}}}'
    yield "schema-deep", '{"type":"object","properties":{"a":' * 100_000 + "{}" + "}}" * 100_000
    yield "schema-loop", '{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}'
    doubled = ",".join(f'"d{n}":{{"type":"object","properties":{{"l":{{"$ref":"#/$defs/d{n + 1}"}},"r":{{"$ref":"#/$defs/d{n + 1}"}}}}}}' for n in range(60))
    yield "schema-doubled", f'{{"$ref":"#/$defs/d0","$defs":{{{doubled},"d60":{{"type":"string"}}}}}}'
    yield "schema-constant", '{"type":"array","minItems":2000,"items":{"const":"' + "c" * 100_000 + '"}}'
    yield "schema-pattern", '{"type":"object","properties":{"a":{"type":"string","pattern":"' + "(a{1,1000}){1,1000}" * 20 + '"}}}'


def requests():
    """All of them. The large ones are made once."""
    for upstream in PROTOCOLS:
        # Relayed to one of them, and translated for the others.
        for name, schema in schemas():
            yield f"{name}-{upstream}", "/v1/chat/completions", with_schema(f"up-{upstream}/plain", schema)
        for name, schema in list(schemas())[:4]:
            yield f"format-{name}-{upstream}", "/v1/chat/completions", with_format(f"up-{upstream}/plain", schema)
        model = f"up-{upstream}/plain"
        yield f"depth-{upstream}", "/v1/chat/completions", chat(model)[:-1] + ', "x": ' + "[" * MB + "}"
        yield f"content-{upstream}", "/v1/chat/completions", chat(model).replace('"Hi"', '[{"type":"text","text":' * 100_000 + '"x"' + "}]" * 100_000)
        turns = [{"role": "assistant", "content": None, "tool_calls": [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}]} for n in range(20_000)]
        yield f"calls-{upstream}", "/v1/chat/completions", chat(model, messages=[{"role": "user", "content": "Hi"}] + turns)
        yield f"numbers-{upstream}", "/v1/chat/completions", chat(model)[:-1] + ', "temperature": 1' + "0" * MB + "}"
        yield f"long-{upstream}", "/v1/messages", chat(model, messages=[{"role": "user", "content": "x" * (16 * MB)}])
        yield f"wide-{upstream}", "/v1/messages", chat(model, messages=[{"role": "user", "content": [{"type": "text", "text": "x"}] * 200_000}])
        yield f"count-{upstream}", "/v1/messages/count_tokens", chat(model, messages=[{"role": "user", "content": [{"type": "text", "text": "x"}] * 200_000}])
    yield "simulator", "/v1/chat/completions", with_format("sim/json", '{"type":"array","minItems":2000,"items":{"const":"' + "c" * 100_000 + '"}}')
    yield "embeddings", "/v1/embeddings", json.dumps({"model": "up-chat/plain", "input": ["x"] * 1_000_000})
    yield "model", "/v1/chat/completions", chat("m" * (4 * MB))
