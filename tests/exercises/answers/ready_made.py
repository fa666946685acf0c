"""Answers that are right in value and that no answer may be: the library's own form, or torch's, of what is asked for.

They are compared with the references all the same, the rule left aside: each was written independently of them.
"""
from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

from course_lib.transformer.attention import attention
from tests.exercises.answers.register import enter

READY_MADE: dict[str, Callable] = {}


def ready_made(name: str) -> Callable:
    return enter(READY_MADE, name)


@ready_made("fvsbn_conditionals: the library's model")
def _(x, W, c):
    from torch.func import functional_call

    from course_lib.density import FVSBN

    class Probabilities(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = FVSBN(len(c))

        def forward(self, x):
            return self.model.conditionals(x).probs

    return functional_call(Probabilities(), {"model.weight": W, "model.bias": c}, (x,))


@ready_made("nade_loglik: the library's model")
def _(x, W, V, b, c):
    from torch.func import functional_call

    from course_lib.density import NADE

    class Likelihood(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = NADE(len(x), len(c))

        def forward(self, x):
            return self.model.log_prob(x)[0]

    parameters = {"model.W": W.T[:, None], "model.V": V[:, None], "model.b": b, "model.c": c}
    return functional_call(Likelihood(), parameters, (x[None],))


@ready_made("train_nade: the library's model and training")
def _(train):
    from course_lib.density import NADE
    from course_lib.training import fit

    torch.manual_seed(1)
    model = NADE(train.shape[1], 12).initialize(train)
    fit(model, train, epochs=12, batch_size=50, lr=0.05, progress=False)
    return model.W[:, 0].detach().T, model.V[:, 0].detach(), model.b.detach(), model.c.detach()


@ready_made("mog_loglik: torch.distributions")
def _(x, logits, mu, log_sigma):
    from torch.distributions import Categorical, MixtureSameFamily, Normal

    return MixtureSameFamily(Categorical(logits=logits), Normal(mu, log_sigma.exp())).log_prob(x)


@ready_made("made_masks: the library's, in float64")
def _(order, hidden):
    from course_lib.density.made import made_masks

    return [mask.double() for mask in made_masks(order, *hidden)]


@ready_made("attention: the library's")
def _(q, k, v, mask=None):
    return attention(q, k, v, mask)


@ready_made("cross_attention: the library's function")
def _(dec, enc, Wq, Wk, Wv, src_mask):
    return attention(dec @ Wq, enc @ Wk, enc @ Wv, src_mask[:, None])


@ready_made("positional_encoding: the library's table")
def _(T, d):
    from course_lib.transformer import sinusoidal

    return sinusoidal(T, d)


@ready_made("layer_norm: torch's own function")
def _(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


@ready_made("label_smoothing_loss: torch's option")
def _(logits, target, eps, pad):
    return F.cross_entropy(logits, target, label_smoothing=eps, ignore_index=pad)


@ready_made("noam_lr: the library's")
def _(step, d_model, warmup):
    from course_lib.training import noam_lr

    return noam_lr(step, d_model, warmup)


@ready_made("bert_segments: by the library's join")
def _(a_len, b_len):
    from course_lib.transformer import join_segments

    tokens, types = join_segments(torch.zeros(a_len).long(), torch.zeros(b_len).long(), 1, 2)
    return types, torch.arange(len(tokens))


@ready_made("answer_scores: the library's two scores")
def _(said, truths):
    from course_lib.using import answer_f1, exact_match

    pairs = list(zip(said, truths))
    return tuple(100 * sum(score(answer, each) for answer, each in pairs) / len(pairs) for score in (exact_match, answer_f1))


def by_torchs_step() -> Callable:
    from course_lib.grading.protocol.models import ModelServer
    from tests.exercises.answers.recurrent import Reader

    class ByTorchsStep(Reader):
        def cell(self, x, h, c):
            W_x, W_h, b = (torch.cat([one.chunk(4)[k] for k in (0, 1, 3, 2)]) for one in (self.W_x, self.W_h, self.b))
            return torch.lstm_cell(x, (h, c), W_x, W_h, b, torch.zeros_like(b))

    return ModelServer(ByTorchsStep)


ready_made("OwnRecurrent: torch's step of an LSTM")(by_torchs_step())


@ready_made("activation_derivatives: by autograd")
def _(z):
    at = z.clone().requires_grad_()
    return torch.stack([torch.autograd.grad(f(at).sum(), at)[0] for f in (torch.sigmoid, torch.tanh, torch.relu)])


@ready_made("linear_backward: by autograd")
def _(x, W, b, G):
    leaves = [part.clone().requires_grad_() for part in (x, W, b)]
    return torch.autograd.grad(leaves[0] @ leaves[1].T + leaves[2], leaves, G)
