"""Transformer blocks and their parts: layer norm, feed-forward network and residual connection.

The argument `norm`, the position of the layer norm, is "post", "pre" or "inner": see `Residual`.
"""

from __future__ import annotations

from typing import Callable

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.transformer.attention import KeysValues, MultiHeadAttention
from course_lib.transformer.dropout import drop
from course_lib.transformer.kv_cache import KVCache

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,                                                  # x Phi(x): BERT
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),            # its approximation by tanh: GPT-2
}


# --- parts -----------------------------------------------------------------------------------------------------------


def layer_norm(x: Float[Tensor, "... D"], gamma: Float[Tensor, "D"],
               beta: Float[Tensor, "D"], eps: float | int = 1e-5) -> Float[Tensor, "... D"]:
    r"""Layer norm $\gamma \odot (x - \mu) / \sqrt{\sigma^2 + \epsilon} + \beta$ with mean
    and population variance (divided by D) over the last axis.

    Paper: Ba, Kiros and Hinton 2016.
    """
    mean = x.mean(dim=-1, keepdim=True)                              # (..., 1)
    variance = (x - mean).square().mean(dim=-1, keepdim=True)
    return gamma * (x - mean) / (variance + eps).sqrt() + beta


class LayerNorm(nn.Module):
    """Layer norm over the last axis, of size `d_model`, with learned gain gamma and shift beta: see `layer_norm`.

    eps  added to the variance, so that its root is not 0

    >>> LayerNorm(4)(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[-1.3416, -0.4472,  0.4472,  1.3416]], grad_fn=<...>)
    """

    def __init__(self, d_model: int, eps: float | int = 1e-5):
        super().__init__()
        self.gamma, self.beta, self.eps = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model)), eps

    def forward(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        return F.layer_norm(x, self.gamma.shape, self.gamma, self.beta, self.eps)


class FeedForward(nn.Module):
    r"""Position-wise feed-forward network $\phi(x W_1 + b_1) W_2 + b_2$, from (..., D) to (..., D).

    d_model, d_ff  D and the size of the hidden layer
    activation     $\phi$: "relu" as on the slides (the default), "gelu" or "gelu_tanh"
    bias           whether the linear layers have a bias

    >>> FeedForward(d_model=8, d_ff=32)(torch.randn(1, 5, 8)).shape
    torch.Size([1, 5, 8])
    """

    def __init__(self, d_model: int, d_ff: int, activation: str = "relu", bias: bool = True):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation is {activation!r}; expected one of {', '.join(ACTIVATIONS)}")
        self.activation = activation
        self.widen = nn.Linear(d_model, d_ff, bias=bias)             # W_1, b_1
        self.narrow = nn.Linear(d_ff, d_model, bias=bias)            # W_2, b_2

    def forward(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        return self.narrow(ACTIVATIONS[self.activation](self.widen(x)))


class Residual(nn.Module):
    r"""Residual connection around a sublayer f, with a layer norm in one of three positions:

    norm="post"   $\mathrm{LN}(x + f(x))$   the original transformer (2017) and most slides
    norm="pre"    $x + f(\mathrm{LN}(x))$   GPT-2; gradients reach every layer along the unnormalized sum
    norm="inner"  $x + \mathrm{LN}(f(x))$   one deck of the slides

    A call takes x (B, T, D), with D = `d_model`, and the function f. `dropout` is the dropout probability of f's
    output, `eps` the epsilon of the layer norm.

    >>> Residual(d_model=8, norm="pre")(torch.randn(1, 5, 8), torch.tanh).shape  # x + tanh(norm(x))
    torch.Size([1, 5, 8])
    """

    def __init__(self, d_model: int, norm: str = "post", dropout: float | int = 0.0, eps: float | int = 1e-5):
        super().__init__()
        if norm not in ("post", "pre", "inner"):
            raise ValueError(f'norm is {norm!r}; expected "post", "pre" or "inner"')
        self.placement = norm
        self.norm = LayerNorm(d_model, eps)
        self.dropout = dropout

    def forward(self, x: Float[Tensor, "B T D"],
                f: Callable[[Float[Tensor, "B T D"]], Float[Tensor, "B T D"]]
                ) -> Float[Tensor, "B T D"]:
        if self.placement == "post":
            return self.norm(x + self._drop(f(x)))
        if self.placement == "pre":
            return x + self._drop(f(self.norm(x)))
        return x + self._drop(self.norm(f(x)))

    def _drop(self, x: Tensor) -> Tensor:
        return drop(x, self.dropout) if self.training else x


# --- blocks ----------------------------------------------------------------------------------------------------------


class TransformerBlock(nn.Module):
    """Transformer block: self-attention, then a feed-forward network, as in `transformer_function`.

    With norm="pre", as in GPT, and without dropout:

        x = x + attention(norm1(x))
        x = x + feed_forward(norm2(x))

    Called with causal=True, it is the block of a decoder-only model, such as GPT.

    d_model, heads, d_ff  D, H and the hidden size of the feed-forward network, m on the slides
    norm                  "post" as on the slides, "pre" as in GPT-2, or "inner": see `Residual`
    dropout               dropout probability of both sublayers and of attention weights
    activation, bias      as in `FeedForward`; `bias` also applies to the projections of attention
    eps                   epsilon of the layer norms

    >>> block = TransformerBlock(d_model=8, heads=2, d_ff=32)
    >>> block(torch.randn(1, 5, 8), causal=True).shape
    torch.Size([1, 5, 8])
    """

    def __init__(self, d_model: int, heads: int, d_ff: int, dropout: float | int = 0.0, norm: str = "post",
                 activation: str = "relu", eps: float | int = 1e-5, bias: bool = True):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, heads, dropout, bias)
        self.feed_forward = FeedForward(d_model, d_ff, activation, bias)
        self.residual1 = Residual(d_model, norm, dropout, eps)
        self.residual2 = Residual(d_model, norm, dropout, eps)

    def forward(self, x: Float[Tensor, "B T D"],
                mask: Bool[Tensor, "... #T S"] | None = None, causal: bool = False,
                cache: KVCache | None = None) -> Float[Tensor, "B T D"]:
        """Output (B, T, D); mask, causal and cache as in `MultiHeadAttention`."""
        u = self.residual1(x, lambda y: self.attention(y, mask=mask, causal=causal,
                                                       cache=cache))
        return self.residual2(u, self.feed_forward)


class DecoderBlock(nn.Module):
    """Decoder block: causal self-attention, cross-attention to the encoder's output, then a feed-forward network.

    The arguments of the constructor are as in `TransformerBlock`. Paper: Vaswani et al. 2017, section 3.1.

    >>> block = DecoderBlock(d_model=8, heads=2, d_ff=32)
    >>> # seven source positions
    >>> block(torch.randn(1, 5, 8), memory=torch.randn(1, 7, 8)).shape
    torch.Size([1, 5, 8])
    """

    def __init__(self, d_model: int, heads: int, d_ff: int, dropout: float | int = 0.0, norm: str = "post",
                 activation: str = "relu", eps: float | int = 1e-5, bias: bool = True):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, heads, dropout, bias)
        self.cross_attention = MultiHeadAttention(d_model, heads, dropout, bias)
        self.feed_forward = FeedForward(d_model, d_ff, activation, bias)
        self.residual1 = Residual(d_model, norm, dropout, eps)
        self.residual2 = Residual(d_model, norm, dropout, eps)
        self.residual3 = Residual(d_model, norm, dropout, eps)

    def forward(self, x: Float[Tensor, "B T D"],
                memory: Float[Tensor, "B S D"] | KeysValues,
                mask: Bool[Tensor, "... #T T"] | None = None,
                memory_mask: Bool[Tensor, "... #T S"] | None = None,
                cache: KVCache | None = None) -> Float[Tensor, "B T D"]:
        """Output (B, T, D).

        memory       output of the encoder (B, S, D), or its keys and values from
                     `cross_attention.keys_values`
        mask         where x may attend to x, in addition to the causal mask
        memory_mask  where x may attend to the memory, (B, 1, S) for padding
        """
        u = self.residual1(x, lambda y: self.attention(y, mask=mask, causal=True,
                                                       cache=cache))
        w = self.residual2(u, lambda y: self.cross_attention(y, memory, mask=memory_mask))
        return self.residual3(w, self.feed_forward)


# --- the block of the slide ------------------------------------------------------------------------------------------


def transformer_function(
    x: Float[Tensor, "T D"],
    Wq: Float[Tensor, "H D K"], Wk: Float[Tensor, "H D K"], Wv: Float[Tensor, "H D K"],
    Wc: Float[Tensor, "H K D"],
    W1: Float[Tensor, "D F"], W2: Float[Tensor, "F D"],
    gamma1: Float[Tensor, "D"], beta1: Float[Tensor, "D"],
    gamma2: Float[Tensor, "D"], beta2: Float[Tensor, "D"],
    eps: float | int = 1e-5,
) -> Float[Tensor, "T D"]:
    r"""Transformer function $f_\theta$ on a T x D matrix, in six equations.

    A row $x_i$ is a token, K is the size of a head, F that of the hidden layer; on the
    slide T, K and F are p, k and m. The only biases are those of the norms. Slides: "The
    transformer function".
    """
    d_k = Wq.shape[-1]
    Q, K, V = (torch.einsum("hdk,td->htk", W, x) for W in (Wq, Wk, Wv))      # (1)
    scores = torch.einsum("hik,hjk->hij", Q, K) / d_k ** 0.5                 # (H, T, T)
    alpha = torch.softmax(scores, dim=-1)                                    # (2)
    u_prime = torch.einsum("hkd,hij,hjk->id", Wc, alpha, V)                  # (3)
    u = layer_norm(x + u_prime, gamma1, beta1, eps)                          # (4)
    z_prime = F.relu(u @ W1) @ W2                                            # (5)
    return layer_norm(u + z_prime, gamma2, beta2, eps)                       # (6)


def slide_weights(block: TransformerBlock) -> dict[str, Tensor]:
    """Return the weights of a post-LN ReLU block as the arguments of `transformer_function`, {argument name: tensor}.

    Raises ValueError if the block has biases, another activation or another position of the norm.
    """
    attention, network, H = block.attention, block.feed_forward, block.attention.heads
    if attention.qkv.bias is not None or network.activation != "relu" or block.residual1.placement != "post":
        raise ValueError(f"block has bias={attention.qkv.bias is not None}, activation={network.activation!r} and "
                         f"norm={block.residual1.placement!r}; expected bias=False, activation='relu' and norm='post'")
    Wq, Wk, Wv = rearrange(attention.qkv.weight, "(parts H K) D -> parts H D K", parts=3, H=H)       # (H, D, K) each
    Wc = rearrange(attention.out.weight, "D (H K) -> H K D", H=H)
    return {"Wq": Wq, "Wk": Wk, "Wv": Wv, "Wc": Wc,
            "W1": network.widen.weight.T, "W2": network.narrow.weight.T,
            "gamma1": block.residual1.norm.gamma, "beta1": block.residual1.norm.beta,
            "gamma2": block.residual2.norm.gamma, "beta2": block.residual2.norm.beta}
