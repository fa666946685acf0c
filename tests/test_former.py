"""Names that changed: imports, arguments, notebooks and stored weights go on, or say what to write."""
from __future__ import annotations

import ast
import importlib

import pytest

import course_lib
from course_lib import former, hub
from course_lib.counting import ClassNGram, NGram
from course_lib.decoding import beam_search, greedy
from course_lib.density import FVSBN
from course_lib.grading.reading.imports import modernized
from course_lib.transformer import GPTConfig, mask_tokens


@pytest.mark.parametrize("name", former.MODULES)
def test_a_former_module_says_where_its_contents_are(name):
    with pytest.raises(ImportError, match=f"^{name} is {former.MODULES[name]} since version 0.2$"):
        importlib.import_module(name)
    importlib.import_module(former.MODULES[name])


def test_the_former_package_says_where_each_name_is():
    for home, names in former.TEXT.items():
        for name in names:
            with pytest.raises(ImportError, match=f"^course_lib.text.{name} is {home}.{name} since version 0.2$"):
                exec(f"from course_lib.text import {name}", {})
            assert hasattr(importlib.import_module(home), name)
    with pytest.raises(ImportError, match="course_lib.text.Nothing is not a name of version 0.2"):
        exec("from course_lib.text import Nothing", {})


def test_an_unknown_module_is_still_unknown():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("course_lib.texts")


@pytest.mark.parametrize("call, sentence", [
    (lambda: NGram(order=1, vocabulary=5), "order=1 was given; n counts the symbols of a window since version 0.2: a bigram"),
    (lambda: NGram(n=2, vocabulary=5), "vocabulary=5 was given; the argument is vocab_size since version 0.2"),
    (lambda: ClassNGram([0, 1], order=1), "order=1 was given; n counts"),
    (lambda: GPTConfig(vocabulary=5), "the argument is vocab_size"),
    (lambda: mask_tokens(None, 0, vocabulary=5), "the argument is vocab_size"),
    (lambda: greedy(FVSBN(2), end=1), "the argument is eos_id"),
    (lambda: beam_search(FVSBN(2), best=1), "the argument is num_return"),
    (lambda: beam_search(FVSBN(2), exponent=1), "the argument is length_penalty"),
])
def test_a_former_argument_says_what_to_write(call, sentence):
    with pytest.raises(TypeError, match=sentence):
        call()


@pytest.mark.parametrize("name", ["Translation", "Factorised", "check_normalised"])
def test_a_former_name_at_the_door_says_the_new_one(name):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; it is {former.NAMES[name]} since version 0.2"):
        getattr(course_lib, name)


@pytest.mark.parametrize("before, after", [
    ("from course_lib.text import NGram, CharTokenizer",
     "from course_lib.counting import NGram\nfrom course_lib.tokenizers import CharTokenizer"),
    ("from course_lib.text.decoding import greedy as g", "from course_lib.decoding import greedy as g"),
    ("from course_lib.transformer import Translation", "from course_lib.transformer import Transformer as Translation"),
    ("from course_lib.transformer.translation import TranslationConfig",
     "from course_lib.transformer.transformer import TransformerConfig as TranslationConfig"),
    ("from course_lib.transformer.bert import BERT, TaskHead",
     "from course_lib.transformer.bert import BERT\nfrom course_lib.transformer.task_heads import TaskHead"),
    ("from course_lib.data import load", "from course_lib.data import load_data as load"),
    ("from course_lib.contract import check_normalised", "from course_lib.contract import check_normalized as check_normalised"),
    ("from course_lib.density import NADE", "from course_lib.density import NADE"),
    ("from elsewhere import Translation", "from elsewhere import Translation"),
])
def test_a_notebook_from_before_is_read_with_todays_names(before, after):
    read = [new for node in ast.parse(before).body for new in modernized(node)]
    assert "\n".join(map(ast.unparse, read)) == after
    for node in read:                                                # and what it says can be imported
        if node.module.startswith("course_lib"):
            home = importlib.import_module(node.module)
            assert all(hasattr(home, one.name) for one in node.names)


@pytest.mark.parametrize("name", former.MOVED)
def test_what_left_its_module_is_found_there_with_a_warning(name):
    module, _, member = name.rpartition(".")
    with pytest.warns(DeprecationWarning, match=f"^{name} is {former.MOVED[name]}.{member} since version 0.2$"):
        found = {}
        exec(f"from {module} import {member}", found)
    assert found[member] is getattr(importlib.import_module(former.MOVED[name]), member)
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'Nothing'"):
        _ = importlib.import_module(module).Nothing


@pytest.mark.parametrize("module, before, after", [
    ("data", "load", "load_data"), ("transformer.blocks", "EncoderBlock", "TransformerBlock"),
    ("density.tabular", "Factorised", "Factorized"), ("transformer", "Translation", "Transformer"),
])
def test_a_former_name_asked_of_its_module_says_the_new_one(module, before, after):
    with pytest.raises(ImportError, match=f"^{before} is {after} since version 0.2: from course_lib.{module} import {after}$"):
        exec(f"from course_lib.{module} import {before}", {})
    with pytest.raises(AttributeError, match=f"module 'course_lib.{module}' has no attribute 'Nothing'"):
        _ = importlib.import_module(f"course_lib.{module}").Nothing


@pytest.mark.parametrize("before, after", former.WEIGHTS.items())
def test_weights_are_found_under_their_former_name(before, after):
    assert hub.card(before) == hub.card(after)
    assert before not in hub.available() and after in hub.available()
