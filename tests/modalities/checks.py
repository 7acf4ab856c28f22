"""Checks every modality with the command `agentloop`, directly and through the gateway."""

import functools
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
from PIL import Image

from common import ABUSIVE, FRIENDLY, RANKINGS, SENTENCES, SIMILAR, check, seconds_of, understood, words
from engines import wav

TIMEOUT = 120


class Way:
    """One way to the models: their servers, or the gateway in front of them."""

    def __init__(self, name, config, prefix):
        self.name, self.config, self.prefix = name, config, prefix

    def call(self, command, model, *arguments, stdin=b"", fails=False, warns=""):
        """Runs a command and returns what it prints; its error if it has to fail. Warnings are errors but the one that is named."""
        line = [os.environ["AGENTLOOP"], command, "--config", self.config, "-m", self.prefix + model, *arguments]
        done = subprocess.run(line, input=stdin, capture_output=True, timeout=TIMEOUT)
        error = done.stderr.decode()
        assert (done.returncode != 0) == fails, f"exit code {done.returncode}: {error}"
        assert fails or (warns in error if warns else not error), f"its warnings: {error}"
        return error if fails else done.stdout

    def text(self, *arguments, **options):
        return self.call(*arguments, **options).decode()

    def json(self, *arguments, **options):
        return json.loads(self.call(*arguments, "--json", **options))

    def check(self, modality, name, function, *arguments):
        check(self.name, modality, name, lambda: function(self, *arguments))


WAYS = [Way("direct", os.environ["DIRECT_CONFIG"], ""), Way("gateway", os.environ["GATEWAY_CONFIG"], "gateway/")]
# Piper adds noise of its own to each recording. Hibari says the same text in the same way, so checks that are about transcripts use it.
PIPER, HIBARI = "tts/tts-1", "bridge/hibari"
LISTENERS = ["asr/openai/whisper-tiny.en", "whisper/whisper-1", "bridge/whisper-tiny.en"]


@functools.cache
def speak(way, voice, text):
    """Returns the file of a text that is spoken once."""
    path = Path(f"{way.name}-{len(list(Path().glob('*.wav')))}.wav")
    way.call("speak", voice, "--voice", "alloy", text, "-o", str(path))
    return path


def spoken_is_understood(way, voice, listener):
    heard = [way.text("transcribe", listener, str(speak(way, voice, text))) for text in SENTENCES]
    return f"{understood(' '.join(SENTENCES), ' '.join(heard)):.0%} of the words"


def speech_streams(way, voice):
    text = " ".join(SENTENCES[:2])
    complete = speak(way, voice, text).read_bytes()
    streamed = way.call("speak", voice, "--voice", "alloy", "--format", "wav", text, "-o", "-")
    if voice == HIBARI:
        assert streamed == complete, f"{len(streamed)} bytes, not {len(complete)}"
    assert 0.8 < seconds_of(streamed) / seconds_of(complete) < 1.25
    Path("streamed.wav").write_bytes(streamed)
    understood(text, way.text("transcribe", LISTENERS[0], "streamed.wav"))
    return f"{len(streamed)} bytes"


def raw_samples(way, voice, rate):
    text = SENTENCES[0]
    samples = way.call("speak", voice, "--voice", "alloy", "--format", "pcm", text, "-o", "-")
    Path("raw.wav").write_bytes(wav(samples, rate))
    understood(text, way.text("transcribe", LISTENERS[0], "raw.wav"))
    printed = way.text("speak", voice, "--voice", "alloy", "--format", "pcm", text).strip()
    assert printed.endswith(".pcm"), printed


def speed_is_applied(way):
    slow, fast = (way.call("speak", HIBARI, "--speed", speed, "--format", "wav", SENTENCES[1], "-o", "-") for speed in ("0.7", "1.4"))
    ratio = seconds_of(slow) / seconds_of(fast)
    assert ratio > 1.5, ratio
    return f"{ratio:.2f} times as long"


def unsupported_format(way, voice):
    error = way.call("speak", voice, "--format", "flac", "Hello", "-o", "x.flac", fails=True)
    assert "flac" in error and "wav" in error, error
    assert not Path("x.flac").exists()


def times(way, listener, has_words):
    text = " ".join(SENTENCES[:2])
    path = speak(way, HIBARI, text)
    duration = seconds_of(path.read_bytes())
    # faster-whisper-server does not know the field.
    warns = "" if has_words else "no times of words"
    response = way.json("transcribe", listener, str(path), "--timestamps", "word", "--timestamps", "segment", warns=warns)
    understood(text, response["text"])
    pieces = [("segments", "text")] + ([("words", "word")] if has_words else [])
    for field, key in pieces:
        found = response[field]
        assert words(" ".join(each[key] for each in found)) == words(response["text"]), found
        starts, ends = [each["start"] for each in found], [each["end"] for each in found]
        assert starts == sorted(starts) and all(start <= end for start, end in zip(starts, ends)), found
        # Whisper rounds the last time up.
        assert 0 <= starts[0] < 1 and duration - 1.5 < ends[-1] < duration + 1, (ends[-1], duration)
    if has_words:
        assert all(each["word"] == each["word"].strip() for each in response["words"]), response["words"]
        # The second sentence begins in the middle.
        second = next(each["start"] for each in response["words"] if words(each["word"]) == ["please"])
        assert duration * 0.3 < second < duration * 0.6, (second, duration)
    return f"{len(response.get('words', []))} words, {len(response['segments'])} segments, {response.get('language')}"


def subtitles(way, listener):
    text = " ".join(SENTENCES[:2])
    path = speak(way, HIBARI, text)
    srt, vtt = (way.text("transcribe", listener, str(path), "--format", each) for each in ("srt", "vtt"))
    assert re.match(r"1\n00:00:0\d,\d{3} --> 00:00:\d\d,\d{3}\n\S", srt), srt
    assert vtt.startswith("WEBVTT\n\n00:00:0"), vtt
    for subtitle in (srt, vtt):
        understood(text, " ".join(line for line in subtitle.splitlines() if "-->" not in line and not line.isdigit() and line != "WEBVTT"))


def transcript_streams(way, listener):
    path = speak(way, HIBARI, " ".join(SENTENCES[:2]))
    complete = way.json("transcribe", listener, str(path))["text"]
    streamed = way.text("transcribe", listener, str(path))
    assert streamed == complete + "\n", f"{streamed!r}, not {complete!r}"


def file_names(way, listener):
    audio = speak(way, HIBARI, SENTENCES[0]).read_bytes()
    # The second has no extension: the bytes show what it is.
    for name in ('Müller & "Söhne"; a=b\\c.wav', "recording"):
        Path(name).write_bytes(audio)
        understood(SENTENCES[0], way.text("transcribe", listener, name))
    understood(SENTENCES[0], way.text("transcribe", listener, "-", stdin=audio))


def silence(way, listener):
    Path("silence.wav").write_bytes(wav(bytes(2 * 16000), 16000))
    heard = way.text("transcribe", listener, "silence.wav").strip()
    # Small models hear a word or two in silence.
    assert len(words(heard)) <= 4, heard
    return repr(heard)


def unknown_model(way):
    error = way.call("transcribe", "asr/no-such-model", str(speak(way, HIBARI, SENTENCES[0])), fails=True)
    assert "no-such-model" in error and "404" in error, error


def ranking(way):
    for query, wanted, others in RANKINGS:
        for place in range(len(others) + 1):
            documents = [*others[:place], wanted, *others[place:]]
            response = way.json("rerank", "bridge/minilm", query, *documents)
            results = response["results"]
            scores = [each["score"] for each in results]
            assert results[0]["index"] == place, (query, results)
            assert scores == sorted(scores, reverse=True) and sorted(each["index"] for each in results) == list(range(len(documents)))
    query, wanted, others = RANKINGS[0]
    lines = way.text("rerank", "bridge/minilm", "-n", "2", query, stdin="\n".join([*others, wanted]).encode()).splitlines()
    assert len(lines) == 2 and lines[0].split("\t")[1:] == ["3", wanted], lines
    return f"{len(RANKINGS)} queries, {len(others) + 1} orders each"


def moderation(way):
    lines = way.text("moderate", "bridge/judge", *ABUSIVE, *FRIENDLY).splitlines()
    results = [line.split("\t")[0] for line in lines]
    assert results == ["flagged"] * len(ABUSIVE) + ["ok"] * len(FRIENDLY), lines
    response = way.json("moderate", "bridge/judge", ABUSIVE[0], FRIENDLY[0])
    first, second = response["results"]
    assert first["categories"]["harassment"] and not second["categories"]["harassment"], response
    return f"{first['scores']['harassment']:.2f} against {second['scores']['harassment']:.2f}"


def embeddings(way):
    texts = [text for row in SIMILAR for text in row]
    vectors = np.array([json.loads(line) for line in way.text("embed", "bridge/minilm", *texts).splitlines()])
    assert vectors.shape == (len(texts), 384)
    for index, row in enumerate(SIMILAR):
        a, b, c = vectors[3 * index : 3 * index + 3]
        assert a @ b > a @ c + 0.2, (row, a @ b, a @ c)
    # A file and small requests give the same vectors in the same order, up to the rounding of int8.
    Path("texts.txt").write_text("\n".join(texts))
    way.call("embed", "bridge/minilm", "-q", "-i", "texts.txt", "-o", f"{way.name}.jsonl", "--batch-size", "2", "--concurrency", "3")
    written = np.array([json.loads(line)["vector"] for line in Path(f"{way.name}.jsonl").read_text().splitlines()])
    assert (written * vectors).sum(1).min() > 0.98
    return f"{len(texts)} texts"


def pixels(path):
    return np.asarray(Image.open(path).convert("L"), dtype=float)


def images(way):
    flat, rugged = f"{way.name}-flat.png", f"{way.name}-rugged.png"
    way.call("image", "bridge/terrain", "a smooth, flat meadow", "--size", "96x64", "-o", flat)
    way.call("image", "bridge/terrain", "rugged, steep mountain peaks", "--size", "96x64", "-o", rugged)
    assert Image.open(flat).size == (96, 64) and Image.open(flat).format == "PNG"
    assert pixels(rugged).std() > 1.5 * pixels(flat).std(), (pixels(rugged).std(), pixels(flat).std())
    response = way.json("image", "bridge/terrain", "hills", "-n", "2", "--format", "jpeg")
    first, second = response["images"]
    assert first != second and all(each["mimeType"] == "image/jpeg" for each in (first, second)), str(response)[:300]
    return f"contrast {pixels(flat).std():.1f} and {pixels(rugged).std():.1f}"


def edits(way):
    original, edited, masked = (f"{way.name}-{name}.png" for name in ("original", "edited", "masked"))
    way.call("image", "bridge/terrain", "rugged, steep mountain peaks", "-o", original)
    way.call("image", "bridge/terrain", "rugged, steep mountain peaks", "--edit", original, "-o", edited)
    before, after = pixels(original), pixels(edited)
    likeness = np.corrcoef(before.ravel(), after.ravel())[0, 1]
    assert likeness > 0.8 and (before != after).mean() > 0.5, likeness
    # Only the left half is transparent, so only that is edited.
    mask = np.zeros((*before.shape, 4), dtype="uint8")
    mask[:, 64:, 3] = 255
    Image.fromarray(mask).save("mask.png")
    way.call("image", "bridge/terrain", "rugged, steep mountain peaks", "--edit", original, "--mask", "mask.png", "-o", masked)
    changed = np.abs(pixels(masked) - before) > 0
    assert changed[:, :64].mean() > 0.5 and not changed[:, 64:].any(), (changed[:, :64].mean(), changed[:, 64:].mean())
    return f"likeness {likeness:.2f}"


def main():
    for way in WAYS:
        for voice in (PIPER, HIBARI):
            for listener in LISTENERS[: 3 if voice == PIPER else 1]:
                way.check("speech", f"what {voice} says, {listener} understands", spoken_is_understood, voice, listener)
            way.check("speech", f"{voice}: streamed and complete agree", speech_streams, voice)
            way.check("speech", f"{voice}: raw samples", raw_samples, voice, 22050 if voice == PIPER else 24000)
            way.check("speech", f"{voice}: a format that it does not have", unsupported_format, voice)
        way.check("speech", "the speed is applied", speed_is_applied)
        for listener in LISTENERS:
            way.check("transcription", f"{listener}: times", times, listener, not listener.startswith("whisper/"))
            way.check("transcription", f"{listener}: streamed and complete agree", transcript_streams, listener)
            # The gateway treats both servers alike.
            if (way.name, listener) == ("gateway", LISTENERS[1]):
                continue
            way.check("transcription", f"{listener}: subtitles", subtitles, listener)
            way.check("transcription", f"{listener}: names of files", file_names, listener)
            way.check("transcription", f"{listener}: silence", silence, listener)
        way.check("transcription", "an unknown model", unknown_model)
        way.check("rerank", "the document that fits is the first", ranking)
        way.check("moderation", "abusive texts are flagged, friendly ones are not", moderation)
        way.check("embeddings", "similar texts are near", embeddings)
        way.check("image", "the prompt decides", images)
        way.check("image", "edits keep what is not to be edited", edits)


if __name__ == "__main__":
    main()
