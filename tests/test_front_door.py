"""`import course_lib`: quick, and everything that a newcomer looks for is there; a model says what it is and is called."""
from __future__ import annotations

import importlib
import json
import subprocess
import sys

import pytest
import torch
from torch.distributions import Distribution

import course_lib
from course_lib import hub
from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical, Conditional
from course_lib.density import FVSBN, NADE
from tests.conftest import ROOT
from tests.support import zoo


def in_a_new_python(code: str) -> dict:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- the names --------------------------------------------------------------------------------------------------------


def test_import_is_light():
    brought = in_a_new_python("import json, sys; before = set(sys.modules); import course_lib; dir(course_lib); "
                              "print(json.dumps(sorted(set(sys.modules) - before)))")
    own = [name for name in brought if name.startswith("course_lib")]
    assert own == ["course_lib"]                                    # what takes the time is imported at first use
    large = {"torch", "numpy", "scipy", "sklearn", "matplotlib", "jaxtyping", "tqdm", "pooch", "anywidget", "IPython"}
    assert not large & {name.partition(".")[0] for name in brought}


def test_names_listed():
    wanted = {"FVSBN", "NADE", "MADE", "Mixture", "Tabular", "NGram", "GPT", "BERT", "Transformer", "Autoencoder",
              "AutoregressiveModel", "Bernoulli", "Categorical", "MixtureOfGaussians", "DiscretizedLogisticMixture",
              "check_all", "fit", "evaluate", "load", "save", "load_data", "greedy", "beam_search", "sample",
              "exhaustive", "stochastic_beam", "attention", "causal_mask", "CharTokenizer", "perplexity"}
    assert wanted <= set(dir(course_lib)) and wanted <= set(course_lib.__all__)
    for name in course_lib.__all__:
        assert callable(getattr(course_lib, name)), name
    assert course_lib.load is hub.load and course_lib.NADE is NADE
    assert {"__version__", "__all__"} <= set(dir(course_lib))


def test_packages_by_name():
    found = in_a_new_python("import json, course_lib; rooms = [n for n in dir(course_lib) if n in course_lib._SUBMODULES]; "
                            "print(json.dumps([getattr(course_lib, n).__name__ for n in rooms]))")
    folder = ROOT / "course_lib"
    there = {path.stem if path.is_file() else path.name for path in folder.iterdir()
             if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert found == [f"course_lib.{name}" for name in sorted(there - {"__init__", "files"})]


def test_attention_function_and_module():
    found = in_a_new_python("import json, types; from course_lib import attention; from course_lib import transformer; "
                            "print(json.dumps([callable(attention), isinstance(transformer.attention, types.ModuleType), "
                            "transformer.attention.attention is attention]))")
    assert found == [True, True, True]


def test_unknown_name():
    for module in ("course_lib", "course_lib.transformer", "course_lib.density", "course_lib.contract"):
        with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'nothing'"):
            _ = importlib.import_module(module).nothing
        with pytest.raises(ImportError, match="cannot import name 'nothing'"):
            exec(f"from {module} import nothing")


# --- the models -------------------------------------------------------------------------------------------------------

MODELS = [name for name in hub.MODULES if not isinstance(zoo.make(name), Conditional)]


def test_repr_own_model():
    class Coin(AutoregressiveModel):
        pass

    assert str(Coin(3)) == "Coin(n=3, conditional=Bernoulli())"
    assert str(Coin(None, Categorical(4))) == "Coin(n=None, conditional=Categorical(4))"
    assert str(FVSBN(20, range(19, -1, -1))) == "FVSBN(n=20, order=[19, 18, 17, 16, 15, 14, ... 20 entries])"


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_models_callable(name):
    model, batch = zoo.make(name), zoo.inputs(name)
    out = model(*batch)
    if name in ("GPT", "RotaryGPT", "RecurrentLM", "AttentiveLM"):                # the logits of the next token
        assert out.shape == (3, 4, 5)
    elif name == "Mixture":
        assert torch.equal(out, model.log_prob(*batch))
    elif isinstance(model, AutoregressiveModel):
        assert isinstance(out, Distribution) and out.batch_shape == (3, 4)
        assert torch.equal(out.log_prob(model.check_input(*batch)), model.conditionals(*batch).log_prob(model.check_input(*batch)))
        torch.testing.assert_close(out.log_prob(model.check_input(*batch)).sum(1), model.log_prob(*batch))
