"""One step of SGD with momentum and weight decay."""
from __future__ import annotations

from course_lib.exercises.draws import integer, normal, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "momentum_step", chapter="linear-models", place=6, title="A step of SGD with momentum",
    contract="theta, g and v have the same shape; rate > 0, 0 <= mu < 1 and decay >= 0 are numbers. The gradient of the objective is g + "
             "decay theta. v becomes mu v plus this gradient, and theta moves by -rate times the new v. Return (theta, v) after the step. "
             "The arguments are left as they were.",
    points=["linear-regression"], difficulty=2, minutes=10)


@exercise.step
def gradient(theta, g, decay):
    return g + decay * theta


@exercise.step
def velocity(v, slope, mu):
    return mu * v + slope


@exercise.step
def moved(theta, v, new_v, rate, mu):
    return theta - rate * new_v


@exercise.reference()
@exercise.step
def momentum_step_reference(theta, g, v, rate, mu, decay):
    new_v = velocity(v, gradient(theta, g, decay), mu)
    return moved(theta, v, new_v, rate, mu), new_v


@exercise.misconception(gradient, "You leave out the weight decay. The gradient of decay / 2 times the sum of squares is decay times theta.")
def no_decay(theta, g, decay):
    return g


@exercise.misconception(
    gradient, "Your weight decay has the factor 2. The penalty is decay / 2 times the sum of squares, so its gradient is decay times theta.")
def doubled_decay(theta, g, decay):
    return g + 2 * decay * theta


@exercise.misconception(gradient, "You subtract the weight decay from the gradient, so the parameters grow. Add it.")
def negative_decay(theta, g, decay):
    return g - decay * theta


@exercise.misconception(
    velocity, "You multiply the gradient by 1 - mu. That is an exponential moving average, as in Adam; momentum adds the whole gradient.")
def running_mean(v, slope, mu):
    return mu * v + (1 - mu) * slope


@exercise.misconception(velocity, "You multiply the new gradient by mu and keep the old v. It is v that decays.")
def decays_gradient(v, slope, mu):
    return v + mu * slope


@exercise.misconception(moved, "You step along the old v. Update v first, then move theta along the new one.")
def old_velocity(theta, v, new_v, rate, mu):
    return theta - rate * v


@exercise.misconception(moved, "Your step increases the loss: subtract rate times v.")
def uphill(theta, v, new_v, rate, mu):
    return theta + rate * new_v


def steps(generator):
    """Vectors and matrices in the middle of a run, and the first step, where v is 0."""
    cases = []
    for shape in ((integer(generator, 2, 5),), (2, 3)):
        cases.append((normal(generator, *shape), normal(generator, *shape), normal(generator, *shape),
                      float(uniform(generator, 1, low=0.05, high=0.4)), float(uniform(generator, 1, low=0.3, high=0.9)),
                      float(uniform(generator, 1, low=0.2, high=1.0))))
    first = normal(generator, 3)
    cases.append((first, normal(generator, 3), 0 * first, 0.1, 0.9, 0.3))
    return cases


exercise.compare("theta and v", steps, points=3)
exercise.unchanged(steps)
exercise.hint("You do not know where the weight decay belongs.",
              "The objective is the loss plus decay / 2 times the sum of theta squared. Differentiate it: this is the gradient of (2.6).")
exercise.hint("Your values differ from those of torch.optim.SGD from the second step on.",
              "Compare v. It is mu times the old v plus the whole gradient, and theta moves along the new v.")
