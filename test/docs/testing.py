#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which field and oracle cases run: writes docs/testing.md, or checks it.

usage: testing.py ROOT (--write | --check)

A field case runs if a test carries its id, as POS_09 or POS-09, in its name or
its file. Every case of test/field/cases.txt must either run or say there why
not, and not both.
"""
import json
import pathlib
import re
import sys

ID = re.compile(r"(?<![A-Za-z0-9])([A-Z]{3})((?:[-_][0-9]{2})+)(?![0-9])")


def field_cases(root):
    """[(id, symptom, reason or None)]"""
    cases = []
    for line in (root / "test/field/cases.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            parts = [part.strip() for part in line.split(" | ")]
            cases.append((parts[0], parts[1], parts[2] if len(parts) > 2 else None))
    return cases


def tests_by_id(root, known):
    """id -> names of the programs or files that test it"""
    found = {}
    for path in sorted((root / "test").rglob("*")):
        if path.suffix not in (".cpp", ".py", ".test", ".sh", ".json") or path.parent.name == "docs":
            continue
        text = path.read_text(errors="replace")
        if path.suffix == ".cpp":
            text = "\n".join(re.findall(r"^TEST(?:_F|_P)?\(\w+,\s*(\w+)", text, re.M))
            # a name: CFG_03_BandsNeedAllTheirKeys
            text = re.sub(r"_(?=[A-Z][a-z])", " ", text)
        for prefix, numbers in ID.findall(path.name.upper().replace(".", " ") + "\n" + text):
            for number in re.findall(r"[0-9]{2}", numbers):
                case = f"{prefix}-{number}"
                if case in known:
                    found.setdefault(case, set()).add(str(path.relative_to(root / "test")))
    return found


def entries(root, path, name):
    """The pairs of strings in the braces behind `name` of a C++ file."""
    text = (root / path).read_text()
    match = re.search(name + r"[^;]*?\{(.*?)\};", text, re.S)
    if not match:
        return {}
    return {key: re.sub(r'"\s*"', "", value) for key, value in
            re.findall(r'\{\s*"([^"]+)",\s*"((?:[^"]|"\s*")*)"\s*\}', match.group(1))}


def names(root, path, name):
    text = (root / path).read_text()
    match = re.search(name + r"[^;]*?\{(.*?)\};", text, re.S)
    return re.findall(r'"([^"]+)"', match.group(1)) if match else []


def oracle_section(root):
    ids = [case["id"] for case in json.loads((root / "test/oracle/oracle.json").read_text())["cases"]]
    others = entries(root, "test/oracle/OracleTest.cpp", "others")
    constants = names(root, "test/oracle/KernelTest.cpp", "constants")
    refused = entries(root, "test/oracle/KernelTest.cpp", "refused")
    beside = [case for case in others if "turn_fraction" in case]  # bind tables
    on_kernels = len(ids) - len(others) - len(constants) - len(refused) + len(beside)
    lines = ["## Oracle cases", "",
             f"`test/oracle/oracle.json` holds {len(ids)} cases. {len(ids) - len(others)} run in the reference (`oracle-test`), "
             f"{on_kernels} on compiled kernels (`oracle-kernel-test`); the calls of a case are made of both.", "",
             "| not in the reference | why |", "|---|---|"]
    lines += [f"| `{case}` | {why} |" for case, why in sorted(others.items())]
    lines += ["", "| not on kernels | why |", "|---|---|"]
    lines += [f"| `{case}` | {why} |" for case, why in sorted(refused.items())]
    lines += ["", f"{len(constants)} cases make no call of attention (constants of the language, embeddings): "
              + ", ".join(f"`{case}`" for case in sorted(constants)) + ".", ""]
    return lines


def generate(root):
    cases = field_cases(root)
    known = {case for case, _, _ in cases}
    tests = tests_by_id(root, known)
    errors = []
    for case, _, reason in cases:
        if case not in tests and not reason:
            errors.append(f"{case} neither runs nor says why not")
        if case in tests and reason:
            errors.append(f"{case} runs in {', '.join(sorted(tests[case]))}; take the reason out of cases.txt")
    running = [case for case in cases if case[0] in tests]
    lines = ["# What the tests cover", "",
             "Written by `python3 test/docs/testing.py . --write`; a test fails when it is not true any more.", "",
             "## Cases that went wrong in other systems", "",
             f"{len(running)} of {len(cases)} run. The tests carry the id in their name.", "",
             "| case | what was seen | tests |", "|---|---|---|"]
    lines += [f"| {case} | {seen} | {', '.join('`' + t + '`' for t in sorted(tests[case]))} |"
              for case, seen, _ in running]
    lines += ["", "| case that does not run | what was seen | why |", "|---|---|---|"]
    lines += [f"| {case} | {seen} | {reason} |" for case, seen, reason in cases if case not in tests]
    lines += [""] + oracle_section(root)
    return "\n".join(lines), errors


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("--write", "--check"):
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    text, errors = generate(root)
    page = root / "docs/testing.md"
    if sys.argv[2] == "--write":
        page.write_text(text)
    elif not page.exists() or page.read_text() != text:
        errors.append("docs/testing.md is out of date: run python3 test/docs/testing.py . --write")
    for error in errors:
        print(error)
    sys.exit(1 if errors else 0)


main()
