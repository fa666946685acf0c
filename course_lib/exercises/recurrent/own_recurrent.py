"""A language model with a cell of one's own, an LSTM or a GRU: it equals the library's, carries its state, and learns a text."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.data.toy_agreement import texts
from course_lib.exercises.building import keeps_the_contract, reaches
from course_lib.exercises.draws import integer, normal, uneven
from course_lib.exercises.recurrent._own_cell import OF_GRU, made_of
from course_lib.grading.checks import Fault, shape_fault
from course_lib.grading.exercise import Exercise
from course_lib.grading.facts import describe_difference
from course_lib.grading.protocol.calls import plain, same
from course_lib.grading.protocol.models import ModelServer
from course_lib.grading.proxy import Proxy, check_tensor, model_error

exercise = Exercise(
    "OwnRecurrent", chapter="07", place=6, title="A language model with a cell of your own",
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

LETTERS = "\n .abcdefghijklmnopqrstuvwxyz"                           # symbol 0 ends a text and stands before every other
UNITS, TEXTS, ROWS, TOLD = 64, 800, 48, 60                           # of the training, and of the new text: rows, characters scored
WARM = 10                                                            # characters read before the first that is scored
GAP = 0.42                                                           # nats a character
OF_CELL = ("other_order", "exchanged", "keeps_all", "no_bias", "no_state", "no_tanh", "memory_shown", "memory_first", *sorted(OF_GRU))


@exercise.class_reference(
    other_order="Your gates are cut as i, f, g, o, torch's order. The library's is i, f, o, g: three gates, then the candidate.",
    exchanged="Your forget gate multiplies the candidate, and your input gate the old memory: c' = f * c + i * g.",
    keeps_all="Your memory is c + i * g: nothing is ever forgotten. The forget gate multiplies c.",
    no_bias="Your cell does not use b.",
    no_state="Your gates read the character alone: W_h h is missing, so that what came before reaches no gate.",
    no_tanh="Your h is o * c. The memory goes through tanh before it is shown.",
    memory_shown="Your logits come from c, the memory. It is h that is shown: head reads h.",
    memory_first="Your state is (c, h). h comes first: (h, c).",
    other_blend="Your z is turned around: h' = (1 - z) * n + z * h, so z near 1 keeps what there is.",
    reset_first="Your reset gate multiplies h before the product with W_hn, as in the paper. Here it comes after: "
                "r * (W_hn h + b_hn).",
    gates_exchanged="Your gates are cut as z, r, n. The rows are those of r, z, n.",
    no_b_hn="Your cell does not use b_hn, the second bias of the candidate, which stands under the reset gate.",
    state_ignored="Your read begins from zeros whatever state it is given: the text before this window is forgotten.",
    half_carried="Your read takes h from the state that it is given and begins with a c of zeros. Both are carried.",
    peeks="Your factor of x_t has read x_t. It is predicted from what stands before it: bos_id, x_1, ..., x_(t-1).",
    nothing_read="Your first factor comes from the zeros of the state. Before it bos_id is read.",
    context_ignored="Your factors do not depend on context: they begin after bos_id, whatever the prompt is.",
    start_empty="Your start returns a state of zeros. bos_id, or the prompt, has been read when it returns.",
    last_only="Your start reads the last character of the prompt alone. All of it is read.",
    update_forgets="Your update begins from zeros: the state knows the last character alone. It goes on from the state it is given.",
    untrained="After fit, the model is as it was: the parameters of the model itself must change.",
    uphill="Your fit climbs the loss: minimise minus the log-likelihood.",
)
def own_recurrent(bugs: frozenset[str]) -> type:
    return made_of("gru" if bugs & OF_GRU else "lstm", bugs)


# which cell the learner has chosen, and what the library's answers with it

@cache
def twin(kind: str, bugs: frozenset[str]) -> ModelServer:
    return ModelServer(made_of(kind, bugs))


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
    weights = {name: normal(generator, *one.shape, scale=0.8)
               for name, one in made_of(kind, frozenset())(**config).named_parameters()}
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
        found = chosen(run, generator)
        if isinstance(found, Fault):
            return found
        kind, config, weights = found
        cases = [(method, *(plain(arg) for arg in args)) for method, *args in asked(generator, config, kind)]

        def answers(of: Callable) -> list:
            with torch.no_grad():
                return [plain(answer(of, config, weights, *case)) for case in cases]

        got, right = answers(run), answers(twin(kind, frozenset()))
        said = next((one for each in zip(got, right, cases, strict=True) if (one := fault_of(*each, parts, who))), None)
        if said is None or said.state == "wrong_shape":
            return said
        twins = [bug for bug in among if same(got, answers(twin(kind, frozenset({bug}))), 1e-4, 1e-5)]
        return Fault(said.message, twins[0] if len(twins) == 1 else None)


def fault_of(got: Any, right: Any, case: tuple, parts: Sequence[str], who: str) -> Fault | None:
    """How an answer of the method, or of `who` together, differs from the right one, with the part of it that does."""
    who = who or case[0]
    if fault := shape_fault(got, right, f"{who} of your class"):
        return fault
    for part, mine, wanted in zip(parts, got if len(parts) > 1 else [got], right if len(parts) > 1 else [right], strict=True):
        if not same(mine, wanted, 1e-4, 1e-5):
            sizes = ", ".join(str(tuple(arg.shape)) for arg in case[1:] if isinstance(arg, Tensor))
            return Fault(f"{who} on {sizes}: {part} are not the library's. {describe_difference(mine, wanted, 1e-4, 1e-5)}")
    return None


def symbols(generator, config: dict, *shape: int) -> Tensor:
    return torch.randint(config["symbols"], shape, generator=generator)


def begun(generator, config: dict, kind: str) -> list[tuple]:
    return [("read", symbols(generator, config, *shape)) for shape in ((3, 6), (2, 1), (1, 4))]


def gone_on(generator, config: dict, kind: str) -> list[tuple]:
    """From a state that is drawn, h within what an h can be."""
    found = []
    for B, T in ((3, 1), (2, 5)):
        state = [normal(generator, B, config["hidden"]).tanh(), normal(generator, B, config["hidden"], scale=1.5)]
        found.append(("read", symbols(generator, config, B, T), tuple(state[:2 if kind == "lstm" else 1])))
    return found


def likelihoods(generator, config: dict, kind: str) -> list[tuple]:
    return [("log_prob", symbols(generator, config, 3, 4), *([symbols(generator, config, 3, P)] if P else [])) for P in (0, 3, 1)]


def walks(generator, config: dict, kind: str) -> list[tuple]:
    return [("start", symbols(generator, config, 2, 4), *([symbols(generator, config, 2, P)] if P else [])) for P in (0, 3)]


def walked(run, config: dict, weights: dict, method: str, x: Tensor, context: Tensor | None = None) -> Tensor:
    """The log-probabilities of what comes next, from start on and update by update, (B, T + 1, V)."""
    model = Proxy(run, run("make", config, weights))
    state, found = model.start(len(x), context), []
    for k in range(x.shape[1] + 1):
        found.append(model.predict(state).logits.log_softmax(-1))
        state = model.update(state, x[:, k]) if k < x.shape[1] else state
    return torch.stack(found, dim=1)


def agreement(generator):
    """A text in which a verb follows its subject over other words, and what new text costs, in nats a character."""
    def ids(num: int) -> Tensor:
        text = "".join(f"{one}\n" for one in texts(num, generator))
        return torch.tensor([LETTERS.index(letter) for letter in text])

    train, rows = ids(TEXTS), ids(ROWS + 40)[:ROWS * (WARM + TOLD + 1)].view(ROWS, -1)

    def cost(learnt: Proxy) -> float:
        state, total = None, 0.0
        for k in range(WARM + TOLD):                                 # a character at a time: who reads ahead gains nothing
            found = learnt.ask("read", rows[:, k:k + 1], state)
            if not isinstance(found, list | tuple) or len(found) != 2:
                raise model_error("read gives no pair of logits and a state")
            logits, state = check_tensor(found[0], (ROWS, 1, len(LETTERS)), "read").detach(), found[1]
            total += float(F.cross_entropy(logits[:, 0].double(), rows[:, k + 1])) if k >= WARM else 0.0
        return total / TOLD

    return {"symbols": len(LETTERS), "hidden": UNITS, "bos_id": 0}, train, cost


equals("read is the library's, from zeros", 4, begun, ("the logits", "the parts of the state after it"), OF_CELL)
equals("read goes on from a state", 2, gone_on, ("the logits", "the parts of the state after it"), ("state_ignored", "half_carried"))
equals("log_prob, after bos_id and after a prompt", 2, likelihoods, ("the log-likelihoods",), ("peeks", "nothing_read", "context_ignored"))
equals("start, predict and update", 2, walks, ("the log-probabilities",), ("start_empty", "last_only", "update_forgets"), walked)
keeps_the_contract(exercise, lambda generator: {"symbols": 3, "hidden": integer(generator, 2, 4), "bos_id": integer(generator, 0, 2)},
                   points=2, length=3)
reaches(exercise, "new text is predicted", 4, agreement, GAP, among=("untrained", "uphill"), than="nats a character")
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
    "check_all says that a factor reads what it predicts, or that the two views differ.",
    "Put the prompt, or bos_id, before x and read all but the last character: the last n logits are the factors. start reads the "
    "prompt and returns the state; predict is head of its h; update reads one character more from that state. Zeros take the "
    "dtype of the parameters: self.b.new_zeros(...).")
exercise.hint(
    "fit ends well above what is asked.",
    "Cut the text into some thirty rows that are read side by side, 16 characters at a time. Carry the state from window to window, "
    "detached. Some hundred steps of Adam, a rate near 0.03 that falls, gradients clipped at 1; b_f of an LSTM begins at 1.")
