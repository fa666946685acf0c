"""Compare speed with peers, by the name of a comparison.

    python -m benchmarks.speed                 every comparison
    python -m benchmarks.speed NAME [NAME ...]

A comparison whose peer is in no package index is skipped, with a message, unless the folder PEERS holds the peer.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import torch

from benchmarks import store
from benchmarks.speed.comparison import NoPeer
from benchmarks.speed.comparisons import COMPARISONS
from benchmarks.speed.timing import extra_memory, interleaved, ratio, summary


def measure(name: str, rounds: int, results: Path = store.RESULTS) -> dict[str, Any]:
    """Measure a comparison on one thread, write its record, and return it."""
    torch.set_num_threads(1)
    comparison = COMPARISONS[name]()
    seconds = interleaved(comparison.contenders, rounds)
    for contender, parts in comparison.parts.items():
        seconds[contender] = [parts * value for value in seconds[contender]]
    measured = ratio(seconds[comparison.slow], seconds[comparison.fast])
    record = {"name": name, "kind": "speed", "command": f"python -m benchmarks.speed {name}", "title": comparison.title,
              "text": comparison.text, "clock": "CPU time of the process, seconds a call", "rounds": rounds,
              "environment": store.environment(torch.device("cpu")),
              "contenders": [{"name": contender, **summary(values), "extra_mebibytes": extra_memory(call)}
                             for (contender, call), values in zip(comparison.contenders.items(), seconds.values())],
              "target": {"between": [comparison.slow, comparison.fast], "measured": float(f"{measured:.4g}")}}
    store.write(record, results)
    return record


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--results", type=Path, default=store.RESULTS, help="folder for the records")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.names if name not in COMPARISONS]
    if unknown:
        parser.error(f"no comparison is called {', '.join(unknown)}; there are: {', '.join(COMPARISONS)}")
    if chosen.rounds < 2:
        parser.error(f"--rounds is {chosen.rounds}; at least 2 are needed for a median and quartiles")
    for name in chosen.names or COMPARISONS:
        try:
            record = measure(name, chosen.rounds, chosen.results)
        except NoPeer as error:
            print(f"{name}: skipped, {error}")
            continue
        print(f"{name}: {record['title']}")
        for c in record["contenders"]:
            print(f"    {c['seconds'] * 1e3:10.2f} ms  {c['extra_mebibytes']:7.1f} MiB  {c['name']}")
        print(f"    {record['target']['measured']:.3g} times")
    print("Then: python book/_tools/generate.py results_page records")
    return 0


if __name__ == "__main__":
    sys.exit(main())
