"""BART: the encoder-decoder with learned positions and GELU, pre-trained to reconstruct a corrupted text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.transformer.blocks import ACTIVATIONS, DecoderBlock, LayerNorm, TransformerBlock
from course_lib.transformer.denoising import pretrained_bart
from course_lib.transformer.positions import LearnedPositions
from course_lib.transformer.transformer import Transformer, TransformerConfig


@dataclass(frozen=True)
class BARTConfig(TransformerConfig):
    """`TransformerConfig` with one vocabulary for source and target, and with these further arguments:

    window      number of position embeddings, the maximum length of a text in tokens
    activation  activation of the feed-forward networks: "relu", "gelu" or "gelu_tanh"
    scale       whether embeddings are multiplied by the root of D

    `tied` has to be "all" and `norm` "post". `bos_id`, the first input of the decoder, is the end token in the files of
    the paper's models.

    >>> BARTConfig(source=9, target=9, pad_id=1, bos_id=2, eos_id=2).window
    1024
    """

    window: int = 1024
    activation: str = "gelu"
    scale: bool = False
    tied: str = "all"

    def __post_init__(self):
        super().__post_init__()
        if self.tied != "all" or self.norm != "post":
            raise ValueError(f"tied is {self.tied!r} and norm is {self.norm!r}; expected tied 'all' and norm 'post'")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation is {self.activation!r}; expected one of {', '.join(ACTIVATIONS)}")
        if self.window < 1:
            raise ValueError(f"window is {self.window}; expected at least 1")


class NormedPositions(LearnedPositions):
    r"""Learned positions with a layer norm: $\mathrm{LN}(x_k + P_k)$, or $\mathrm{LN}(\sqrt{D}\, x_k + P_k)$ if
    `scale`, where $x_k$ is the embedding of token k and $P_k$ the embedding of position k, of `window` positions.

    >>> NormedPositions(window=16, d_model=8)(torch.randn(1, 5, 8)).shape
    torch.Size([1, 5, 8])
    """

    def __init__(self, window: int, d_model: int, scale: bool = False):
        super().__init__(window, d_model)
        self.norm, self.factor = LayerNorm(d_model), d_model ** 0.5 if scale else 1.0

    def forward(self, x: Float[Tensor, "B T D"], positions: Int[Tensor, "..."] | None = None) -> Float[Tensor, "B T D"]:
        return self.norm(super().forward(self.factor * x, positions))


class BART(Transformer):
    r"""BART, $p(x \mid \tilde x) = \prod_t p(x_t \mid x_{<t}, \tilde x)$: the source is the corrupted text $\tilde x$,
    the target is the original text x.

    It differs from `Transformer` in its layers only: encoder and decoder have learned positions and a layer norm before
    the first block, and the output layer has a bias.

    Slides: "BART". Paper: Lewis et al. 2019.

    >>> model = BART(BARTConfig(source=9, target=9, pad_id=1, bos_id=2, eos_id=2, d_model=8, heads=2,
    ...                         d_ff=16, encoder_layers=1, decoder_layers=1, window=16))
    >>> model.log_prob(torch.tensor([[4, 5, 2]]), context=torch.tensor([[4, 8, 2]])).shape
    torch.Size([1])
    """

    settings = BARTConfig

    def build(self, c: BARTConfig) -> None:
        self.source = self.target = nn.Embedding(c.source, c.d_model)
        self.positions, self.target_positions = (NormedPositions(c.window, c.d_model, c.scale) for _ in range(2))
        self.dropout = nn.Dropout(c.dropout)
        size = (c.d_model, c.heads, c.d_ff, c.dropout, "post", c.activation)
        self.encoder = nn.ModuleList(TransformerBlock(*size) for _ in range(c.encoder_layers))
        self.decoder = nn.ModuleList(DecoderBlock(*size) for _ in range(c.decoder_layers))
        self.encoder_norm = self.decoder_norm = nn.Identity()
        self.bias = nn.Parameter(torch.zeros(c.target))              # zeros in public files

    def logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        return hidden @ self.target.weight.T + self.bias

    @torch.no_grad()
    def _initialize(self) -> None:
        for p in self.parameters():
            if p.dim() == 2:
                p.normal_(0, 0.02)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                module.bias.zero_()

    @classmethod
    def from_pretrained(cls, name: str | Path) -> BART:
        """Load a BART from the folder `name` with config.json and weights, or by its name on the Hugging Face hub.

        It is in eval mode. Raises HubError, a ValueError, if the configuration is not supported, or if tensors are
        missing, unexpected or of a wrong shape.
        """
        return pretrained_bart.load(cls, name)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors in the format of Hugging Face's BartForConditionalGeneration."""
        pretrained_bart.save(self, folder)
