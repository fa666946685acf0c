"""Chapter 02: derivatives of activations, the slide's regression, a training loop with three faults, an autodiff, a "
  "network."""
from course_lib.grading.bank.ch02_how_a_machine_learns import (
    activation_derivatives,
    regression_step,
    train_line,
    train_network,
    value_gradients,
)

EXERCISES = [each.exercise for each in (activation_derivatives, regression_step, train_line, value_gradients,
                                        train_network)]
