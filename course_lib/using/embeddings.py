r"""Hidden states of a trained model as features of tokens and texts.

Slides: "Contextual embeddings: for supervised ML, for similarity". Layer 0 is the sum of embeddings, layer l the output of
block l.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from course_lib.autoregressive import evaluating
from course_lib.tokenizers import WordPieceTokenizer
from course_lib.transformer import BERT, GPT

POOLS = ("mean", "first", "last")


@torch.no_grad()
def hidden_states(model: BERT | GPT, tokens: Integer[Tensor, "B T"],
                  mask: Bool[Tensor, "B T"] | None = None) -> list[Float[Tensor, "B T D"]]:
    """The hidden states of layers 0 to L, (B, T, D) each, as `output_hidden_states=True` of
    transformers gives them; the last layer of GPT is normalized.

    mask  (B, T), True for real tokens; states at padding are undefined

    Computed in eval mode; the mode is restored.

    >>> from course_lib.transformer import BERTConfig
    >>> bert = BERT(BERTConfig(vocab_size=8, window=16, layers=2, heads=2, d_model=4))
    >>> [tuple(layer.shape) for layer in hidden_states(bert, torch.tensor([[1, 5, 6, 2]]))]
    [(1, 4, 4), (1, 4, 4), (1, 4, 4)]
    """
    if isinstance(model, BERT):
        with evaluating(model):
            return model.states(tokens, mask=mask)
    states: list[Tensor] = []
    hooks = [model.blocks[0].register_forward_pre_hook(
        lambda block, given: states.append(given[0]))]
    hooks += [block.register_forward_hook(lambda block, given, made: states.append(made))
              for block in model.blocks]
    try:
        with evaluating(model):
            model(tokens, mask=mask)
    finally:
        for hook in hooks:
            hook.remove()
    return [*states[:-1], model.norm(states[-1])]


def pooled(states: Float[Tensor, "B T D"], mask: Tensor | None = None, how: str = "mean") -> Float[Tensor, "B D"]:
    """Pool hidden states (B, T, D) to a vector for each text, (B, D).

    mask  (B, T), True for real tokens; None: all are real
    how   "mean" over real tokens, or the state of the "first" real token, such as BERT's [CLS], or of the "last"

    >>> pooled(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[True, True, False]]))
    tensor([[2.]])
    """
    if how not in POOLS:
        raise ValueError(f"how is {how!r}; expected one of {', '.join(POOLS)}")
    real = states.new_ones(states.shape[:2], dtype=torch.bool) if mask is None else mask
    if real.shape != states.shape[:2]:
        raise ValueError(f"mask has shape {tuple(real.shape)}; expected {tuple(states.shape[:2])}, as the states")
    if not real.any(dim=1).all():
        raise ValueError("mask is False in a whole row; expected a real token in every row")
    if how == "mean":
        weight = real.to(states.dtype) / real.sum(dim=1, keepdim=True)           # (B, T)
        return torch.einsum("bt,btd->bd", weight, states.masked_fill(~real[..., None], 0))
    place = real.int().argmax(dim=1) if how == "first" else real.shape[1] - 1 - real.flip(1).int().argmax(dim=1)
    return states[torch.arange(len(states), device=states.device), place]


def feature_extraction(bert: BERT, tokenizer: WordPieceTokenizer, texts: Sequence[str]) -> list[Float[Tensor, "T D"]]:
    """Return BERT's last hidden states (T, D) of each text, as `pipeline("feature-extraction")` of transformers does.

    The first of the T vectors belongs to [CLS], the last to [SEP]. Raises ValueError if `texts` is a string, or if a
    text exceeds the window.
    """
    if isinstance(texts, str):
        raise ValueError(f"texts is the text {texts[:20]!r}; expected a list of texts")
    return [hidden_states(bert, tokenizer.encode(text, bos=True, eos=True)[None])[-1][0] for text in texts]
