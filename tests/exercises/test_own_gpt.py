"""The solution of `OwnGPT` takes GPT-2's files as its task says: by the library's class, and logits equal to theirs."""
from __future__ import annotations

import json
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import AutoregressiveModel, Categorical
from tests.conftest import ROOT

transformers = pytest.importorskip("transformers")


def cell(role: str) -> str:
    cells = json.loads((ROOT / "solutions" / "21-gpt.ipynb").read_text("utf-8"))["cells"]
    return next("".join(each["source"]) for each in cells
                if each["metadata"].get("course") == {"exercise": "OwnGPT", "role": role})


def test_it_takes_the_weights_of_gpt_2(tmp_path):
    torch.manual_seed(0)
    sizes = dict(vocab_size=13, n_positions=10, n_embd=12, n_layer=2, n_head=3, n_inner=20, bos_token_id=1, eos_token_id=1)
    theirs = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)).eval()
    with torch.no_grad():
        for p in theirs.parameters():
            p.add_(0.3 * torch.randn(p.shape))
    theirs.save_pretrained(tmp_path)
    names = {"nn": nn, "F": F, "torch": torch, "AutoregressiveModel": AutoregressiveModel, "Categorical": Categorical}
    exec(cell("answer"), names)                                            # the solution of the repository itself
    said = re.search(r"```python\n(.*?)```", cell("task"), re.DOTALL)[1]
    for published, here in (('"gpt2"', repr(str(tmp_path))), ("50257", "13"), ("1024", "10"), ("layers=12", "layers=2"),
                            ("heads=12", "heads=3"), ("d_model=768", "d_model=12"), ("d_ff=3072", "d_ff=20"), ("50256", "1")):
        assert published in said
        said = said.replace(published, here)
    exec(said, names)
    tokens = torch.randint(0, 13, (3, 10))
    torch.testing.assert_close(names["own"](tokens), theirs(tokens).logits, rtol=1e-5, atol=1e-5)
