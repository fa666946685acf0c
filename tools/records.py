"""What chapters show of the records: benchmarks/results/ and benchmarks/papers.toml to course_lib/records.json.

    python tools/records.py            write the copy
    python tools/records.py --check    fail if it is stale
"""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from course_lib.records import FILE  # noqa: E402
from tools.results_page import read  # noqa: E402

SHOWN = (
    "independent-caltech-silhouettes",                               # chapter 03
    "nade-binarized-mnist",                                          # chapter 04
    "nade-caltech-silhouettes",                                      # chapter 04
    "rnade-red-wine",                                                # chapter 05
    "made-digits",                                                   # chapter 06
    "made-binarized-mnist-8000",                                     # chapter 06
    "lstm-tiny-shakespeare",                                         # chapter 07
    "gru-tiny-shakespeare",                                          # chapter 07
    "pixels-digits",                                                 # chapter 08
    "attacks-digits",                                                # chapter 09
    "word-vectors",                                                  # chapter 10
    "word-documents",                                                # chapter 10
    "word-topics",                                                   # chapter 10
    "multitask-ewt",                                                 # chapter 11
    "elmo-english",                                                  # chapter 11
    "elmo-ewt",                                                      # chapter 11
    "seq2seq-multi30k",                                              # chapter 12
    "translation-multi30k-800",                                      # chapter 15
    "translation-multi30k",                                          # chapter 15
    "gpt-tiny-shakespeare",                                          # chapter 16
    "ngram-tiny-shakespeare",                                        # chapter 16
    "speed-gpt-cache",                                               # chapter 16
    "bert-english",                                                  # chapter 18
    "bert-ewt",                                                      # chapter 18
    "bert-sst2",                                                     # chapter 18
    "bag-of-words-sst2",                                             # chapter 18
    "objectives-stories",                                            # chapter 19
    "noises-stories",                                                # chapter 19
    "using-probing",                                                 # chapter 20
    "using-retrieval",                                               # chapter 20
    "using-answers",                                                 # chapter 20
)


def copy(records: list[dict], papers: dict[str, Any]) -> str:
    """The text of the copy: of each record that is shown, the figures and what papers say of the same data, where read."""
    by_name = {record["name"]: record for record in records}
    shown = {}
    for name in SHOWN:
        record = by_name[name]
        if record["kind"] == "speed":
            rows = [{"model": each["name"], "seconds": each["seconds"]} for each in record["contenders"]]
            shown[name] = {"unit": record["clock"], "note": f"{record['title']}. {record['text']}",
                           "command": record["command"], "rows": rows, "papers": []}
            continue
        rows = [{key: row[key] for key in ("model", "parameters", "test")} for row in record["rows"]]
        beside = [{key: figure[key] for key in ("model", "value", "authors", "source", "by") if key in figure}
                  for figure in papers["figure"] if figure["data"] == record["data"]["name"] and "value" in figure]
        shown[name] = {key: record[key] for key in ("unit", "note", "command")} | {"rows": rows, "papers": beside}
    return json.dumps(shown, indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    text = copy(*read())
    if "--check" not in arguments:
        FILE.write_text(text, encoding="utf-8")
        return 0
    if FILE.exists() and FILE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{FILE.relative_to(ROOT)} is stale: run `python tools/records.py`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
