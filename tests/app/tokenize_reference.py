"""Compares `tenax tokenize` with tiktoken and with OpenAI's expression in Python's regex, token for token.

python3 tokenize_reference.py TENAX VOCAB_DIR [ROUNDS]; status 77 where tiktoken or regex is not installed. Texts: every code point
alone and between letters, random Unicode, what makes splitting hard, long words; then random bytes that are mostly not UTF-8.
"""
import os
import random
import subprocess
import sys
import tempfile
import unicodedata
from array import array

try:
    import regex
    import tiktoken
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SEPARATOR = "<|endoftext|>"
HARD = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'", "'S", "don't", " ", "  ", "\n", "\t", "\r\n", "\x1c", "\x85", "\xa0",
        "\u3000", "\u2028", "<|endoftext", "|>", "a", "1", "!", "\u0301", "中", "½", "😀"]
tenax, vocab_dir = sys.argv[1:3]
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 20000
ranks = data_gym_to_mergeable_bpe_ranks(os.path.join(vocab_dir, "vocab.bpe"), os.path.join(vocab_dir, "encoder.json"))
encoding = tiktoken.Encoding("gpt2", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={SEPARATOR: 50256}, explicit_n_vocab=50257)
rng = random.Random(1)


def tokens_by_tenax(text):
    with tempfile.TemporaryDirectory() as folder:
        source, target, back = (os.path.join(folder, name) for name in ("text", "tokens.bin", "back"))
        with open(source, "wb") as file:
            file.write(text)
        options = ["--tokenizer", "gpt2", "--vocab", vocab_dir]
        subprocess.run([tenax, "tokenize", source, "--out", target, *options], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([tenax, "tokenize", "--decode", target, "--out", back, *options], check=True, stdout=subprocess.DEVNULL)
        with open(back, "rb") as file:
            assert file.read() == text, "decoded text differs"
        with open(target, "rb") as file:
            return array("H", file.read()).tolist()


def compare(name, cases, expected):
    """`cases`: bytes each; they go through tenax as one text, as separators keep them apart."""
    got = tokens_by_tenax(SEPARATOR.encode().join(cases))
    wanted = [list(expected(case)) for case in cases]
    at = 0
    for case, tokens in zip(cases, wanted):
        if got[at:at + len(tokens)] != tokens or got[at + len(tokens):at + len(tokens) + 1] not in ([], [50256]):
            sys.exit(f"{name}: {case!r} gives {got[at:at + len(tokens) + 1]}, not {tokens}")
        at += len(tokens) + 1
    if at != len(got) + 1:
        sys.exit(f"{name}: {len(got)} tokens, not {at - 1}")
    print(f"{name}: {len(cases)} texts, {len(got)} tokens, no difference")


def code_points():
    return (c for c in range(0x110000) if not 0xD800 <= c < 0xE000)


def random_character():
    kind = rng.random()
    if kind < 0.5:
        return rng.choice(HARD)
    low, high = rng.choice([(0x20, 0x7F), (0x80, 0x3000), (0x4E00, 0x9FFF), (0xE000, 0x110000)])
    return chr(rng.randrange(low, high))


def random_text():
    return "".join(random_character() for _ in range(rng.randrange(1, 40))).replace(SEPARATOR, "")


def random_bytes():
    """Characters that Unicode knew by the time of this Python's tables, so that no two libraries disagree; torn ones."""
    text = "".join(c for c in random_text() if unicodedata.category(c) != "Cn").encode()
    for _ in range(rng.randrange(6)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + bytes([rng.randrange(256)]) + text[at + rng.randrange(2):]
    return text.replace(SEPARATOR.encode(), b"") or b"\xff"


def tokens_of_bytes(case):
    """GPT-2's own way, on text in which each byte that is not UTF-8 stands for itself (a lone surrogate)."""
    for word in regex.findall(PATTERN, case.decode(errors="surrogateescape")):
        yield from encoding._encode_single_piece(word.encode(errors="surrogateescape"))


def of_text(case):
    return encoding.encode_ordinary(case.decode())


compare("every code point", [chr(c).encode() for c in code_points()], of_text)
compare("every code point among letters", [f"a{chr(c)} {chr(c)}1 '{chr(c)}{chr(c)}".encode() for c in code_points()], of_text)
compare("random texts", [text.encode() for text in (random_text() for _ in range(rounds)) if text], of_text)
compare("long words", [(unit * count).encode() for unit in ("a", " ", "ab", "\n", "!", "é", "中文") for count in (24, 48, 49, 50, 5000)],
        of_text)
compare("random bytes", [random_bytes() for _ in range(rounds)], tokens_of_bytes)
