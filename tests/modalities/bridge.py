"""Serves the models of engines.py under OpenAI's paths (rankings: Cohere's), where no server of others could be had.

    python bridge.py PORT      prints READY when it listens on 127.0.0.1

It checks requests strictly: a field of the wrong type or a name that the API does not have is an error 400, so that a mistake of a
client does not stay unnoticed.
"""

import base64
import email.parser
import email.policy
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

import engines
from engines import Embedder, Judge, Listener, Painter, Voice, engine

MAX_BODY = 32 << 20


class Refused(Exception):
    """An error that the client made."""


def field(fields, name, kind, default=None):
    value = fields.pop(name, None)
    if value is None:
        if default is None:
            raise Refused(f"{name} is required")
        return default
    if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
        raise Refused(f"{name} has the wrong type")
    return value


def nothing_left(fields):
    if fields:
        raise Refused(f"unknown fields: {', '.join(sorted(fields))}")


def form(content_type, body):
    """Reads a form. Returns its fields (a name with [] has a list) and its files with their names and types."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    fields, files = {}, {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        data = part.get_payload(decode=True)
        if part.get_filename() is not None:
            files.setdefault(name.removesuffix("[]"), []).append((part.get_filename(), part.get_content_type(), data))
        elif name.endswith("[]"):
            fields.setdefault(name.removesuffix("[]"), []).append(data.decode())
        else:
            fields[name] = data.decode()
    return fields, files


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path != "/v1/models":
            return self.send_json({"error": {"message": "not found", "type": "invalid_request_error"}}, 404)
        models = [{"id": name, "object": "model", "owned_by": "bridge"} for name in ("minilm", "hibari", "whisper-tiny.en", "judge", "terrain")]
        self.send_json({"object": "list", "data": models})

    def do_POST(self):
        routes = {
            "/v1/embeddings": self.embeddings, "/v1/rerank": self.rerank, "/v1/moderations": self.moderations, "/v1/audio/speech": self.speech,
            "/v1/audio/transcriptions": self.transcriptions, "/v1/images/generations": self.generations, "/v1/images/edits": self.edits,
        }
        length = int(self.headers.get("content-length", 0))
        if length > MAX_BODY or self.path not in routes:
            self.close_connection = True
            return self.send_json({"error": {"message": "not found", "type": "invalid_request_error"}}, 404)
        body = self.rfile.read(length)
        content_type = self.headers.get("content-type", "")
        try:
            files = {}
            if content_type.startswith("multipart/form-data"):
                fields, files = form(content_type, body)
            elif content_type.startswith("application/json"):
                fields = json.loads(body)
            else:
                raise Refused(f"the content type is {content_type}")
            with engines.LOCK:
                routes[self.path](fields, files)
        except (Refused, json.JSONDecodeError, UnicodeDecodeError) as error:
            self.send_json({"error": {"message": str(error), "type": "invalid_request_error", "param": None, "code": None}}, 400)

    def send_json(self, value, status=200):
        self.send_bytes(json.dumps(value).encode(), "application/json", status)

    def send_bytes(self, body, content_type, status=200):
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_pieces(self, pieces, content_type):
        """Sends each piece as a chunk when it is there."""
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            if piece:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def embeddings(self, fields, _):
        texts = field(fields, "input", (str, list))
        texts = [texts] if isinstance(texts, str) else texts
        if not texts or not all(isinstance(text, str) for text in texts):
            raise Refused("input must be texts")
        model, encoding = field(fields, "model", str), field(fields, "encoding_format", str, "float")
        nothing_left(fields)
        vectors, tokens = engine(Embedder).embed(texts)

        def written(vector):
            return base64.b64encode(vector.astype("<f4").tobytes()).decode() if encoding == "base64" else [float(each) for each in vector]

        data = [{"object": "embedding", "index": index, "embedding": written(vector)} for index, vector in enumerate(vectors)]
        self.send_json({"object": "list", "model": model, "data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}})

    def rerank(self, fields, _):
        model, query, documents = field(fields, "model", str), field(fields, "query", str), field(fields, "documents", list)
        top = field(fields, "top_n", int, len(documents))
        nothing_left(fields)
        vectors, tokens = engine(Embedder).embed([query, *documents])
        scores = vectors[1:] @ vectors[0]
        results = [{"index": int(index), "relevance_score": float(scores[index])} for index in np.argsort(-scores)[:top]]
        self.send_json({"model": model, "results": results, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}})

    def moderations(self, fields, _):
        inputs = field(fields, "input", (str, list))
        model = field(fields, "model", str)
        nothing_left(fields)
        if isinstance(inputs, str):
            inputs = [inputs]
        if inputs and isinstance(inputs[0], dict):
            inputs = [inputs]
        results = []
        for each in inputs:
            scores = {"harassment": 0.0, "sexual": 0.0}
            for part in each if isinstance(each, list) else [{"type": "text", "text": each}]:
                if part["type"] == "text":
                    scores["harassment"] = max(scores["harassment"], engine(Judge).text(part["text"]))
                else:
                    data = base64.b64decode(part["image_url"]["url"].split("base64,")[1])
                    scores["sexual"] = max(scores["sexual"], engine(Judge).image(data))
            categories = {name: score >= 0.5 for name, score in scores.items()}
            results.append({"flagged": any(categories.values()), "categories": categories, "category_scores": scores})
        self.send_json({"id": "modr-1", "model": model, "results": results})

    def speech(self, fields, _):
        text, speed = field(fields, "input", str), field(fields, "speed", (int, float), 1.0)
        file_format, events = field(fields, "response_format", str, "wav"), field(fields, "stream_format", str, "audio") == "sse"
        field(fields, "model", str), field(fields, "voice", str, "default")
        nothing_left(fields)
        if file_format not in ("wav", "pcm"):
            raise Refused(f"response_format {file_format} is not supported: use wav or pcm")
        rate = Voice.rate
        # The length is not known when a stream begins: the header has the largest one, as OpenAI's has.
        header = engines.wav(b"", rate) if file_format == "wav" else b""
        header = header[:4] + b"\xff\xff\xff\xff" + header[8:40] + b"\xff\xff\xff\xff" if header else b""

        def pieces():
            yield header
            yield from engine(Voice).pieces(text, speed)

        if not events:
            return self.send_pieces(pieces(), "audio/wav" if file_format == "wav" else f"audio/pcm;rate={rate};encoding=signed-int;bits=16")
        delta = (event("speech.audio.delta", audio=base64.b64encode(piece).decode()) for piece in pieces() if piece)
        usage = {"input_tokens": len(text.split()), "output_tokens": 0, "total_tokens": len(text.split())}
        self.send_pieces(then(delta, lambda: event("speech.audio.done", usage=usage)), "text/event-stream")

    def transcriptions(self, fields, files):
        if len(files.get("file", [])) != 1:
            raise Refused("one file is required")
        ((name, _, audio),) = files["file"]
        if "." not in name:
            raise Refused(f"the file name {name} has no extension")
        field(fields, "model", str)
        form_of_text, pieces = field(fields, "response_format", str, "json"), field(fields, "timestamp_granularities", list, ["segment"])
        stream = field(fields, "stream", str, "false") == "true"
        nothing_left(fields)
        segments = engine(Listener).segments(audio, "word" in pieces)
        if stream:
            texts = []

            def deltas():
                for segment in segments:
                    text = segment.text if texts else segment.text.lstrip()
                    texts.append(text)
                    yield event("transcript.text.delta", delta=text)

            return self.send_pieces(then(deltas(), lambda: event("transcript.text.done", text="".join(texts))), "text/event-stream")
        segments = list(segments)
        text = "".join(segment.text for segment in segments).strip()
        if form_of_text == "json":
            return self.send_json({"text": text})
        value = {"task": "transcribe", "language": "english", "duration": max((each.end for each in segments), default=0.0), "text": text}
        value["segments"] = [{"id": index, "start": each.start, "end": each.end, "text": each.text} for index, each in enumerate(segments)]
        if "word" in pieces:
            value["words"] = [{"word": word.word.strip(), "start": word.start, "end": word.end} for each in segments for word in each.words]
        self.send_json(value)

    def generations(self, fields, _):
        self.paint(fields, lambda painter, prompt, size, seed: painter.generate(prompt, size, seed))

    def edits(self, fields, files):
        if "image" not in files:
            raise Refused("image is required")
        heights = engines.heights_of(files["image"][0][2])

        def edit(painter, prompt, _, seed):
            edited = painter.edit(prompt, heights, seed)
            if "mask" in files:
                edited = np.where(engines.transparent(files["mask"][0][2]), edited, heights)
            return edited

        self.paint(fields, edit)

    def paint(self, fields, paint):
        field(fields, "model", str)
        prompt, size = field(fields, "prompt", str), engines.size_of(field(fields, "size", str, "128x128"))
        count, seed = int(field(fields, "n", (int, str), 1)), int(field(fields, "seed", (int, str), 1))
        file_format = field(fields, "output_format", str, "png")
        nothing_left(fields)
        if size is None or not 1 <= count <= 4 or file_format not in ("png", "jpeg", "webp"):
            raise Refused("size, n or output_format is not supported")
        painter = engine(Painter)
        images = [engines.image_of(paint(painter, prompt, size, seed + index), file_format) for index in range(count)]
        data = [{"b64_json": base64.b64encode(image).decode()} for image in images]
        self.send_json({"created": 1, "data": data, "output_format": file_format})


def event(kind, **fields):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def then(pieces, last):
    yield from pieces
    yield last()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print("READY", flush=True)
    server.serve_forever()
