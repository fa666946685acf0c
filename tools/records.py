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
    "levels-digits", "levels-patches",                               # chapter 05
    "made-digits",                                                   # chapter 06
    "made-binarized-mnist-8000",                                     # chapter 06
    "lstm-tiny-shakespeare",                                         # chapter 07
    "gru-tiny-shakespeare",                                          # chapter 07
    "speed-rnn-step", "speed-lstm-step", "speed-gru-step",           # chapter 07
    "speed-recurrent-reading", "speed-recurrent-drawing",            # chapter 07
    "copying", "as-many",                                            # chapter 07
    "fvsbn-binarized-mnist", "pixelcnn-binarized-mnist",             # chapter 08
    "gated-pixelcnn-binarized-mnist",                                # chapter 08
    "pixels-digits",                                                 # chapter 08
    "pixels-digits-seconds",                                         # chapter 08
    "colours-cifar10",                                               # chapter 08
    "speed-pixels-scoring",                                          # chapter 08
    "attacks-digits",                                                # chapter 09
    "writers-digits",                                                # chapter 09
    "clothes-and-digits",                                            # chapter 09
    "word-vectors",                                                  # chapter 10
    "word-documents",                                                # chapter 10
    "word-topics",                                                   # chapter 10
    "word-settings",                                                 # chapter 10
    "cloze-english",                                                 # chapter 11
    "multitask-ewt",                                                 # chapter 11
    "elmo-english",                                                  # chapter 11
    "elmo-ewt", "elmo-ewt-tuned",                                    # chapter 11
    "speed-text-convolution",                                        # chapter 11
    "looking-back-tiny-shakespeare",                                 # chapter 12
    "seq2seq-multi30k",                                              # chapter 12
    "gpt-agreement-seeds",                                           # chapter 13
    "residual-depth",                                                # chapter 15
    "translation-multi30k-800",                                      # chapter 15
    "translation-multi30k",                                          # chapter 15
    "habits-small", "habits-multi30k",                               # chapter 15
    "passive-to-active",                                             # chapter 15
    "gpt-tiny-shakespeare", "gpt-tiny-shakespeare-long",            # chapter 16
    "gpt-tiny-shakespeare-seeds",                                    # chapter 16
    "ngram-tiny-shakespeare",                                        # chapter 16
    "speed-gpt-cache",                                               # chapter 16
    "bert-english", "bert-english-twin", "bert-english-chance",      # chapter 18
    "bert-ewt", "bert-ewt-tuned",                                    # chapter 18
    "twins-stories",                                                 # chapter 18
    "using-reviews",                                                 # chapter 18
    "objectives-stories", "masks-stories",                           # chapter 19
    "noises-stories",                                                # chapter 19
    "conditional-stories",                                           # chapter 19
    "deberta-terms",                                                 # chapter 19
    "using-layers",                                                  # chapter 20
    "using-probing",                                                 # chapter 20
    "using-retrieval",                                               # chapter 20
    "using-tuning",                                                  # chapter 20
    "using-adaptation", "using-forgetting",                          # chapter 20
    "using-few", "using-heads",                                      # chapter 20
    "using-answers",                                                 # chapter 20
)

CURVES = ("pixels-digits-seconds", "looking-back-tiny-shakespeare", "residual-depth",
          "bert-english", "bert-english-chance")                     # whose curves a chapter reads
CHOSEN = ("habits-small", "habits-multi30k", "lstm-tiny-shakespeare", "gru-tiny-shakespeare")  # whose settings a chapter reads
CLOCKED = ("seq2seq-multi30k",)                                      # whose seconds by the clock a chapter reads


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
        kept = ("model", "parameters", "test", *(("curve",) if name in CURVES else ()),
                *(("settings",) if name in CHOSEN else ()), *(("seconds",) if name in CLOCKED else ()))
        rows = [{key: row[key] for key in kept if key in row or key != "curve"} for row in record["rows"]]      # counts have none
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
