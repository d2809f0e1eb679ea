"""Blocks of output in Markdown beside what was printed: for `.ci/examples` and `.ci/book`."""
import re

WALL_TIME = re.compile(r"\s*\b\d[\d.,]* (?:s|ms|min)\b")


def comparable(line):
    """A line without trailing blanks, and with any wall time replaced."""
    return WALL_TIME.sub(" TIME", line.rstrip())


def compare_block(path, first, text, output):
    """Number of lines of a block that were compared, and that are not in the output, which are printed.

    The lines of a block must be lines of the output, in this order. Blank lines and lines with `...` alone are skipped.
    """
    printed = [comparable(line) for line in output.splitlines()]
    at = compared = missing = 0
    for number, line in enumerate(text.splitlines(), first + 1):
        if line.strip() in ("", "..."):
            continue
        compared += 1
        line = comparable(line)
        if line in printed[at:]:
            at = printed.index(line, at) + 1
        else:
            missing += 1
            print(f"{path}:{number}: expected a line of the output, found {line!r}", flush=True)
    return compared, missing
