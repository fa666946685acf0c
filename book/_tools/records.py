"""What chapters show of the records: benchmarks/results/ and benchmarks/papers.toml to course_lib/records.json."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from book._tools.results_page import read
from course_lib.records import FILE

SHOWN = (                                                           # in the order of the chapters
    "independent-binarized-mnist independent-caltech-silhouettes nade-binarized-mnist nade-caltech-silhouettes rnade-red-wine levels-digits "
    "levels-patches made-digits made-binarized-mnist-8000 lstm-tiny-shakespeare gru-tiny-shakespeare speed-rnn-step "
    "speed-lstm-step speed-gru-step speed-recurrent-reading speed-recurrent-drawing copying as-many "
    "fvsbn-binarized-mnist pixelcnn-binarized-mnist gated-pixelcnn-binarized-mnist pixels-digits "
    "pixels-digits-seconds colours-cifar10 speed-pixels-scoring attacks-digits writers-digits clothes-and-digits "
    "word-vectors word-documents word-topics word-settings cloze-english multitask-ewt elmo-english elmo-ewt "
    "elmo-ewt-tuned speed-text-convolution looking-back-tiny-shakespeare seq2seq-multi30k gpt-agreement-seeds "
    "residual-depth translation-multi30k-800 translation-multi30k habits-small habits-multi30k passive-to-active "
    "gpt-tiny-shakespeare gpt-tiny-shakespeare-long gpt-tiny-shakespeare-seeds ngram-tiny-shakespeare "
    "speed-gpt-cache bert-english bert-english-twin bert-english-chance bert-ewt bert-ewt-tuned twins-stories "
    "using-reviews objectives-stories masks-stories noises-stories conditional-stories deberta-terms using-layers "
    "using-probing using-retrieval using-tuning using-adaptation using-forgetting using-few using-heads "
    "using-answers"
).split()
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


def wanted() -> dict[Path, str]:
    return {FILE: copy(*read())}
