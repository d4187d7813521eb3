"""table.py [--json FILE] RESULTS PART...

Prints what parts of .ci/programs gave natively and on the layer, and exits with 1 if the layer loses a case: one that passes
natively and not on the layer. RESULTS has the files PART.native and PART.layer, whose lines are NAME<tab>OUTCOME<tab>DETAIL.
"""

import argparse
import json
import pathlib
import sys


def read(path):
    """The cases of a file: names to outcomes and details. A name that comes twice counts its worse outcome."""
    cases = {}
    for line in path.read_text(errors="replace").splitlines():
        name, outcome, *detail = line.split("\t")
        if name not in cases or outcome != "pass":
            cases[name] = (outcome, " ".join(detail))
    return cases


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("parts", nargs="+")
    arguments = parser.parse_args()

    absent = ("absent", "")
    lost = 0
    differences = []
    report = {}
    print(f"{'part':<16}{'cases':>8}{'native':>8}{'layer':>8}{'lost':>8}")
    for part in arguments.parts:
        native = read(arguments.results / f"{part}.native")
        layer = read(arguments.results / f"{part}.layer")
        cases = {name: (native.get(name, absent), layer.get(name, absent)) for name in {**native, **layer}}
        passed = [sum(case[side][0] == "pass" for case in cases.values()) for side in (0, 1)]
        lost_here = sum(n[0] == "pass" and l[0] != "pass" for n, l in cases.values())
        # Only the layer has this case: it fails where nothing was tested.
        lost_here += sum(n == absent and l[0] == "fail" for n, l in cases.values())
        lost += lost_here
        print(f"{part:<16}{len(cases):>8}{passed[0]:>8}{passed[1]:>8}{lost_here:>8}")
        # What fails on both sides may do so in another way each time.
        differences += [
            (part, name, n, l) for name, (n, l) in cases.items() if n != l and (n[0], l[0]) != ("fail", "fail")
        ]
        report[part] = [
            {"case": name, "native": n[0], "native_detail": n[1], "layer": l[0], "layer_detail": l[1]}
            for name, (n, l) in cases.items()
        ]
    for part, name, *sides in differences:
        native, layer = (outcome + (f" ({detail})" if detail else "") for outcome, detail in sides)
        print(f"{part}: {name}: natively {native}, on the layer {layer}")
    if not differences:
        print("no case differs")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n")
    return 1 if lost else 0


sys.exit(main())
