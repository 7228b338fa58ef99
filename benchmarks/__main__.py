"""``python -m benchmarks [topic ...]``: measure and judge; see README.md for what each number means."""

from __future__ import annotations

import argparse
import importlib
import json

from benchmarks import environment
from benchmarks.harness import PAIRS, Report

TOPICS = {
    "matmul": "floating matrix products against float32 BLAS",
    "integers": "8-bit and bfloat16 products",
    "masks": "masked assignment and np.where over 16 Mi elements",
    "bundles": "what a tiny bundle costs",
    "codegen": "traffic over the lower bound, wasted cells, code size, and what each technique is worth",
    "compiling": "from a function to an image",
    "importing": "import ptoc as a whole process",
    "simulator": "single bundle kinds and a hand-written product, without the compiler",
    "vector": "elementwise operations and reductions on tiles of 64 KiB against numpy",
    "isa": "assembling and disassembling",
}


def main() -> int:
    environment.clean()
    lines = [f"  {topic:<12} {text}" for topic, text in TOPICS.items()]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure and judge; without topics, all of them.",
        epilog="\n".join(["topics:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("topics", nargs="*", metavar="topic", help="what to measure")
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"turns of each comparison (default: {PAIRS})")
    parser.add_argument("--json", metavar="OUT", help="write the results as JSON too")
    options = parser.parse_args()
    unknown = [topic for topic in options.topics if topic not in TOPICS]
    if unknown:
        parser.error(f"no topic is called {', '.join(unknown)}; there are {', '.join(TOPICS)}")
    if options.pairs < 2:
        parser.error("a spread needs at least two pairs")
    found = environment.describe()
    for key, value in found.items():
        print(f"{key}: {value}")
    reports = []
    for topic in options.topics or TOPICS:
        print(f"\n{topic}: {TOPICS[topic]}")
        report = Report(topic, options.pairs)
        importlib.import_module(f"benchmarks.{topic}").measure(report)
        reports.append(report)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"environment": found, "reports": [report.as_json() for report in reports]}, file, indent=1)
    missed = [f"{report.topic}: {row.what}" for report in reports for row in report.rows if not row.holds]
    print(f"\n{'MISSED: ' + '; '.join(missed) if missed else 'all limits hold'}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
