"""Store and load trained weights, each with a card that describes the data, the training and the results.

A model is stored as three files. NAME.safetensors holds the tensors, buffers included: the counts of an n-gram are weights too.
NAME.json holds the arguments of the constructor, the size and sha256 of the weights, and the card. NAME.md is the card in
Markdown. The JSON file is written last, and the other two are ignored without it.

`load` builds only the classes that are listed in MODULES or passed to `register`, so a file cannot run code.
"""

from __future__ import annotations

import difflib
import importlib
import json
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as write_tensors
from torch import Tensor, nn

from course_lib.conditional import Conditional
from course_lib.files import sha256, write_atomically

WEIGHTS = Path(__file__).parent / "weights"
FORMAT = "course_lib model 1"
PRINTED = 12                                                         # entries of a list that a card prints one by one

MODULES = {                                                          # class name -> module
    "Tabular": "course_lib.density.tabular",
    "Factorized": "course_lib.density.tabular",
    "CPT": "course_lib.density.tabular",
    "Logistic": "course_lib.density.tabular",
    "Neural": "course_lib.density.tabular",
    "FVSBN": "course_lib.density.fvsbn",
    "NADE": "course_lib.density.nade",
    "MADE": "course_lib.density.made",
    "Autoencoder": "course_lib.density.autoencoder",
    "Mixture": "course_lib.density.mixture",
    "PixelCNN": "course_lib.pixels.pixelcnn",
    "GatedPixelCNN": "course_lib.pixels.gated",
    "RowLSTM": "course_lib.pixels.pixelrnn",
    "DiagonalBiLSTM": "course_lib.pixels.pixelrnn",
    "ImageClassifier": "course_lib.pixels.classifier",
    "MarkovChain": "course_lib.counting.markov",
    "NGram": "course_lib.counting.ngram",
    "ClassNGram": "course_lib.counting.class_ngram",
    "RecurrentLM": "course_lib.recurrent.language_model",
    "AttentiveLM": "course_lib.recurrent.attentive",
    "Seq2Seq": "course_lib.recurrent.seq2seq",
    "WordVectors": "course_lib.words.vectors",
    "BiLM": "course_lib.words.elmo",
    "GPT": "course_lib.transformer.gpt",
    "RotaryGPT": "course_lib.transformer.rotary_gpt",
    "BERT": "course_lib.transformer.bert",
    "SequenceClassifier": "course_lib.transformer.task_heads",
    "TokenClassifier": "course_lib.transformer.task_heads",
    "QuestionAnswering": "course_lib.transformer.task_heads",
    "MultipleChoice": "course_lib.transformer.task_heads",
    "GPTClassifier": "course_lib.transformer.task_heads",
    "Transformer": "course_lib.transformer.transformer",
    "BART": "course_lib.transformer.denoising.bart",
    "T5": "course_lib.transformer.denoising.t5",
    "XLNet": "course_lib.transformer.denoising.xlnet",
    "ELECTRA": "course_lib.transformer.denoising.electra",
    **dict.fromkeys(("Bernoulli", "Categorical", "MixtureOfGaussians", "DiscretizedLogisticMixture"),
                    "course_lib.conditional"),                       # distributions, which are parts of a config
}
_registered: dict[str, type] = {}


class HubError(ValueError):
    """Weights cannot be saved, downloaded or loaded: the model's class is not registered, a download failed, or the
    files are missing, damaged or do not belong to the model.

    >>> from course_lib.density import FVSBN
    >>> class Own(FVSBN):
    ...     pass
    >>> save(Own(4), "folder", "name", Card("a test", "coins", "CC0 1.0", "this example"))
    Traceback (most recent call last):
    course_lib.hub.HubError: 'Own' is not a class that can be stored; ...
    """


@dataclass
class Card:
    """The description of trained weights.

    model     the model, in one sentence
    data      name of the data set
    licence   license of the data; a card without one cannot be saved
    citation  source of the data
    training  {name of a setting of the training run: value}
    results   {name of a measured quantity, with its unit: value}
    notes     further remarks, in Markdown

    >>> about = card("trigram-tiny-shakespeare")
    >>> about.data, about.licence
    ('tiny_shakespeare', 'public-domain text; its home states no licence')
    """

    model: str
    data: str
    licence: str
    citation: str
    training: dict[str, Any] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    notes: str = ""

    def markdown(self, name: str) -> str:
        """Return the card as Markdown text, the content of NAME.md; `name` is its heading."""
        parts = [f"# {name}", self.model,
                 f"## Data\n\n{_table({'data set': self.data, 'licence': self.licence, 'source': self.citation})}"]
        parts += [f"## {title}\n\n{_table(rows)}" for title, rows in
                  (("Training", self.training), ("Measured", self.results)) if rows]
        return "\n\n".join([*parts, self.notes]).rstrip() + "\n"


def save(model: nn.Module, folder: str | Path, name: str, card: Card, dtype: torch.dtype | None = None) -> Path:
    """Store `model` in `folder` as NAME.safetensors, NAME.json and NAME.md; return the path of NAME.safetensors.

    model  a model whose `config` gives the arguments of its constructor. A tensor with two names is stored once
    name   NAME, a file name without folder and suffix
    card   description of the model and its training, a `Card`
    dtype  of the stored floating-point tensors, such as torch.float16; `load` restores the model's. None: unchanged

    Raises ValueError if the card lacks `model`, `data`, `licence` or `citation`, if the class is not registered, if
    JSON cannot represent the config, or if a value is outside the range of `dtype`.
    """
    if not isinstance(card, Card):
        raise ValueError(f"card is {_brief(card)}; expected hub.Card(model, data, licence, citation): the model in one "
                         "sentence, and the name, license and source of its data")
    for what, needed in (("model", "the model in one sentence"), ("data", "the name of the data set"),
                         ("licence", "the license of the data"), ("citation", "the source of the data")):
        if not str(getattr(card, what) or "").strip():
            raise ValueError(f"card.{what} is {getattr(card, what)!r}; expected a text, {needed}")
    if not name or Path(name).name != name or name.startswith("."):
        raise ValueError(f"name is {name!r}; expected a plain file name, such as 'my-model', without folder and suffix, "
                         "that does not begin with a dot")
    folder = Path(folder)
    built = _encode(model)
    tensors, tied = _tensors_once(model)
    weights = write_tensors({key: _stored(key, t, dtype) for key, t in tensors.items()})
    description = {"format": FORMAT, **built, "dtype": _dtype_of(model), "tied": tied,
                   "bytes": len(weights), "sha256": sha256(weights), "card": asdict(card)}
    try:
        text = json.dumps(description, indent=1, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"card, or the config of model, a {type(model).__name__}, cannot be stored as JSON ({error}); "
                         "expected only text, finite numbers, booleans, None, lists and dicts in both") from error
    write_atomically(folder / f"{name}.safetensors", weights)
    write_atomically(folder / f"{name}.md", card.markdown(name).encode())
    write_atomically(folder / f"{name}.json", text.encode())
    return folder / f"{name}.safetensors"


def load(name: str | Path, device: str | torch.device | None = None) -> nn.Module:
    """Load a trained model, in eval mode.

    name    one of `available()`, the path of a folder that contains one model, or the path folder/NAME
    device  device of the returned model; None: the CPU

    The model has the dtype that it had when it was saved, even if its weights are stored in another dtype. Raises
    ValueError if the name is unknown, and HubError, a subclass, if files are damaged or do not belong together.
    """
    path, description = _describe(name)
    weights = path.with_name(path.name + ".safetensors")
    data = weights.read_bytes() if weights.exists() else b""
    if len(data) != description["bytes"] or sha256(data) != description["sha256"]:
        raise HubError(f"{weights} has {len(data)} bytes, sha256 {sha256(data)[:12]}; expected "
                       f"{description['bytes']} bytes, sha256 {description['sha256'][:12]}: the file is damaged, "
                       "incomplete or of another version. Copy it again, or save the model again")
    try:
        tensors = read_tensors(data)
    except SafetensorError as error:
        raise HubError(f"{weights} is not a safetensors file ({error}); save the model again") from error
    try:
        tensors |= {other: tensors[first] for other, first in description["tied"].items()}
        model = _decode(description)
        dtype = getattr(torch, description["dtype"])
    except Exception as error:                                       # a damaged description can fail anywhere
        raise HubError(f"{path.name}.json describes a {description['class']} that cannot be built: "
                       f"{type(error).__name__}: {error}. Copy the file again, or save the model again") from error
    if not isinstance(model, nn.Module):
        raise HubError(f"{path.name}.json describes a {description['class']}, which is a distribution; expected a model")
    if description["dtype"] != _dtype_of(model):                     # only then: a model may mix them by design
        model = model.to(dtype=dtype)
    try:
        missing, unexpected = model.load_state_dict(tensors, strict=False)
    except (RuntimeError, ValueError) as error:
        raise HubError(f"{weights} does not fit {type(model).__name__}: {' '.join(str(error).split())}. Save the model "
                       "again") from error
    if missing or unexpected:
        raise HubError(f"{weights} does not fit {type(model).__name__}: missing are {', '.join(sorted(missing)) or 'none'}, "
                       f"unexpected are {', '.join(sorted(unexpected)) or 'none'}. Save the model again")
    return model.to(device=device).eval()


def card(name: str | Path) -> Card:
    """Return the card of the stored weights `name`, which is as in `load`, without loading the weights."""
    path, description = _describe(name)
    try:
        return Card(**description["card"])
    except TypeError as error:
        raise HubError(f"{path.name}.json contains a card with missing or unknown fields ({error}); expected model, "
                       "data, licence, citation, and if needed training, results, notes") from error


def available(folder: str | Path | None = None) -> list[str]:
    """Return the sorted names of the models in `folder`; None: the models that are part of the package."""
    return sorted(path.stem for path in Path(folder or WEIGHTS).glob("*.json"))


def register(cls: type) -> type:
    """Register your own class `cls`, so that `save` and `load` handle it in this process; usable as a decorator.

    cls  a module or a conditional distribution, whose `config` gives the arguments of its constructor

    Returns `cls`. A registered class of the same module and name is replaced, for example when a notebook cell is run
    again. Raises ValueError if a class of another module is registered under the same name.
    """
    former = _registered.get(cls.__name__, cls)
    if cls.__name__ in MODULES or (former.__module__, former.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"cls is named {cls.__name__}, but another class is registered already under this name; "
                         "expected another name")
    _registered[cls.__name__] = cls
    return cls


# --- where things are -------------------------------------------------------------------------------------------------


def _describe(name: str | Path) -> tuple[Path, dict[str, Any]]:
    """Return the path of the model's files without suffix, and the content of its JSON file."""
    path = _locate(name)
    file = path.with_name(path.name + ".json")
    try:
        description = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise HubError(f"{file} is damaged: it is not JSON ({error}). Copy it again, or save the model "
                       "again") from error
    needed = {"format", "class", "config", "dtype", "tied", "bytes", "sha256", "card"}
    if not isinstance(description, dict) or description.get("format") != FORMAT or not needed <= set(description):
        raise HubError(f"{file} does not describe a model in the format {FORMAT!r}; expected a file that `save` wrote")
    return path, description


def _locate(name: str | Path) -> Path:
    path = Path(name)
    if name in available():
        return WEIGHTS / name
    if path.is_dir():
        names = available(path)
        if len(names) != 1:
            raise ValueError(f"name is the folder {path}, which contains {len(names)} models "
                             f"({', '.join(names) or 'no files'}); expected a folder with one model, or {path}/NAME")
        return path / names[0]
    folder = path.parent if path.parent != Path(".") or isinstance(name, Path) else WEIGHTS
    if path.name in available(folder):
        return folder / path.name
    known = available(folder)
    near = difflib.get_close_matches(path.name, known, n=1, cutoff=0.4)
    raise ValueError(f"name is {str(name)!r}, but there are no such weights; " + (
        f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(map(repr, known))}" if known
        else f"{folder} contains no models"))


def _class(name: str) -> type:
    if name in _registered:
        return _registered[name]
    if name not in MODULES:
        raise HubError(f"{name!r} is not a class that can be stored; expected a class that was passed to hub.register, "
                       f"or one of {', '.join([*MODULES, *_registered])}")
    return getattr(importlib.import_module(MODULES[name]), name)


# --- a model as JSON, and back ----------------------------------------------------------------------------------------


def _encode(value: Any) -> Any:
    """Convert constructor arguments to JSON values; a model or distribution becomes {"class": name, "config": dict}."""
    if isinstance(value, dict):
        return {key: _encode(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, nn.ModuleList)):
        return [_encode(part) for part in value]
    if isinstance(value, Tensor):
        return {"tensor": value.tolist(), "dtype": str(value.dtype).removeprefix("torch.")}
    if isinstance(value, (nn.Module, Conditional)):
        name, arguments = type(value).__name__, getattr(value, "config", None)
        if _class(name) is not type(value):
            raise ValueError(f"{type(value).__module__}.{name} is not the class that is registered as {name}; expected an "
                             f"instance of {_class(name).__module__}.{name}, or a class of another name")
        if arguments is None:
            raise ValueError(f"{name} has no config; expected a property `config` with the constructor's arguments")
        arguments = {"config": asdict(arguments)} if is_dataclass(arguments) else arguments
        return {"class": name, "config": _encode(arguments)}
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(part) for part in value]
    if isinstance(value, dict) and "class" in value:
        return _class(value["class"])(**{key: _decode(part) for key, part in value["config"].items()})
    if isinstance(value, dict) and set(value) == {"tensor", "dtype"}:
        return torch.tensor(value["tensor"], dtype=getattr(torch, value["dtype"]))
    if isinstance(value, dict):
        return {key: _decode(part) for key, part in value.items()}
    return value


def _tensors_once(model: nn.Module) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the state dict without repeated tensors, and a dict from each omitted name to the name that is kept."""
    first: dict[int, str] = {}
    tensors, tied = {}, {}
    for name, t in model.state_dict(keep_vars=True).items():
        if not isinstance(t, Tensor):
            raise TypeError(f"state_dict() of {type(model).__name__} contains {name} of type {type(t).__name__}; expected "
                            "only tensors")
        if id(t) in first:
            tied[name] = first[id(t)]
        else:
            first[id(t)], tensors[name] = name, t
    return tensors, tied


def _stored(name: str, t: Tensor, dtype: torch.dtype | None) -> Tensor:
    t = t.detach().to("cpu", copy=True).contiguous()
    if dtype is None or not t.is_floating_point():
        return t
    small = t.to(dtype)
    if (small.isinf() & ~t.isinf()).any():
        raise ValueError(f"the tensor {name} reaches {t[t.isfinite()].abs().max():.4g}; expected at most "
                         f"{torch.finfo(dtype).max:.4g} for {dtype}. Pass a dtype of larger range, or None")
    return small


def _dtype_of(model: nn.Module) -> str:
    """The name of the dtype of the parameters, such as "float32"; without parameters, of the buffers."""
    floats = [t.dtype for t in (*model.parameters(), *model.buffers()) if t.is_floating_point()]
    return str(floats[0] if floats else torch.float32).removeprefix("torch.")


def _brief(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, (str, bool, int)) else f"of type {type(value).__name__}"


def _table(rows: dict[str, Any]) -> str:
    lines = [f"| {key} | {_cell(value).replace('|', chr(92) + '|')} |" for key, value in rows.items()]
    return "\n".join(["| | |", "|---|---|", *lines])


def _cell(value: Any) -> str:
    """The text of a value on a card; a list of more than PRINTED entries is shortened."""
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_cell(part)}" for key, part in value.items())
    if isinstance(value, (list, tuple)) and len(value) > PRINTED:
        return f"{len(value):,} entries, {', '.join(map(repr, value[:3]))} ...; all of them are in the JSON file"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
