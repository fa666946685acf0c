"""A language model with a cell of one's own, an LSTM or a GRU: it equals the library's, carries its state, and learns a text."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.exercises.building import keeps_the_contract, reaches
from course_lib.exercises.draws import integer, normal, uneven
from course_lib.exercises.recurrent._agreement_text import agreement
from course_lib.grading.checks import Fault, shape_fault
from course_lib.grading.exercise import Exercise, replace_steps
from course_lib.grading.facts import describe_difference
from course_lib.grading.protocol.calls import plain, same
from course_lib.grading.protocol.models import ModelServer
from course_lib.grading.proxy import Proxy

exercise = Exercise(
    "OwnRecurrent", chapter="recurrent", place=6, title="A language model with a cell of your own",
    contract="A class OwnRecurrent(AutoregressiveModel), made with symbols V, hidden H and bos_id, whose family is "
             "Categorical(symbols). Its cell is an LSTM or a GRU, as you choose, with the equations of the chapter and the names of "
             "the library: W_x (G, V), W_h (G, H) and b (G,), G = 4H rows of i, f, o, g for the LSTM, G = 3H rows of r, z, n for the "
             "GRU, which has b_hn (H,) too; and a layer head, its weight (V, H) and bias (V,). A token is read as a one-hot vector. "
             "A state is a tuple, (h, c) or (h,), zeros before anything is read. read(tokens, state=None), tokens (B, T): the pair "
             "of the logits (B, T, V) of what follows each token, head of h, and of the state after the last one. conditionals(x, "
             "context=None): of x (B, n) after the prompt context (B, P), or after bos_id; start, predict and update do the same "
             "one character at a time, with that state. fit(text), text (N,): trains the model on one long text; then new text of the "
             "same source costs 0.42 nats a character at most, in 20 seconds on one core. The library's cells, its check_all "
             "and new text judge the class.",
    points=["rnn-lm", "lstm-gru"], difficulty=4, minutes=75, kind="build", deadline=20.0,
    forbid=("torch.lstm", "torch.lstm_cell", "torch.gru", "torch.gru_cell", "torch.rnn_tanh", "torch.rnn_tanh_cell"))

GAP = 0.42                                                           # nats a character


@exercise.step
def lstm_gates(a):
    i, f, o, g = a.chunk(4, dim=1)
    return i.sigmoid(), f.sigmoid(), o.sigmoid(), g.tanh()


class LSTM:
    """c' = f * c + i * g and h' = o * tanh(c')."""

    blocks, parts = 4, 2                                             # of rows in W_x, W_h and b; of a state

    def initialize(self, model):
        model.b.data[model.hidden:2 * model.hidden] = 1              # the forget gate: a new cell keeps its memory

    def __call__(self, model, a, h, c):
        """The state after a character, whose part of the pre-activations is a (B, 4H)."""
        i, f, o, g = lstm_gates(a + h @ model.W_h.T)
        c = f * c + i * g
        return o * c.tanh(), c


class GRU:
    """h' = (1 - z) * n + z * h."""

    blocks, parts = 3, 1

    def initialize(self, model):
        model.b_hn = nn.Parameter(torch.zeros(model.hidden))

    def __call__(self, model, a, h):
        (a_r, a_z, a_n), (h_r, h_z, h_n) = a.chunk(3, dim=1), (h @ model.W_h.T).chunk(3, dim=1)
        r, z = (a_r + h_r).sigmoid(), (a_z + h_z).sigmoid()
        return self.blended(z, torch.tanh(a_n + r * self.biased(h_n, model.b_hn)), h),

    def biased(self, h_n, b_hn):
        return h_n + b_hn

    def blended(self, z, n, h):
        return (1 - z) * n + z * h


@exercise.class_reference()
class OwnRecurrent(AutoregressiveModel):
    """A language model of characters with an LSTM."""

    def __init__(self, symbols, hidden, bos_id):
        super().__init__(None, Categorical(symbols))
        self.hidden, self.bos_id, self.cell = hidden, bos_id, self.new_cell()
        rows, near = self.cell.blocks * hidden, hidden ** -0.5
        self.W_x = nn.Parameter(torch.empty(rows, symbols).uniform_(-near, near))
        self.W_h = nn.Parameter(torch.empty(rows, hidden).uniform_(-near, near))
        self.b = nn.Parameter(torch.zeros(rows))
        self.cell.initialize(self)
        self.head = nn.Linear(hidden, symbols)

    @exercise.step
    def new_cell(self):
        return LSTM()

    def check_context(self, context, batch):
        pass

    def zeros(self, batch):
        return tuple(self.b.new_zeros(batch, self.hidden) for _ in range(self.cell.parts))

    @exercise.step
    def inputs(self, tokens):
        """W_x times one-hot vectors, plus b: (B, T, G)."""
        return F.embedding(tokens.long(), self.W_x.T) + self.b

    @exercise.step
    def logits(self, state):
        return self.head(state[0])

    @exercise.step
    def read(self, tokens, state=None):
        state, logits = self.zeros(len(tokens)) if state is None else state, []
        for a in self.inputs(tokens).unbind(1):
            state = self.cell(self, a, *state)
            logits.append(self.logits(state))
        return torch.stack(logits, dim=1), state

    @exercise.step
    def prompt(self, batch, context):
        return torch.full((batch, 1), self.bos_id) if context is None else context.long()

    @exercise.step
    def conditionals(self, x, context=None):
        prompt = self.prompt(len(x), context)
        logits, _ = self.read(torch.cat([prompt, x[:, :-1].long()], dim=1))
        return self.conditional(logits[:, prompt.shape[1] - 1:])

    @exercise.step
    def start(self, batch, context=None):
        return self.read(self.prompt(batch, context))[1]

    def predict(self, state):
        return self.conditional(self.logits(state))

    @exercise.step
    def update(self, state, x_i):
        return self.read(x_i[:, None], state)[1]

    def fit(self, text):
        streams, window, rate, epochs = 32, 16, 0.03, 3
        n = (len(text) - 1) // streams
        x, y = (text[k:k + streams * n].view(streams, n).split(window, dim=1) for k in (0, 1))
        optimizer = torch.optim.Adam(self.parameters(), lr=rate)
        for epoch in range(epochs):
            state = None
            for k, (tokens, following) in enumerate(zip(x, y, strict=True)):
                optimizer.param_groups[0]["lr"] = rate * (1 - (epoch + k / len(x)) / epochs)
                logits, state = self.read(tokens, state)
                loss = F.cross_entropy(logits.flatten(0, 1), following.flatten())
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.parameters(), 1.0)
                optimizer.step()
                state = tuple(part.detach() for part in state)


@exercise.misconception(
    lstm_gates,
    "Your gates are cut as i, f, g, o, torch's order. The library's is i, f, o, g: three gates, then the candidate.")
def other_order(a):
    i, f, g, o = a.chunk(4, dim=1)
    return i.sigmoid(), f.sigmoid(), o.sigmoid(), g.tanh()


@exercise.misconception(
    lstm_gates,
    "Your forget gate multiplies the candidate, and your input gate the old memory: c' = f * c + i * g.")
def exchanged(a):
    i, f, o, g = lstm_gates.original(a)
    return f, i, o, g


@exercise.misconception(OwnRecurrent.new_cell, "Your z is inverted: h' = (1 - z) * n + z * h, so z near 1 keeps the old state.")
def other_blend(self):
    class Inverted(GRU):
        def blended(self, z, n, h):
            return z * n + (1 - z) * h

    return Inverted()


@exercise.misconception(
    OwnRecurrent.new_cell,
    "Your cell does not use b_hn, the second bias of the candidate, which the reset gate multiplies.")
def no_b_hn(self):
    class WithOneBias(GRU):
        def biased(self, h_n, b_hn):
            return h_n

    return WithOneBias()


@exercise.misconception(OwnRecurrent.inputs, "Your cell does not use b.")
def no_bias(self, tokens):
    return F.embedding(tokens.long(), self.W_x.T)


@exercise.misconception(OwnRecurrent.logits, "Your logits come from c, the memory. They come from h, which head takes.")
def memory_shown(self, state):
    return self.head(state[-1])


@exercise.misconception(
    OwnRecurrent.read,
    "Your read begins from zeros whatever state it is given: the text before this window is forgotten.")
def state_ignored(self, tokens, state=None):
    return OwnRecurrent.read.original(self, tokens)


@exercise.misconception(
    OwnRecurrent.prompt,
    "Your model reads bos_id before a prompt. It reads the prompt alone, and bos_id only where there is no prompt.")
def bos_before_prompt(self, batch, context):
    bos = OwnRecurrent.prompt.original(self, batch, None)
    return bos if context is None else torch.cat([bos, context.long()], dim=1)


@exercise.misconception(
    OwnRecurrent.conditionals,
    "Your factor of x_t depends on x_t itself. It is predicted from what stands before it: bos_id, x_1, ..., x_(t-1).")
def peeks(self, x, context=None):
    prompt = self.prompt(len(x), context)
    return self.conditional(self.read(torch.cat([prompt, x.long()], dim=1))[0][:, prompt.shape[1]:])


@exercise.misconception(
    OwnRecurrent.update,
    "Your update begins from zeros, so the state depends on the last character alone. It continues from the state it is given.")
def update_forgets(self, state, x_i):
    return self.read(x_i[:, None])[1]


# which cell the learner has chosen, and what the library's answers with it

CELLS = {"lstm": LSTM, "gru": GRU}


def with_cell(kind: str) -> type:
    """The class with this cell."""
    return type("OwnRecurrent", (OwnRecurrent,), {"new_cell": lambda self: CELLS[kind]()})


def has(kind: str, misconception: str) -> bool:
    """Whether an answer with this cell can have the misconception: what replaces the cell is a GRU."""
    return kind == "gru" or exercise.replacements[misconception][0] is not OwnRecurrent.new_cell


def twin(kind: str, misconception: str | None = None) -> Callable:
    """The reference with this cell and misconception, asked as a function."""
    by = dict([exercise.replacements[misconception]]) if misconception else {}
    ask = ModelServer(OwnRecurrent if OwnRecurrent.new_cell in by else with_cell(kind))

    def answer(*args):
        with replace_steps(by):
            return ask(*args)

    return answer


def chosen(run: Callable, generator: torch.Generator) -> tuple[str, dict, dict[str, Tensor]] | Fault:
    """The cell, how a small model is made, and parameters for it; a Fault where there is no model to ask."""
    V, H = uneven(generator, (5, 7), (3, 4))
    config = {"symbols": V, "hidden": H, "bos_id": integer(generator, 1, V - 1)}
    number = run("make", config, None)
    parameters = run("parameters", number, None) if type(number) is int else None
    if not isinstance(parameters, dict):
        return Fault("There is no model to ask: your class makes none.", None, "wrong_shape")
    shape = parameters["W_h"].shape if isinstance(parameters.get("W_h"), Tensor) else ()
    kind = "gru" if "b_hn" in parameters or tuple(shape) == (3 * H, H) else "lstm"
    weights = {name: normal(generator, *parameter.shape, scale=0.8)
               for name, parameter in with_cell(kind)(**config).named_parameters()}
    return kind, config, weights


Cases = Callable[[torch.Generator, dict, str], list[tuple]]


def equals(name: str, points: int, asked: Cases, parts: Sequence[str], among: Sequence[str], answer: Callable | None = None) -> None:
    """A check: what a method gives is what the library's model gives on the same weights, for the cell that was chosen.

    `asked(generator, config, kind)` draws (method, *args); `parts` says what each part of the answer is; `answer(run, config,
    weights, method, *args)` asks where one call is not enough. A misconception of `among` is named where its twin alone
    answers everywhere as the learner does."""
    def one_call(run, config, weights, method, *args):
        return run(method, config, weights, *args)

    who, answer = ("start, predict and update", answer) if answer else ("", one_call)

    @exercise.property(name, points)
    def check(run, generator, solve):
        model = chosen(run, generator)
        if isinstance(model, Fault):
            return model
        kind, config, weights = model
        cases = [(method, *(plain(arg) for arg in args)) for method, *args in asked(generator, config, kind)]

        def answers(of: Callable) -> list:
            with torch.no_grad():
                return [plain(answer(of, config, weights, *case)) for case in cases]

        got, right = answers(run), answers(twin(kind))
        faults = [fault_of(*case, parts, who) for case in zip(got, right, cases, strict=True)]
        fault = next(filter(None, faults), None)
        if fault is None or fault.state == "wrong_shape":
            return fault
        alike = [bug for bug in among if has(kind, bug) and same(got, answers(twin(kind, bug)), 1e-4, 1e-5)]
        return Fault(fault.message, alike[0] if len(alike) == 1 else None)


def fault_of(got: Any, right: Any, case: tuple, parts: Sequence[str], who: str) -> Fault | None:
    """How an answer of the method, or of `who` together, differs from the right one, with the part of it that does."""
    who = who or case[0]
    if fault := shape_fault(got, right, f"{who} of your class"):
        return fault
    for part, value, wanted in zip(parts, got if len(parts) > 1 else [got], right if len(parts) > 1 else [right], strict=True):
        if not same(value, wanted, 1e-4, 1e-5):
            sizes = ", ".join(str(tuple(arg.shape)) for arg in case[1:] if isinstance(arg, Tensor))
            return Fault(f"{who} on {sizes}: {part} are not the library's. {describe_difference(value, wanted, 1e-4, 1e-5)}")
    return None


def symbols(generator, config: dict, *shape: int) -> Tensor:
    return torch.randint(config["symbols"], shape, generator=generator)


def begun(generator, config: dict, kind: str) -> list[tuple]:
    return [("read", symbols(generator, config, *shape)) for shape in ((3, 6), (2, 1), (1, 4))]


def gone_on(generator, config: dict, kind: str) -> list[tuple]:
    """From a state that is drawn, h within what an h can be."""
    cases = []
    for B, T in ((3, 1), (2, 5)):
        state = [normal(generator, B, config["hidden"]).tanh(), normal(generator, B, config["hidden"], scale=1.5)]
        cases.append(("read", symbols(generator, config, B, T), tuple(state[:2 if kind == "lstm" else 1])))
    return cases


def likelihoods(generator, config: dict, kind: str) -> list[tuple]:
    return [("log_prob", symbols(generator, config, 3, 4), *([symbols(generator, config, 3, P)] if P else [])) for P in (0, 3, 1)]


def walks(generator, config: dict, kind: str) -> list[tuple]:
    return [("start", symbols(generator, config, 2, 4), *([symbols(generator, config, 2, P)] if P else [])) for P in (0, 3)]


def walked(run, config: dict, weights: dict, method: str, x: Tensor, context: Tensor | None = None) -> Tensor:
    """The log-probabilities of what comes next, from start on and update by update, (B, T + 1, V)."""
    model = Proxy(run, run("make", config, weights))
    state, log_probs = model.start(len(x), context), []
    for k in range(x.shape[1] + 1):
        log_probs.append(model.predict(state).logits.log_softmax(-1))
        state = model.update(state, x[:, k]) if k < x.shape[1] else state
    return torch.stack(log_probs, dim=1)


equals("read is the library's, from zeros", 4, begun, ("the logits", "the parts of the state after it"),
       ("other_order", "exchanged", "other_blend", "no_b_hn", "no_bias", "memory_shown"))
equals("read goes on from a state", 2, gone_on, ("the logits", "the parts of the state after it"), ("state_ignored",))
equals("log_prob, after bos_id and after a prompt", 2, likelihoods, ("the log-likelihoods",),
       ("bos_before_prompt", "peeks"))
equals("start, predict and update", 2, walks, ("the log-probabilities",), ("update_forgets",), walked)
keeps_the_contract(exercise, lambda generator: {"symbols": 3, "hidden": integer(generator, 2, 4), "bos_id": integer(generator, 0, 2)},
                   points=2, length=3)
reaches(exercise, "new text is predicted", 4, agreement, GAP, than="nats a character")
exercise.hint(
    "The names or shapes of the parameters do not fit.",
    "self.W_x = nn.Parameter(torch.empty(4 * hidden, symbols).uniform_(-s, s)) with s = hidden ** -0.5, W_h alike with hidden "
    "columns, b with 4 * hidden entries, and self.head = nn.Linear(hidden, symbols). For a GRU 3 * hidden, and b_hn with hidden "
    "entries.")
exercise.hint(
    "The logits, or the state, are not those expected.",
    "W_x times a one-hot vector is a column of W_x: self.W_x.T[tokens] + self.b is that part for all steps, (B, T, G). Walk along T: "
    "a = that of step t + h @ self.W_h.T. In an LSTM three pieces of a go through a sigmoid and the last through tanh. Then "
    "c = f * c + i * g, h = o * tanh(c), and head reads h.")
exercise.hint(
    "check_all says that a factor depends on the variable that it predicts, or that the two views differ.",
    "Put the prompt, or bos_id, before x and read all but the last character: the last n logits are the factors. start reads the "
    "prompt and returns the state; predict is head of its h; update reads one character more from that state. Zeros take the "
    "dtype of the parameters: self.b.new_zeros(...).")
exercise.hint(
    "fit ends well above what is asked.",
    "Cut the text into some thirty rows that are read side by side, 16 characters at a time. Carry the state from window to window, "
    "detached. Some hundred steps of Adam, a rate near 0.03 that falls, gradients clipped at 1; b_f of an LSTM begins at 1.")
