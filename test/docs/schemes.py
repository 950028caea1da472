#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The index of examples/schemes: writes docs/schemes.md, or checks it.

usage: schemes.py ROOT (--write | --check)

Everything comes from the files: the comment at the head of a file, and the
documentation of its schemes and stacks.
"""
import pathlib
import re
import sys

SECTIONS = {
    "a": "Added to embeddings", "b": "Terms of the logit", "c": "Rotations", "d": "Rescaled frequencies",
    "e": "Decays, gates and states", "f": "Groups and chains", "g": "Regions of distance",
    "h": "No position, and stacks of published models", "i": "Masks, sinks, norms and gains", "x": "Other places"}


def head_comment(text):
    """The lines of `//` that stand before the first definition, as one line."""
    lines = []
    for line in text.splitlines()[1:]:
        if re.match(r"//(?!/)", line):
            lines.append(line[2:].strip())
        elif line.strip() and not lines:
            return ""
        elif lines:
            break
    return re.sub(r"\s+", " ", " ".join(lines))


def definitions(text):
    """[(kind, name, first line of its documentation)]"""
    found, doc = [], ""
    for line in text.splitlines():
        if line.startswith("///"):
            doc = doc or line[3:].strip()
            continue
        match = re.match(r"(scheme|stack)\s+(\w+)", line)
        if match:
            found.append((match.group(1), match.group(2), doc))
        if not line.startswith("//"):
            doc = ""
    return found


def render(root):
    out = ["# The schemes of `examples/schemes`", "",
           "Written by `python3 test/docs/schemes.py . --write` from the files; a test fails when it is not true any "
           "more.", ""]
    section = ""
    for path in sorted((root / "examples/schemes").glob("*.torsor")):
        text = path.read_text()
        if path.name[0] != section:
            section = path.name[0]
            out += [f"## {SECTIONS[section]}", "", "| file | what | schemes and stacks |", "|---|---|---|"]
        names = "; ".join(
            (f"stack `{name}`" if kind == "stack" else f"`{name}`") + (f": {doc}" if doc else "")
            for kind, name, doc in definitions(text))
        cells = [f"[`{path.stem}`](../examples/schemes/{path.name})", head_comment(text), names]
        out.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        following = sorted(p.name for p in (root / "examples/schemes").glob("*.torsor") if p.name > path.name)
        if not following or following[0][0] != section:
            out.append("")
    return "\n".join(out).rstrip() + "\n"


def main(root, mode):
    root = pathlib.Path(root)
    page, text = root / "docs/schemes.md", render(root)
    if mode == "--write":
        page.write_text(text)
        return 0
    if page.exists() and page.read_text() == text:
        return 0
    print("docs/schemes.md is not what the files say; run: python3 test/docs/schemes.py . --write")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
