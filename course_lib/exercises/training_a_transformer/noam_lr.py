"""The learning rates of the paper."""
from __future__ import annotations

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "noam_lr", chapter="training-a-transformer", place=4, title="Warm up, then fall",
    contract="step, counted from 1, d_model, and warmup, the number of warm-up steps. Return the learning rate "
             "d_model^-0.5 min(step^-0.5, step warmup^-1.5), a number.",
    points=["noam"], difficulty=1, minutes=5)


@exercise.step
def rise(step, warmup):
    return step * warmup ** -1.5


@exercise.step
def fall(step, warmup):
    return max(step, 1e-9) ** -0.5


@exercise.step
def shape(step, warmup):
    return min(rise(step, warmup), fall(step, warmup))


@exercise.step
def of_width(d_model):
    return d_model ** -0.5


@exercise.reference()
def noam_lr_reference(step, d_model, warmup):
    return shape(step, warmup) * of_width(d_model)


@exercise.misconception(
    shape,
    "You take the larger of the two. Then the rate starts high, falls, and grows for ever; min makes a peak.")
def maximum(step, warmup):
    return max(rise(step, warmup), fall(step, warmup))


@exercise.misconception(shape, "Your rate only falls. While step is below warmup it rises in a straight line.")
def no_warmup(step, warmup):
    return fall(step, warmup)


@exercise.misconception(shape, "Your rate rises for ever. After the warm-up it falls as 1 / sqrt(step).")
def never_falls(step, warmup):
    return rise(step, warmup)


@exercise.misconception(of_width, "Your rate does not depend on d_model.")
def no_width(d_model):
    return 1


@exercise.misconception(of_width, "Your rate grows with d_model. A wider model takes smaller steps: the power is -0.5.")
def width_multiplied(d_model):
    return d_model ** 0.5


@exercise.misconception(rise, "Your two branches do not meet at step = warmup. The power of warmup is -1.5.")
def wrong_power(step, warmup):
    return step / warmup


@exercise.misconception(shape, "You count the steps from 0. The first is 1, and its rate is not 0.")
def from_zero(step, warmup):
    return shape.original(step - 1, warmup)


@exercise.misconception(
    shape,
    "Your rate is that of the next step: step counts from 1 already, so nothing is added to it.")
def one_ahead(step, warmup):
    return shape.original(step + 1, warmup)


@exercise.misconception(fall, "Your rate stays at its peak after the warm-up. It falls as 1 / sqrt(step).")
def flat_after(step, warmup):
    return warmup ** -0.5


@exercise.misconception(
    shape,
    "Your rate is 1 at its peak. That factor is `inverse_sqrt` of the library; the paper's peak is (d_model "
    "warmup)^-0.5.")
def relative(step, warmup):
    return shape.original(step, warmup) * warmup ** 0.5


def noam_cases(generator):
    found = [(4000, 512, 4000)]
    for low, high in ((2, 60), (61, 140), (900, 9000), (1, 1)):
        found.append((integer(generator, low, high), integer(generator, 24, 700), integer(generator, 62, 800)))
    return found


exercise.compare("values", noam_cases, points=4, atol=1e-9)        # rates are small numbers
exercise.hint(
    "The shape of the curve.",
    "Below warmup the second term is the smaller one, a straight line; above it the first is. They are equal at "
    "step = warmup. Draw both for warmup = 100.")
exercise.hint(
    "Your values are off by one and the same factor.",
    "At the peak the rate is 1 / sqrt(d_model * warmup). For 512 and 4000 that is 0.000699.")
