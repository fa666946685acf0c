"""Checks of a class: that the model behind it keeps the contract, and that what it learns reaches a score.

Both ask the reference's own wrong classes the same; one whose fault is the same to the letter names the misconception.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_lib.contract import ContractError, check_all
from course_lib.grading.checks import Fault, Stop
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.calls import Outcome
from course_lib.grading.proxy import Proxy

TOO_GOOD = 0.02                 # by which drawn data may flatter a model

Judge = Callable[[Callable, torch.Generator], "Fault | None"]


def judged(exercise: Exercise, name: str, points: int, among: Sequence[str]) -> Callable[[Judge], Judge]:
    """Decorate `judge(run, generator)`: a check of the class, whose fault gets the one misconception of `among` that
    leads to the same fault."""
    def keep(judge: Judge) -> Judge:
        def check(run, generator, solve):
            state = generator.get_state()
            fault = judge(run, generator)
            if fault is None or fault.misconception:
                return fault
            same = [bug for bug in among if of_twin(judge, solve, bug, state) == fault.message]
            return Fault(fault.message, same[0] if len(same) == 1 else None, fault.state)

        exercise.property(name, points)(check)
        return judge
    return keep


def of_twin(judge: Judge, solve: Callable, bug: str, state: Tensor) -> str:
    """What the check says of the reference with this misconception; "" where it says nothing."""
    try:
        with torch.random.fork_rng(devices=[]):
            fault = judge(lambda *args: solve(*args, bugs=[bug]), torch.Generator().set_state(state))
    except Exception:                   # another way to fail
        return ""
    return fault.message if fault else ""


def keeps_the_contract(exercise: Exercise, config: Callable[[torch.Generator], dict[str, Any]], points: int = 3,
                       length: int | None = None, among: Sequence[str] = ()) -> None:
    """`check_all` finds no fault with the model of a drawn `config`."""
    @judged(exercise, "keeps the contract", points, among)
    def contract(run, generator):
        model = Proxy(run, run("make", config(generator), None), length)
        try:
            check_all(model, length=length, seed=int(torch.randint(2 ** 31, (), generator=generator)))
        except ContractError as broken:
            return Fault(f"check_all says: {broken}.")
        except (TypeError, ValueError) as problem:       # it cannot be asked
            raise Stop(Outcome("error", detail=str(problem))) from None
        return None


def drawn_from(generator: torch.Generator, states: Tensor, p: Tensor, rows: int) -> tuple[Tensor, Callable[[Proxy], float]]:
    """Rows drawn from a source with the probabilities p of its states, and what a model loses to it: the source's expected
    log-likelihood minus the model's, in nats, over all states."""
    def loss(learnt: Proxy) -> float:
        return float((p * (p.log() - stepwise_log_prob(learnt, states))).sum())

    loss.baseline = partial(describe_independent, states, p)
    return states[torch.multinomial(p, rows, replacement=True, generator=generator)].float(), loss


def describe_independent(states: Tensor, p: Tensor, gap: float) -> str:
    """What a model of independent variables with the right means loses to the source, beside the `gap` of another model: a sentence
    after a space."""
    mean = p @ states.to(p)
    independent = float((p * (p.log() - torch.where(states == 1, mean, 1 - mean).log().sum(1))).sum())
    same = abs(gap - independent) < 0.05
    return (f" Independent variables with the right means lose {independent:.3f}"
            + (", as much as yours: your model uses no dependence between variables." if same else "."))


@torch.no_grad()
def stepwise_log_prob(model: Proxy, x: Tensor, context: Any = None) -> Tensor:
    """The log-probability of each row of x, (B,) in float64, from the factors of this very model. Each factor is computed before its
    variable and the later ones are revealed: until then they hold random values. So whatever the model does, this is the
    log-probability of a distribution, which no number that the model states about itself has to be."""
    generator, values = torch.Generator().manual_seed(0), model.conditional.num_values
    known = (x.mean(0) + x.std(0) * torch.randn(x.shape, generator=generator) if values is None else
             torch.randint(values, x.shape, generator=generator).to(x.dtype))
    total = torch.zeros(len(x), dtype=torch.float64)
    for k in range(x.shape[1]):
        i = model.variable_at(k)
        total += model.conditionals(known.clone(), context).log_prob(x.float())[:, i].double()
        known[:, i] = x[:, i]
    return total


def reaches(exercise: Exercise, name: str, points: int, data: Callable[[torch.Generator], tuple[dict, Any, Callable]],
            gap: float, among: Sequence[str] = (), method: str = "fit", than: str = "nats to the source",
            why: Callable[[dict[str, Tensor]], str | None] | None = None) -> None:
    """After `method`, called once with the training data, the model loses at most `gap`, in what `than` says.

    `data(generator)` gives the config, the training data, and a function from the model (a Proxy) to what it loses.
    `why` sees the parameters of a model that loses more, and names the misconception that they show, if they show one."""
    @judged(exercise, name, points, among)
    def trained(run, generator):
        config, train, loss = data(generator)
        number = run("make", config, None)
        model = Proxy(run, number)
        before = loss(model)
        run(method, number, None, train)
        after = loss(model)
        if -TOO_GOOD <= after <= gap:
            return None
        if after < 0:
            return Fault(f"After {method} your model is better than the source itself, by {-after:.3f} {than.split()[0]}. No "
                         "distribution is: factors see what they predict, or the probabilities sum to more than 1.")
        if after != after:
            return Fault(f"After {method} the likelihood is NaN. Compute it from logits, and take smaller steps.")
        worse = f" Before it lost {before:.3f}: your steps lead away." if after > before + 0.01 else \
            f" {method} leaves the model as it was made." if after == before else ""
        if hasattr(loss, "baseline"):
            worse += loss.baseline(after)
        shows = why(run("parameters", number, None)) if why else None
        return Fault(f"After {method} your model loses {after:.3f} {than}; {gap} are allowed.{worse}", shows)
