"""Automatic differentiation, regression, optimizers and the multilayer perceptron."""

from course_lib.basics.autodiff import Value, gradients
from course_lib.basics.mlp import ACTIVATIONS, MLP, Activation
from course_lib.basics.optimizers import SGD, Adam, AdamW, Momentum, Optimizer
from course_lib.basics.regression import (
    LogisticRegression,
    curvatures,
    gradient_descent,
    mean_squared_error,
    mean_squared_gradient,
    normal_equation,
)

__all__ = ["ACTIVATIONS", "Activation", "Adam", "AdamW", "LogisticRegression", "MLP", "Momentum", "Optimizer", "SGD",
           "Value", "curvatures", "gradient_descent", "gradients", "mean_squared_error", "mean_squared_gradient",
           "normal_equation"]
