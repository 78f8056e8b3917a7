"""Prints unicode_class_table.inc: python3 -m pip install unicodedata2==16.0.0; python3 unicode_class.py >unicode_class_table.inc

Letters are general category L*, numbers N*, white space is the property White_Space, which Python has no name for and which
has not changed since Unicode 6.3. The version is the one that tiktoken 0.14 splits by (its Rust library's tables);
the regex module that GPT-2 was published with split by whatever Unicode its release knew.
"""
import unicodedata2 as unicodedata

WHITE_SPACE = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
OTHER, LETTER, NUMBER, SPACE = range(4)


def class_of(code_point):
    if code_point in WHITE_SPACE:
        return SPACE
    return {"L": LETTER, "N": NUMBER}.get(unicodedata.category(chr(code_point))[0], OTHER)


def changes():
    """4 x first code point + class, of each run of code points of one class."""
    before = None
    for code_point in range(0x110000):
        now = class_of(code_point)
        if now != before:
            yield 4 * code_point + now
        before = now


numbers = [f"{n:#x}," for n in changes()]
print(f"// Unicode {unicodedata.unidata_version}; written by unicode_class.py: 4 x first code point + class of each run.")
line = ""
for number in numbers:
    if len(line) + len(number) + 1 > 110:
        print(line)
        line = ""
    line += (" " if line else "") + number
print(line)
