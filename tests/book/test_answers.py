"""A chapter that shows what an exercise asks for folds it, and says so before."""
from __future__ import annotations

import re

from course_lib.grading import EXERCISES
from course_lib.grading.assignments import form
from tests.conftest import ROOT

# what a chapter shows, whose source is the answer: the exercise's name
ANSWERS = {
    'show.source(NADE, "one_by_one")': "nade_loglik", "show.source(made_masks)": "made_masks",
    'show.source(Mixture, "log_prob", "loss")': "ensemble_loglik", "show.source(attention_weights)": "attention",
    "show.source(attention)": "attention", "show.source(CombinedPositions)": "combined_position",
    "show.source(sinusoidal)": "positional_encoding", "show.source(layer_norm)": "layer_norm",
    "show.source(GPT.loss)": "next_token_loss", "show.source(keep_top_k)": "top_k_filter", "show.source(keep_top_p)": "top_p_filter",
}
OTHERS = {"show.source(beam_search)"}                   # of an exercise's name, by another rule than the exercise's
CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]-*.ipynb"))


def shown() -> list[tuple[str, str, bool, str]]:
    """Each cell that shows a source: the chapter, the cell, whether its output is folded, the text before it."""
    found, text = [], ""
    for path in CHAPTERS:
        for cell in form.read(path)["cells"]:
            source = "".join(cell["source"]).strip()
            if cell["cell_type"] == "markdown":
                text = source
            elif source.startswith("show.source("):
                found.append((path.name[:2], source, "hide-output" in cell["metadata"].get("tags", []), text))
    return found


def test_what_answers_an_exercise_is_folded_and_the_exercise_named():
    for source, id in ANSWERS.items():
        [(chapter, _, folded, text)] = [one for one in shown() if one[1] == source]
        assert folded and EXERCISES[id].chapter == chapter, source
        assert f"`{id}`" in text and f"](../exercises/{chapter}-" in text, source


def test_a_source_of_an_exercises_name_is_among_them():
    named = {source for _, source, _, _ in shown() if (name := re.match(r"show\.source\((\w+)\)", source)) and name[1] in EXERCISES}
    assert OTHERS <= named <= ANSWERS.keys() | OTHERS
