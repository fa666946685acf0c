"""Names that changed with version 0.2, and what to write instead: one table for imports, arguments, files and notebooks.

An import of a former module raises an ImportError that says where its contents are; a call with a former argument a
TypeError that says what to write; stored weights under a former name, class or argument load as they did. A name that left
a module which is still there can be imported from it, with a warning.
"""

from __future__ import annotations

import functools
import importlib
import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable

MODULES = {                                                          # former module -> where its contents are
    "course_lib.text.tokenizers": "course_lib.tokenizers",
    "course_lib.text.byte_pairs": "course_lib.tokenizers.byte_pairs",
    "course_lib.text.word_pieces": "course_lib.tokenizers.word_pieces",
    "course_lib.text.pair_merging": "course_lib.tokenizers.merging",
    "course_lib.text.batching": "course_lib.tokenizers.batching",
    "course_lib.text.sequences": "course_lib.tokenizers.sequences",
    "course_lib.text.ngram": "course_lib.counting.ngram",
    "course_lib.text.class_ngram": "course_lib.counting.class_ngram",
    "course_lib.text.classes": "course_lib.counting.brown",
    "course_lib.text.counts": "course_lib.counting.counts",
    "course_lib.text.markov": "course_lib.counting.markov",
    "course_lib.text.packing": "course_lib.counting.packing",
    "course_lib.text.smoothing": "course_lib.counting.smoothing",
    "course_lib.text.metrics": "course_lib.training.metrics",
    "course_lib.text.corpus": "course_lib.data.corpus",
    "course_lib.text.toy_agreement": "course_lib.data.toy_agreement",
    "course_lib.text.toy_stories": "course_lib.data.toy_stories",
    "course_lib.text.toy_translation": "course_lib.data.toy_translation",
    "course_lib.text.toy_voice": "course_lib.data.toy_voice",
    "course_lib.text.decoding": "course_lib.decoding",
    "course_lib.text.prefix_tree": "course_lib.decoding.prefix_tree",
    "course_lib.show_masks": "course_lib.show.masks",
    "course_lib.show_trees": "course_lib.show.trees",
    "course_lib.density.made_sampling": "course_lib.density.made",
    "course_lib.transformer.translation": "course_lib.transformer.transformer",
    "course_lib.grading.evaluate": "course_lib.grading.judge.judge",
    "course_lib.grading.notebook": "course_lib.grading.learner",
    "course_lib.grading.notebooks.gradescope": "course_lib.grading.notebooks.gradescope_autograder",
} | {
    f"course_lib.grading.{name}": f"course_lib.grading.{room}.{name}" for room, names in {
        "classroom": ("gradescope", "judges", "page", "submission", "tables"),
        "exercise": ("checks", "facts"), "judge": ("diagnose", "report"), "reading": ("cells", "extract"),
        "sandbox": ("bubblewrap", "remote"), "sandbox.inside": ("local", "outcome", "wire", "worker"),
    }.items() for name in names
} | {
    f"course_lib.grading.bank.{name}": f"course_lib.grading.bank.{chapter}" for chapter, names in {
        "ch01_chain_rule": ("chain_rule",), "ch03_fvsbn": ("fvsbn",), "ch04_nade": ("nade", "nade_training"),
        "ch05_beyond_binary": ("beyond_binary", "improper", "mixture_training"), "ch06_made": ("made",),
        "ch13_self_attention": ("attention", "heads"), "ch14_positions": ("positions",),
        "ch15_transformer": ("transformer",), "ch16_gpt": ("gpt", "caches"), "ch17_decoding": ("decoding", "truncation"),
        "ch18_bert": ("bert", "masking"),
    }.items() for name in names
}
TEXT = {                                                             # what `course_lib.text` itself offered
    "course_lib.tokenizers": ("BytePairTokenizer", "CharTokenizer", "Tokenizer", "Vocabulary", "WordPieceTokenizer",
                              "WordTokenizer", "pad", "unpad", "vowels"),
    "course_lib.counting": ("ClassNGram", "MarkovChain", "NGram", "brown_classes", "mutual_information"),
    "course_lib.training": ("Bleu", "bits", "bits_per_character", "bits_per_token", "bleu", "nats", "perplexity",
                            "spelling_nats"),
    "course_lib.transformer": ("join_segments",),
}
MOVED = {                                                            # a name that left its module -> where it is
    f"course_lib.transformer.bert.{name}": "course_lib.transformer.task_heads"
    for name in ("QuestionAnswering", "SequenceClassifier", "TaskHead", "TokenClassifier")
} | {"course_lib.transformer.gpt.left_pad": "course_lib.tokenizers"}
NAMES = {                                                            # former name of a class or function -> its name
    "EncoderBlock": "TransformerBlock",
    "Factorised": "Factorized",
    "Translation": "Transformer",
    "TranslationConfig": "TransformerConfig",
    "check_normalised": "check_normalized",
    "initialise": "initialize",
}
HOOKS = {"_ancestral": "draw_all", "_variable": "variable_at"}       # what models overrode, and nothing would call now
WEIGHTS = {                                                          # former name of stored weights -> their name
    "ngram-0-tiny-shakespeare": "unigram-tiny-shakespeare",
    "ngram-1-tiny-shakespeare": "bigram-tiny-shakespeare",
    "ngram-2-tiny-shakespeare": "trigram-tiny-shakespeare",
    "ngram-3-tiny-shakespeare": "4-gram-tiny-shakespeare",
    "ngram-4-tiny-shakespeare": "5-gram-tiny-shakespeare",
    "ngram-5-tiny-shakespeare": "6-gram-tiny-shakespeare",
}
ARGUMENTS: dict[str, dict[str, str]] = {}                            # function or class -> its former arguments: `renamed`


def module_of(name: str, member: str | None = None) -> str | None:
    """Today's module for a former one, or for a member of it; None if the name was never another's."""
    if name == "course_lib.text":
        homes = [home for home, members in TEXT.items() if member in members]
        return homes[0] if homes else MODULES.get(f"{name}.{member}", "course_lib").rpartition(".")[0] or None
    for former in sorted(MODULES, key=len, reverse=True):
        if name == former or name.startswith(former + "."):
            return MODULES[former] + name[len(former):]
    return None


def today(name: str) -> str | None:
    """The dotted name of what took the place of `name`, a module or something in one; None where nothing did."""
    if name in MODULES:
        return MODULES[name]
    if name in MOVED:
        return f"{MOVED[name]}.{name.rpartition('.')[2]}"
    module, _, member = name.rpartition(".")
    if name == "course_lib.data.load":
        return "course_lib.data.load_data"
    if module == "course_lib.text":
        home = next((home for home, members in TEXT.items() if member in members), None)
        return None if home is None else f"{home}.{member}"
    home = module_of(module)
    if home is None and member not in NAMES or not name.startswith("course_lib."):
        return None
    return f"{home or module}.{NAMES.get(member, member)}"


class _Former:
    """A finder that knows former modules, asked after all others, and the loader of the package that was divided."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name == "course_lib.text":                                # it held the others: they are asked for through it
            return ModuleSpec(name, _Former, is_package=True)
        if (now := module_of(name)) is not None:
            raise ImportError(f"{name} is {now} since version 0.2", name=name)
        return None

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        def ask(member: str) -> Any:
            if member.startswith("__"):
                raise AttributeError(member)
            name = f"{module.__name__}.{member}"
            now = today(name) or module_of(name)
            where = f"is {now} since version 0.2" if now else "is not a name of version 0.2: see course_lib.former"
            raise ImportError(f"{name} {where}", name=name)

        module.__getattr__ = ask


def refuse_hooks(cls: type) -> None:
    """Raises a TypeError if a class writes a method under a former name: its override would pass unseen."""
    for former in vars(cls).keys() & HOOKS.keys():
        raise TypeError(f"{cls.__name__} defines {former}; it is {HOOKS[former]} since version 0.2")


def watch_imports() -> None:
    """Let the import of a former module say where its contents are."""
    if _Former not in sys.meta_path:
        sys.meta_path.append(_Former)


def attribute_of(module: str, name: str) -> AttributeError:
    """The error for a name that the module lacks: for a former name, with the new one."""
    now = f"; it is {NAMES[name]} since version 0.2" if name in NAMES else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{now}")


def moved(module: str, name: str) -> Any:
    """What left the module for another one, with a DeprecationWarning that says where it is; AttributeError for any other
    name."""
    home = MOVED.get(f"{module}.{name}")
    if home is None:
        raise attribute_of(module, name)
    warnings.warn(f"{module}.{name} is {home}.{name} since version 0.2", DeprecationWarning, stacklevel=3)
    return getattr(importlib.import_module(home), name)


def lacking(module: str, name: str) -> ImportError | AttributeError:
    """The same for a module that had the former name: then an ImportError, for `from module import name` would replace
    the sentence of an AttributeError by its own."""
    now = (today(f"{module}.{name}") or "").rpartition(".")[2]
    if now and (name in NAMES or now != name):
        return ImportError(f"{name} is {now} since version 0.2: from {module} import {now}", name=name)
    return attribute_of(module, name)


def renamed(**arguments: str) -> Callable:
    """A decorator of a function or a class: a call with a former argument raises a TypeError that says what to write.

    Each is the new name, or a sentence where the meaning changed too. `ARGUMENTS` lists them all.
    """
    def decorate(function: Callable) -> Callable:
        name = f"{function.__module__}.{function.__qualname__}".removesuffix(".__init__")
        ARGUMENTS[name] = arguments
        if isinstance(function, type):
            function.__init__ = guard(function.__init__)
            return function
        return guard(function)

    def guard(function: Callable) -> Callable:
        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            for former, now in arguments.items():
                if former in kwargs:
                    what = now if " " in now else f"the argument is {now} since version 0.2"
                    raise TypeError(f"{former}={kwargs[former]!r} was given; {what}")
            return function(*args, **kwargs)
        return called
    return decorate


def current(name: str, config: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A stored class of the library and its arguments under today's names."""
    name, config = NAMES.get(name, name), dict(config)
    if name in ("NGram", "ClassNGram") and "order" in config:        # it counted the preceding symbols
        config["n"] = config.pop("order") + 1
    if name == "NGram":
        config = _vocab_size(config)
    if name in ("GPT", "BERT") and isinstance(config.get("config"), dict):
        config["config"] = _vocab_size(config["config"])
    return name, config


def _vocab_size(config: dict[str, Any]) -> dict[str, Any]:
    return {"vocab_size" if name == "vocabulary" else name: value for name, value in config.items()}
