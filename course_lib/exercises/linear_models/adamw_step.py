"""One step of AdamW."""
from __future__ import annotations

from course_lib.exercises.draws import integer, normal, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "adamw_step", chapter="linear-models", place=7, title="A step of AdamW",
    contract="theta, g, m and s have the same shape, s >= 0; t >= 1 is the number of this step; rate, b1, b2, eps and decay are numbers. "
             "Return (theta, m, s) after one step of AdamW as in PyTorch: theta is multiplied by 1 - rate decay, m and s are updated with g, and theta "
             "moves by -rate m_hat / (sqrt(s_hat) + eps). The arguments are left as they were.",
    points=["linear-regression"], difficulty=3, minutes=15)


@exercise.step
def used_gradient(theta, g, decay):
    return g


@exercise.step
def means(g, m, s, b1, b2):
    return b1 * m + (1 - b1) * g, b2 * s + (1 - b2) * g * g


@exercise.step
def corrected(m, s, t, b1, b2):
    return m / (1 - b1 ** t), s / (1 - b2 ** t)


@exercise.step
def ratio(m_hat, s_hat, eps):
    return m_hat / (s_hat.sqrt() + eps)


@exercise.step
def shrunk(theta, rate, decay):
    return (1 - rate * decay) * theta


@exercise.reference()
@exercise.step
def adamw_step_reference(theta, g, m, s, t, rate, b1, b2, eps, decay):
    m, s = means(used_gradient(theta, g, decay), m, s, b1, b2)
    return shrunk(theta, rate, decay) - rate * ratio(*corrected(m, s, t, b1, b2), eps), m, s


@exercise.misconception(
    adamw_step_reference,
    "You add the weight decay to the gradient, as Adam does. Adam divides it by the root of s; AdamW multiplies theta by 1 - rate decay instead.")
def coupled(theta, g, m, s, t, rate, b1, b2, eps, decay):
    return adamw_step_reference.original(theta, g + decay * theta, m, s, t, rate, b1, b2, eps, 0.0)


@exercise.misconception(shrunk, "You leave out the weight decay: multiply theta by 1 - rate decay.")
def no_decay(theta, rate, decay):
    return theta


@exercise.misconception(shrunk, "You multiply theta by 1 - decay. The factor is 1 - rate decay, so the decay changes with the learning rate.")
def decay_without_rate(theta, rate, decay):
    return (1 - decay) * theta


@exercise.misconception(means, "Your s is an exponential moving average of the gradient. It should be an exponential moving average of its square.")
def not_squared(g, m, s, b1, b2):
    return b1 * m + (1 - b1) * g, b2 * s + (1 - b2) * g.abs()


@exercise.misconception(corrected, "You leave out the bias correction. Divide m by 1 - b1^t and s by 1 - b2^t.")
def not_corrected(m, s, t, b1, b2):
    return m, s


@exercise.misconception(corrected, "You correct the bias as in step t + 1. The first step has t = 1, and it is given.")
def one_late(m, s, t, b1, b2):
    return m / (1 - b1 ** (t + 1)), s / (1 - b2 ** (t + 1))


@exercise.misconception(ratio, "You divide by s. Divide by its square root.")
def no_root(m_hat, s_hat, eps):
    return m_hat / (s_hat + eps)


@exercise.misconception(ratio, "Your eps is under the square root. It is added to the root.")
def eps_inside(m_hat, s_hat, eps):
    return m_hat / (s_hat + eps).sqrt()


@exercise.misconception(
    adamw_step_reference, "You multiply by 1 - rate decay after the step, so the step is multiplied too. The factor applies to the old theta alone.")
def decay_last(theta, g, m, s, t, rate, b1, b2, eps, decay):
    theta, m, s = adamw_step_reference.original(theta, g, m, s, t, rate, b1, b2, eps, 0.0)
    return (1 - rate * decay) * theta, m, s


def steps(generator):
    """The first step with m = s = 0, and later ones; eps is large enough to matter."""
    cases = []
    for t in (1, 2, 5):
        shape = (integer(generator, 2, 5),) if t < 5 else (2, 3)
        g, m, s = normal(generator, *shape), normal(generator, *shape), uniform(generator, *shape, low=0.05, high=0.5)
        started = float(t > 1)
        cases.append((normal(generator, *shape), g, started * m, started * s, t, float(uniform(generator, 1, low=0.05, high=0.3)),
                      float(uniform(generator, 1, low=0.5, high=0.9)), float(uniform(generator, 1, low=0.6, high=0.95)),
                      0.05, float(uniform(generator, 1, low=0.3, high=1.0))))
    return cases


exercise.compare("theta, m and s", steps, points=4)
exercise.unchanged(steps)
exercise.hint("You do not know in which order to compute.",
              "First m and s from (2.7), then the bias correction, then the step. The m and s that you return are not corrected.")
exercise.hint("Your theta differs from that of torch.optim.AdamW, while m and s agree.",
              "Check three things: both corrections use t, eps is added to the square root, and the factor 1 - rate decay applies to the old theta.")
