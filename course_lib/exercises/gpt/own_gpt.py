"""A GPT of one's own: it loads this course's weights, keeps the contract, and writes past its window."""
from __future__ import annotations

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.autoregressive import AutoregressiveModel
from course_lib.exercises.building import judged, keeps_the_contract
from course_lib.exercises.draws import integer, normal, uniform
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise, replace_steps
from course_lib.hub import load
from course_lib.transformer.gpt import GPT, GPTConfig

exercise = Exercise(
    "OwnGPT", chapter="gpt", place=6, title="A GPT of your own",
    contract="A class OwnGPT(AutoregressiveModel), made with vocab_size, window, layers, heads, d_model, d_ff and bos_id, whose "
             "family is Categorical(vocab_size). Its parameters have the names and shapes of the library's GPT (the notebook lists "
             "them); the output layer is the table of tokens. forward(tokens) (B, T) gives logits (B, T, V) of what follows each "
             "position: learned positions, blocks with the norm before, causal attention, gelu with tanh, a last norm. "
             "conditionals(x, context=None): of x (B, n) after the prompt context (B, P), or after bos_id. "
             "generate(prompt, u, temperature=1.0): prompt (B, P), u (B, N) in [0, 1); token t of row b is the first whose "
             "cumulative probability exceeds u[b, t], of softmax(logits / temperature), or the most probable one where "
             "temperature is 0. Each step reads the last `window` tokens, the first of them at position 0. Returns the new tokens "
             "(B, N). The library's GPT, its check_all and the course's trained weights judge it.",
    points=["gpt"], difficulty=5, minutes=75, kind="build", deadline=20.0)


@exercise.class_reference()
class OwnGPT(GPT):
    """The parameters of the library's GPT, with its equations written out."""

    def __init__(self, vocab_size, window, layers, heads, d_model, d_ff, bos_id):
        super().__init__(GPTConfig(vocab_size, window, layers, heads, d_model, d_ff, bos_id=bos_id))

    def forward(self, tokens):
        if tokens.shape[1] > self.window:
            raise ValueError(f"{tokens.shape[1]} tokens; the window holds {self.window}")
        x = self.embeddings(tokens.long())
        for block in self.blocks:
            x = self.residual(x, block.residual1.norm, partial(self.attended, block.attention))
            x = self.residual(x, block.residual2.norm, partial(self.fed_forward, block.feed_forward))
        return self.normalized(x) @ self.tokens.weight.T

    @exercise.step
    def embeddings(self, tokens):
        return self.tokens(tokens) + self.positions.table.weight[:tokens.shape[1]]

    @exercise.step
    def residual(self, x, norm, sublayer):
        return x + sublayer(norm(x))

    def attended(self, part, x):
        q, k, v = (y.unflatten(-1, (part.heads, -1)).transpose(1, 2) for y in part.qkv(x).chunk(3, -1))
        scores = self.masked(q @ k.mT / math.sqrt(q.shape[-1]))                # (B, H, T, T)
        return part.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

    @exercise.step
    def masked(self, scores):
        return scores.masked_fill(torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1), -torch.inf)

    @exercise.step
    def fed_forward(self, part, x):
        return part.narrow(F.gelu(part.widen(x), approximate="tanh"))

    @exercise.step
    def normalized(self, x):
        return self.norm(x)

    @exercise.step
    def conditionals(self, x, context=None):
        if context is None:
            context = torch.full((len(x), 1), self.bos_id)
        text = torch.cat([context.long(), x.long()], dim=1)                    # (B, P + n)
        return self.conditional(self(text[:, :-1])[:, -x.shape[1]:])

    # the other view, from this one
    start, predict = AutoregressiveModel.start, AutoregressiveModel.predict
    update, select = AutoregressiveModel.update, AutoregressiveModel.select

    @torch.no_grad()
    def generate(self, prompt, u, temperature=1.0):
        text = prompt.long()
        for u_t in u.T:
            token = self.sampled(self(self.windowed(text))[:, -1], u_t, temperature)
            text = torch.cat([text, token[:, None]], dim=1)
        return text[:, prompt.shape[1]:]

    @exercise.step
    def windowed(self, text):
        return text[:, -self.window:]

    @exercise.step
    def sampled(self, logits, u, temperature):
        if temperature == 0:
            return logits.argmax(-1)
        cumulative = (logits / temperature).softmax(-1).cumsum(-1)             # (B, V)
        return (cumulative <= u[:, None]).sum(-1).clamp(max=logits.shape[-1] - 1)


@exercise.misconception(
    OwnGPT.embeddings,
    "Your logits do not depend on the position of a token: the table of positions is not added.")
def no_positions(self, tokens):
    return self.tokens(tokens)


@exercise.misconception(
    OwnGPT.residual,
    "Your norms come after the sublayers, LN(x + f(x)). GPT has them before: x + f(LN(x)).")
def norm_after(self, x, norm, sublayer):
    return norm(x + sublayer(x))


@exercise.misconception(
    OwnGPT.normalized,
    "The last norm is missing: the output layer takes LN of the output of the last block.")
def no_last_norm(self, x):
    return x


@exercise.misconception(
    OwnGPT.fed_forward,
    "Your gelu is the exact one. GPT-2 has its approximation by tanh: F.gelu(x, approximate=\"tanh\").")
def exact_gelu(self, part, x):
    return part.narrow(F.gelu(part.widen(x)))


@exercise.misconception(OwnGPT.masked, "Your logits depend on tokens that come later. Position t may attend to 0..t.")
def not_causal(self, scores):
    return scores


@exercise.misconception(
    OwnGPT.conditionals,
    "Your factor of x_t depends on x_t. Position t of forward has read token t, so its logits are those of the next token.")
def unshifted(self, x, context=None):
    text = x.long() if context is None else torch.cat([context[:, 1:].long(), x.long()], dim=1)
    return self.conditional(self(text)[:, -x.shape[1]:])


@exercise.misconception(
    OwnGPT.sampled,
    "You multiply the logits by the temperature. They are divided by it, so a low temperature sharpens the distribution.")
def temperature_multiplied(self, logits, u, temperature):
    return OwnGPT.sampled.original(self, logits, u, 1 / temperature if temperature else 0)


@exercise.misconception(
    OwnGPT.sampled,
    "Your samples do not depend on the temperature. Divide the logits by it: probabilities that are divided by it and then "
    "normalized do not change.")
def temperature_ignored(self, logits, u, temperature):
    return OwnGPT.sampled.original(self, logits, u, 1 if temperature else 0)


@exercise.misconception(
    OwnGPT.windowed,
    "Past the window you read the first tokens of the text. The last `window` tokens count.")
def first_window(self, text):
    return text[:, :self.window]


@exercise.misconception(OwnGPT.windowed, "You read one token less than the window holds.")
def window_short(self, text):
    return text[:, 1 - self.window:]


def made(generator, layers: int = 2, window: int = 7) -> tuple[dict, dict[str, Tensor]]:
    """A small GPT: how it is made, and parameters under the library's names."""
    heads, V = integer(generator, 1, 3), integer(generator, 5, 8)
    config = {"vocab_size": V, "window": window, "layers": layers, "heads": heads, "d_model": 4 * heads + 4 * (heads == 1),
              "d_ff": integer(generator, 9, 15), "bos_id": integer(generator, 0, V - 1)}
    weights = {}
    for name, parameter in GPT(GPTConfig(**config)).named_parameters():
        if name.endswith("gamma"):
            weights[name] = uniform(generator, *parameter.shape, low=0.5, high=1.5)
        else:
            scale = 0.4 if parameter.dim() == 1 else 0.7 if "table" in name or name == "tokens.weight" else \
                1.3 / math.sqrt(parameter.shape[1])
            weights[name] = normal(generator, *parameter.shape, scale=scale)
    return config, weights


def tokens(generator, config: dict, *shape: int) -> Tensor:
    return torch.randint(config["vocab_size"], shape, generator=generator)


def logits(generator):
    cases = []
    for layers, T in ((1, 5), (2, 7), (2, 1)):
        config, weights = made(generator, layers)
        cases.append(("forward", config, weights, tokens(generator, config, integer(generator, 2, 3), T)))
    return cases


def likelihoods(generator):
    cases = []
    for P in (0, 3, 1):
        config, weights = made(generator, 1)
        x = tokens(generator, config, 3, 4)
        cases.append(("log_prob", config, weights, x, *([tokens(generator, config, 3, P)] if P else [])))
    return cases


def written(generator, P: int, N: int, window: int, temperature: float) -> tuple:
    """A generation whose draws do not hang on the last digits."""
    while True:
        config, weights = made(generator, 1, window)
        model = OwnGPT(**config)
        model.load_state_dict(weights)
        prompt, u = tokens(generator, config, 2, P), uniform(generator, 2, N, low=0.02, high=0.98)
        near = [model.generate(prompt, u + by, temperature) for by in (-1e-3, 1e-3)]
        with torch.no_grad():
            whole = torch.cat([prompt, near[0]], 1)
            best = torch.stack([model(whole[:, max(0, P + t - window):P + t])[:, -1].topk(2).values for t in range(N)])
        if torch.equal(*near) and (temperature or (best[..., 0] - best[..., 1]).min() > 1e-3):
            rest = () if temperature == 1 else (temperature,)
            return ("generate", config, weights, prompt, u, *rest)


def within(generator):
    return [written(generator, 2, 6, 8, temperature) for temperature in (1.0, 0.4, 2.0, 0.0)]


def past(generator):
    """Drawn until whoever reads other tokens of a long text writes others."""
    cases = []
    for P, temperature in ((2, 1.0), (6, 0.7)):
        while not all(told_apart(case := written(generator, P, 8, 4, temperature))):
            pass
        cases.append(case)
    return cases


def told_apart(case: tuple) -> list[bool]:
    """Is the text another where a step reads all but the oldest token of the window, or begins anew with each window?"""
    _, config, weights, *rest = case
    model = OwnGPT(**config)
    model.load_state_dict(weights)
    right, texts = model.generate(*rest), []
    for other in (window_short, begun_anew):
        with replace_steps({OwnGPT.windowed: other}):
            texts.append(model.generate(*rest))
    return [not torch.equal(text, right) for text in texts]


def begun_anew(self, text):
    return text[:, (text.shape[1] - 1) // self.window * self.window:]


exercise.compare("forward is the library's", logits, points=4)
exercise.compare("log_prob, after bos_id and after a prompt", likelihoods, points=2)
exercise.slopes("gradient", lambda generator: likelihoods(generator)[:2], points=1)
keeps_the_contract(exercise, lambda generator: {"vocab_size": 3, "window": 4, "layers": 1, "heads": 2, "d_model": 4, "d_ff": 6, "bos_id": 1},
                   points=2, length=3)
exercise.compare("generation", within, points=2)
exercise.compare("generation past the window", past, points=2)


@judged(exercise, "the course's trained weights", 2, among=())
def trained(run, generator):
    model = load("gpt-agreement")
    config = {name: getattr(model.config, name) for name in ("vocab_size", "window", "layers", "heads", "d_model", "d_ff", "bos_id")}
    text = tokens(generator, config, 4, config["window"])
    with torch.no_grad():
        right = model(text)
    mine = run("forward", config, dict(model.named_parameters()), text)
    gap = float((mine - right).detach().abs().max()) if isinstance(mine, Tensor) and mine.shape == right.shape else math.nan
    if not gap < 1e-3:
        return Fault(f"With the trained weights of gpt-agreement your logits differ from the library's by up to {gap:.2g}.")
    return None


exercise.hint(
    "The names of the parameters do not fit.",
    "A parameter's name is the path to it. nn.ModuleDict({\"table\": nn.Embedding(window, d_model)}) under the name "
    "self.positions gives positions.table.weight; self.blocks = nn.ModuleList(...) gives blocks.0, blocks.1 and so on. "
    "print([name for name, _ in OwnGPT(5, 4, 1, 1, 8, 16, 0).named_parameters()]) shows them.")
exercise.hint(
    "The logits are not those expected.",
    "x = tokens + positions; then in each block x = x + attention(norm(x)) and x = x + network(norm(x)); then the last norm, and "
    "the product with the table of tokens, transposed. The network is narrow(F.gelu(widen(x), approximate=\"tanh\")).")
exercise.hint(
    "check_all says that a factor reads what it must not.",
    "Put the prompt, or bos_id, before x and read all but the last token: n logits come out at the last n positions, each of the "
    "token after what it has read.")
exercise.hint(
    "The generation goes wrong after some tokens.",
    "text[:, -self.window:] is what a step reads, whether the text is shorter or longer. Positions begin at 0 there by "
    "themselves, if forward gives them to whatever comes in. Of the logits only those of the last position count.")
