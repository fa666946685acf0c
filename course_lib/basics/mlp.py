"""Activation functions with their derivatives, and the multilayer perceptron."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Activation(NamedTuple):
    """An elementwise function and its derivative; both map a tensor to a tensor of the same shape.

    >>> ACTIVATIONS["tanh"].derivative(torch.tensor([0.0, 200.0]))
    tensor([1., 0.])
    """

    function: Callable[[Tensor], Tensor]
    derivative: Callable[[Tensor], Tensor]


def sigmoid_derivative(z: Tensor) -> Tensor:
    r"""$\sigma'(z) = \sigma(z) (1 - \sigma(z))$, at most 1/4."""
    return torch.sigmoid(z) * torch.sigmoid(-z)                      # 1 - sigma(z) = sigma(-z), without cancellation


def tanh_derivative(z: Tensor) -> Tensor:
    r"""$\tanh'(z) = 1 - \tanh^2(z)$, at most 1; computed as $4 \sigma'(2z)$, because $\tanh(z) = 2 \sigma(2z) - 1$."""
    return 4 * sigmoid_derivative(2 * z)


def relu_derivative(z: Tensor) -> Tensor:
    """0 for z <= 0, 1 for z > 0. ReLU has no derivative at z = 0; the value 0 is also torch's."""
    return (z > 0).to(z.dtype)


ACTIVATIONS = {
    "sigmoid": Activation(torch.sigmoid, sigmoid_derivative),
    "tanh": Activation(torch.tanh, tanh_derivative),
    "relu": Activation(torch.relu, relu_derivative),
    "identity": Activation(lambda z: z, torch.ones_like),
}


class MLP(nn.Module):
    r"""Multilayer perceptron: $h = f(A x + b)$ for each hidden layer, then the output $\alpha_0 + \alpha^\top h$.

    widths      sizes of the layers, from the input to the output: `[2, 8, 1]` has one hidden layer of 8 units
    activation  f: "sigmoid", "tanh", "relu", or "identity", with which the network is linear (see `collapsed`)
    generator   generator of the initial weights, which are normal with variance 1 / fan-in (2 / fan-in for ReLU);
                biases are 0

    The output is the logit of a class, or a prediction. Slide: "Neural networks: more flexible".

    >>> model = MLP([2, 8, 1])
    >>> print(model)
    MLP(widths=[2, 8, 1], activation='tanh')
    >>> model(torch.zeros(5, 2)).shape
    torch.Size([5, 1])
    """

    def __init__(self, widths: Sequence[int], activation: str = "tanh", generator: torch.Generator | None = None):
        super().__init__()
        if len(widths) < 2 or min(widths) < 1:
            raise ValueError(f"widths is {list(widths)}; expected two or more sizes, from input to output, "
                             "each at least 1")
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation is {activation!r}; expected one of {', '.join(ACTIVATIONS)}")
        self.widths, self.activation = list(widths), activation
        gain = 2.0 if activation == "relu" else 1.0                  # ReLU halves the second moment
        self.weights = nn.ParameterList(torch.randn(out, into, generator=generator) * (gain / into) ** 0.5
                                        for into, out in zip(widths, widths[1:]))
        self.biases = nn.ParameterList(torch.zeros(out) for out in widths[1:])

    @property
    def config(self) -> dict:
        """Arguments of the constructor except the generator."""
        return {"widths": self.widths, "activation": self.activation}

    def __repr__(self) -> str:
        return f"MLP(widths={self.widths}, activation={self.activation!r})"

    def forward(self, x: Float[Tensor, "B n"]) -> Float[Tensor, "B E"]:
        """Outputs (B, E) for inputs x (B, n), where n is the first and E the last entry of `widths`."""
        if x.shape[1] != self.widths[0]:
            raise ValueError(f"x has {x.shape[1]} columns; expected {self.widths[0]}, "
                             "the number of inputs")
        f = ACTIVATIONS[self.activation].function
        for A, b in zip(self.weights[:-1], self.biases[:-1]):
            x = f(x @ A.T + b)                                       # (B, H)
        return x @ self.weights[-1].T + self.biases[-1]              # (B, E)

    @torch.no_grad()
    def collapsed(self) -> tuple[Float[Tensor, "E n"], Float[Tensor, "E"]]:
        """Weight (E, n) and bias (E,) of the linear layer that equals a network with the activation "identity".

        With two layers $A_2 (A_1 x + b_1) + b_2 = (A_2 A_1) x + (A_2 b_1 + b_2)$.
        """
        if self.activation != "identity":
            raise ValueError(f"activation is {self.activation!r}; expected 'identity', because only linear layers can be merged")
        A, b = self.weights[0], self.biases[0]
        for A_next, b_next in zip(self.weights[1:], self.biases[1:]):
            A, b = A_next @ A, A_next @ b + b_next
        return A, b
