"""The weights of a ReLU network through given points."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "relu_interpolation", chapter="backpropagation", place=7, title="A ReLU network through given points",
    contract="t and g, both (m,), m >= 2: the network c + sum over k of alpha_k ReLU(x - t_k) has to be g_k at x = t_k, linear between neighboring "
             "points, and constant to the left of the smallest t_k and to the right of the largest. The t_k are distinct and in any order. Return "
             "(1 + m,): c, then alpha_k in the order of t.",
    points=["universal-approximation"], difficulty=2, minutes=15)


@exercise.step
def order_of(t):
    return t.argsort()


@exercise.step
def slopes(t, g):
    """Slopes of the segments between sorted points."""
    return g.diff() / t.diff()


@exercise.step
def changes(s):
    """Change of the slope at each of the sorted points, for slopes s of the segments."""
    return torch.cat([s[:1], s.diff(), -s[-1:]])


@exercise.step
def constant(g, order):
    return g[order[0]]


@exercise.step
def in_given_order(alpha, order):
    result = torch.empty_like(alpha)
    result[order] = alpha
    return result


@exercise.reference()
def relu_interpolation_reference(t, g):
    order = order_of(t)
    alpha = changes(slopes(t[order], g[order]))
    return torch.cat([constant(g, order)[None], in_given_order(alpha, order)])


@exercise.misconception(order_of, "You take the points in the given order. Neighboring points are found only after the t_k have been sorted.")
def as_given(t):
    return torch.arange(len(t))


@exercise.misconception(in_given_order, "Your weights are in the order of the sorted points. Return alpha_k in the order of the given t_k.")
def sorted_weights(alpha, order):
    return alpha


@exercise.misconception(
    in_given_order, "You put the weights back with alpha[order], which sorts them a second time. The inverse is needed: result[order] = alpha.")
def sorted_again(alpha, order):
    return alpha[order]


@exercise.misconception(
    changes, "Your weights are the slopes of the segments. All units to the left of a point are active there, so each weight is the change of the slope at its point.")
def slopes_themselves(s):
    return torch.cat([s, torch.zeros_like(s[:1])])


@exercise.misconception(
    changes, "Your network continues with the last slope. To the right of the largest point it is constant, so the last unit has to cancel this slope.")
def not_constant(s):
    return torch.cat([s[:1], s.diff(), torch.zeros_like(s[:1])])


@exercise.misconception(
    slopes, "You use the differences of the values. The slope of a segment is the difference of the values divided by the distance of the points.")
def not_divided(t, g):
    return g.diff()


@exercise.misconception(
    constant, "Your constant is the value at the first given point. To the left of the smallest t_k no unit is active, so the constant is the value there.")
def first_given(g, order):
    return g[0]


@exercise.misconception(
    constant, "Your constant is 0. To the left of all points no unit is active, and the network has to be equal to the value at the smallest t_k.")
def zero(g, order):
    return torch.zeros_like(g[0])


def points(generator, m):
    """m sorted points with positive and negative values in turn."""
    t = uniform(generator, 1, low=-3.0, high=-1.0) + uniform(generator, m, low=0.4, high=0.9).cumsum(0)
    return t, uniform(generator, m, low=0.5, high=1.5) * (1 - 2 * (torch.arange(m) % 2))


def point_cases(generator):
    """The largest point first and the smallest third; two points in reverse; sorted points."""
    m = integer(generator, 5, 7)
    orders = ([m - 1, 1, 0, *range(2, m - 1)], [1, 0], [0, 1, 2, 3])
    return [tuple(column[order] for column in points(generator, len(order))) for order in orders]


exercise.compare("weights", point_cases, points=4, rtol=1e-3, atol=1e-4)
exercise.unchanged(point_cases)
exercise.hint(
    "You do not know where to begin.",
    "Sort the points. To the left of the smallest point all units are 0, which gives the constant. Then go to the right: at each point one more unit becomes "
    "active and changes the slope.")
exercise.hint(
    "Your network is right at some points only.",
    "The slope of a segment is the sum of the weights of all units to its left. So the weight of a unit is the slope after its point minus the slope before it.")
exercise.hint(
    "Your weights are right for sorted points, but not for others.",
    "order = t.argsort() gives the sorted points t[order]. To put values back, assign them to result[order].")
