#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a corpus folder and a dictionary for the fuzzer of the front end.

usage: makeCorpus.py SOURCES.txt SCHEME_FOLDER CORPUS_FOLDER DICTIONARY
"""
import glob
import os
import re
import sys


def main(sources, schemes, corpus, dictionary):
    os.makedirs(corpus, exist_ok=True)
    texts = {}
    for path in sorted(glob.glob(os.path.join(schemes, "*.torsor"))):
        texts[os.path.basename(path)] = open(path, encoding="utf-8").read()
    for part in open(sources, encoding="utf-8").read().split("=== ")[1:]:
        name, _, body = part.partition("\n")
        texts["wrong-" + name] = body
    for name, text in texts.items():
        with open(os.path.join(corpus, name), "w", encoding="utf-8") as out:
            out.write(text)
    words = sorted({w for text in texts.values()
                    for w in re.findall(r"[A-Za-z_]\w*|[<>=!.-]{2}", text)})
    with open(dictionary, "w", encoding="utf-8") as out:
        out.writelines(f'"{word}"\n' for word in words)


if __name__ == "__main__":
    main(*sys.argv[1:])
