"""What both check scripts use."""

import io
import os
import re
import time
import traceback
import wave
from difflib import SequenceMatcher

SENTENCES = [
    "The quick brown fox jumps over the lazy dog.",
    "Please remember to bring your umbrella because it will rain tomorrow.",
    "The train to London leaves in the evening and arrives before midnight.",
    "My grandmother bakes fresh bread every morning before breakfast.",
]
# The share of the words of all sentences that must be understood. Whisper's smallest model usually understands all of them.
AGREEMENT = 0.85

ABUSIVE = ["You are a stupid fucking idiot and everybody hates you.", "Shut up, you worthless piece of shit."]
FRIENDLY = ["Good morning, it is nice to see you again.", "The meeting was moved to Thursday afternoon.", "Could you help me with my homework, please?"]

RANKINGS = [
    ("What is the capital of Norway?", "Oslo is the seat of the Norwegian government.",
     ["Rome was founded on seven hills.", "Salmon is a popular dish.", "The yen is the currency of Japan."]),
    ("How do I repair a flat bicycle tyre?", "Take off the wheel, find the hole in the tube and glue a patch on it.",
     ["A good marinade needs salt and acid.", "The orchestra tunes to an A.", "Interest rates rose in March."]),
    ("medicine against a headache", "Aspirin and ibuprofen relieve pain.",
     ["The museum opens at ten.", "Rust has no garbage collector.", "Penguins live in the south."]),
    ("who wrote Hamlet", "William Shakespeare was an English playwright.",
     ["Copper conducts electricity.", "The marathon is 42 kilometres long.", "Tomatoes need a lot of sun."]),
    ("my program uses too much memory", "Heap profiling shows which allocations are never freed.",
     ["The recipe needs three eggs.", "Mount Everest is in the Himalayas.", "The festival begins on Friday."]),
]

SIMILAR = [
    ("A man is playing a guitar.", "Someone plays a musical instrument.", "The stock market fell sharply."),
    ("The cat sleeps on the sofa.", "A kitten is resting on the couch.", "The rocket reached its orbit."),
    ("How old are you?", "What is your age?", "Where is the nearest bakery?"),
]


def check(way, modality, name, function):
    """Runs a check and prints its line."""
    if os.environ.get("ONLY", "") not in f"{way} {modality} {name}":
        return
    started = time.monotonic()
    try:
        detail = function() or ""
        result = "PASS"
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        result, detail = "FAIL", f"{type(error).__name__} in line {frame.lineno}: {str(error) or frame.line}".replace("\n", " ")
    print(f"{result} {way} {modality} {name}: {detail} ({time.monotonic() - started:.1f} s)", flush=True)


def words(text):
    return re.findall(r"[a-z0-9']+", text.lower())


def agreement(said, understood):
    """Returns the share of the words of `said` that `understood` has in the same order."""
    said, understood = words(said), words(understood)
    same = sum(block.size for block in SequenceMatcher(None, said, understood, autojunk=False).get_matching_blocks())
    return same / max(len(said), len(understood), 1)


def understood(said, heard):
    """Fails unless what was heard agrees with what was said. Returns the share of the words that do."""
    share = agreement(said, heard)
    assert share >= AGREEMENT, f"only {share:.0%} of the words agree: {heard!r}"
    return share


def samples_of(data):
    """Returns the number of samples and the rate of a WAV file. The header of a stream has the largest length instead of the real one."""
    assert data[:4] == b"RIFF" and data[8:12] == b"WAVE", data[:12]
    with wave.open(io.BytesIO(data)) as file:
        assert (file.getnchannels(), file.getsampwidth()) == (1, 2)
        return min(file.getnframes(), (len(data) - 44) // 2), file.getframerate()


def seconds_of(data):
    count, rate = samples_of(data)
    return count / rate
