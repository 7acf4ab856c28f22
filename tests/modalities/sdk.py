"""Checks the modalities with OpenAI's SDK for Python, through the gateway."""

import base64
import functools
import io
import json
import os
import urllib.request

import numpy as np
from openai import BadRequestError, NotFoundError, OpenAI
from PIL import Image

from common import ABUSIVE, FRIENDLY, RANKINGS, SENTENCES, SIMILAR, check, seconds_of, understood, words

URL = os.environ["GATEWAY"] + "/v1"
CLIENT = OpenAI(base_url=URL, api_key=os.environ["CLIENT_KEY"], max_retries=0)
LISTENERS = ["asr/openai/whisper-tiny.en", "whisper/whisper-1", "bridge/whisper-tiny.en"]
TEXT = " ".join(SENTENCES[:2])


@functools.cache
def speech(voice="bridge/hibari"):
    return CLIENT.audio.speech.create(model=voice, voice="alloy", input=TEXT, response_format="wav").content


def spoken_is_understood(listener):
    for voice in ("tts/tts-1", "bridge/hibari"):
        heard = CLIENT.audio.transcriptions.create(model=listener, file=("a.wav", speech(voice)))
        understood(TEXT, heard.text)


def speech_streams():
    complete = speech()
    with CLIENT.audio.speech.with_streaming_response.create(model="bridge/hibari", voice="alloy", input=TEXT, response_format="wav") as response:
        streamed = b"".join(response.iter_bytes())
    assert streamed == complete
    with CLIENT.audio.speech.with_streaming_response.create(model="bridge/hibari", voice="alloy", input=TEXT, response_format="wav",
                                                            stream_format="sse") as response:
        events = [json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data: {")]
    assert b"".join(base64.b64decode(each["audio"]) for each in events if each["type"] == "speech.audio.delta") == complete
    assert events[-1]["type"] == "speech.audio.done", events[-1]
    return f"{seconds_of(complete):.1f} s of audio"


def forms(listener):
    audio = ("a.wav", speech())
    create = CLIENT.audio.transcriptions.create
    understood(TEXT, create(model=listener, file=audio, response_format="text"))
    verbose = create(model=listener, file=audio, response_format="verbose_json", timestamp_granularities=["segment"])
    assert words(" ".join(each.text for each in verbose.segments)) == words(verbose.text), verbose
    for form in ("srt", "vtt"):
        subtitles = create(model=listener, file=audio, response_format=form)
        assert "00:00:0" in subtitles and "-->" in subtitles and subtitles.startswith("WEBVTT" if form == "vtt" else "1\n"), subtitles
        understood(TEXT, " ".join(line for line in subtitles.splitlines() if "-->" not in line and not line.isdigit() and line != "WEBVTT"))


def transcript_streams(listener):
    audio = ("a.wav", speech())
    complete = CLIENT.audio.transcriptions.create(model=listener, file=audio).text
    events = list(CLIENT.audio.transcriptions.create(model=listener, file=audio, stream=True))
    assert events[-1].type == "transcript.text.done" and events[-1].text == complete, events
    assert "".join(each.delta for each in events if each.type == "transcript.text.delta") == complete, events
    return f"{len(events)} events"


def moderation():
    results = CLIENT.moderations.create(model="bridge/judge", input=[*ABUSIVE, *FRIENDLY]).results
    assert [each.flagged for each in results] == [True] * len(ABUSIVE) + [False] * len(FRIENDLY), results
    image = io.BytesIO()
    Image.fromarray((np.random.default_rng(1).random((64, 64, 3)) * 255).astype("uint8")).save(image, "PNG")
    url = "data:image/png;base64," + base64.b64encode(image.getvalue()).decode()
    for text, flagged in ((ABUSIVE[0], True), (FRIENDLY[0], False)):
        parts = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]
        (result,) = CLIENT.moderations.create(model="bridge/judge", input=parts).results
        assert result.flagged == flagged and 0 < result.category_scores.sexual < 0.5, result
    return f"the image scores {result.category_scores.sexual:.2f}"


def embeddings():
    # The SDK asks for base64 unless floats are named.
    for options in ({}, {"encoding_format": "float"}):
        for row in SIMILAR:
            response = CLIENT.embeddings.create(model="bridge/minilm", input=list(row), **options)
            a, b, c = (np.array(each.embedding) for each in response.data)
            assert len(a) == 384 and a @ b > a @ c + 0.2, (row, a @ b, a @ c)
            assert response.usage.prompt_tokens > 10


def ranking():
    for query, wanted, others in RANKINGS:
        body = json.dumps({"model": "bridge/minilm", "query": query, "documents": [{"text": wanted}, *others], "top_n": 1, "return_documents": False})
        request = urllib.request.Request(URL + "/rerank", body.encode(), {"content-type": "application/json", "authorization": f"Bearer {CLIENT.api_key}"})
        results = json.load(urllib.request.urlopen(request, timeout=60))["results"]
        assert [each["index"] for each in results] == [0], (query, results)


def images():
    response = CLIENT.images.generate(model="bridge/terrain", prompt="rugged, steep mountain peaks", size="96x64", n=2)
    first, second = (base64.b64decode(each.b64_json) for each in response.data)
    assert first != second and Image.open(io.BytesIO(first)).size == (96, 64)
    edited = CLIENT.images.edit(model="bridge/terrain", image=("a.png", first), prompt="rugged, steep mountain peaks")
    before, after = (np.asarray(Image.open(io.BytesIO(each)).convert("L"), dtype=float).ravel() for each in (first, base64.b64decode(edited.data[0].b64_json)))
    likeness = np.corrcoef(before, after)[0, 1]
    assert likeness > 0.8, likeness
    return f"likeness {likeness:.2f}"


def refuses(kind, function):
    try:
        function()
    except kind as error:
        return str(error)[:120]
    raise AssertionError("it did not fail")


def errors():
    refuses(NotFoundError, lambda: CLIENT.audio.transcriptions.create(model="asr/no-such-model", file=("a.wav", speech())))
    return refuses(BadRequestError, lambda: CLIENT.audio.speech.create(model="tts/tts-1", voice="alloy", input="Hello", response_format="flac"))


def main():
    for listener in LISTENERS:
        check("sdk", "audio", f"{listener}: what is said is understood", lambda: spoken_is_understood(listener))
        check("sdk", "audio", f"{listener}: the forms of a transcript", lambda: forms(listener))
        check("sdk", "audio", f"{listener}: streamed and complete agree", lambda: transcript_streams(listener))
    check("sdk", "audio", "speech: streamed, as events and complete", speech_streams)
    check("sdk", "moderation", "texts, and parts with an image", moderation)
    check("sdk", "embeddings", "similar texts are near", embeddings)
    check("sdk", "rerank", "the document that fits is the first", ranking)
    check("sdk", "image", "images and an edit", images)
    check("sdk", "errors", "of the servers", errors)


if __name__ == "__main__":
    main()
