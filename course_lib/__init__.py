"""Autoregressive models and transformers, from the chain rule to BERT: the library of the course.

The names below, among them the models, families of conditionals, contract checks, training and decoding functions, are
imported when they are first used. Everything else is in a subpackage: `course_lib.density`, `course_lib.transformer`,
...

>>> import course_lib
>>> print(course_lib.NADE(784, 500))
NADE(n=784, hidden=500, conditional=Bernoulli())
"""

from __future__ import annotations

from importlib import import_module  # not typing: `python -m course_lib.grading` would take a student's typing.py

__version__ = "0.2.0"

_EXPORTS = {
    "autoregressive": ("AutoregressiveModel",),
    "conditional": ("Bernoulli", "Categorical", "DiscretizedLogisticMixture", "MixtureOfGaussians"),
    "contract": ("ContractError", "check_all", "check_causal", "check_normalized", "check_samples",
                 "check_views_agree"),
    "tokenizers": ("BytePairTokenizer", "CharTokenizer", "WordPieceTokenizer", "WordTokenizer"),
    "data": ("load_data",),
    "training": ("evaluate", "fit", "perplexity"),
    "hub": ("load", "save"),
    "decoding": ("beam_search", "exhaustive", "greedy", "sample", "stochastic_beam"),
    "basics": ("LogisticRegression", "MLP", "Value"),
    "counting": ("ClassNGram", "MarkovChain", "NGram"),
    "density": ("Autoencoder", "CPT", "FVSBN", "Factorized", "Logistic", "MADE", "Mixture", "NADE", "Neural", "Tabular"),
    "recurrent": ("AttentiveLM", "RecurrentLM", "Seq2Seq"),
    "pixels": ("DiagonalBiLSTM", "GatedPixelCNN", "ImageClassifier", "PixelCNN", "RowLSTM"),
    "words": ("BiLM", "NeuralLM", "WordVectors"),
    "transformer": ("BERT", "BERTConfig", "GPT", "GPTConfig", "RotaryGPT", "RotaryGPTConfig", "Transformer",
                    "TransformerConfig", "attention", "causal_mask"),
    "transformer.denoising": ("BART", "BARTConfig", "ELECTRA", "T5", "T5Config", "XLNet"),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}
_SUBMODULES = ("autoregressive", "basics", "conditional", "contract", "counting", "data", "decoding", "density", "exercises",
               "explorables", "grading", "hub", "pixels", "records", "recurrent", "show", "tokenizers", "training",
               "transformer", "using", "validation", "words")
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULE_OF[name]}")
    if name == "attention":                                          # the function, not the module of the same name
        module = import_module(f"{__name__}.transformer.attention")
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
