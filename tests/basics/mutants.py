"""Faults planted in the autodiff, regression, optimizers and networks; see `tests.mutation`."""
from __future__ import annotations

from course_lib.basics import autodiff, mlp, optimizers, regression
from tests.basics import checks as check
from tests.mutation import Mutant, faults

A, R, S, M = autodiff, regression, optimizers, mlp
SUMMED = "parent, part if before is None else before[1] + part"
WAITS = """            stack.append((value, True))
            stack += [(parent, False) for parent in reversed(value.parents)]
"""
AT_ONCE = """            order.insert(0, value)
            stack += [(parent, False) for parent in reversed(value.parents)]
"""

MUTANTS: list[Mutant] = [
    # the autodiff
    *faults(A, None, check.random_graphs_are_torchs,
            ("a second contribution replaces the first", SUMMED, "parent, part"),
            ("parents pass on what they have before all that read them have spoken", WAITS, AT_ONCE)),
    *faults(A, None, check.twice_backward_is_twice_the_gradient,
            ("a second backward sends the first one's gradients on", "_backward(self, 1.0, lambda",
             "_backward(self, 1.0 + (self.grad or 0.0), lambda"),
            ("a second backward replaces the first one's", "value.grad = gradient if value.grad is None else value.grad + gradient",
             "value.grad = gradient")),
    *faults(A, None, check.every_operation_is_torchs,
            ("the product's rule gives each factor its own", "(g * b, g * a)", "(g * a, g * b)"),
            ("tanh's rule with tanh, not its square", "g * (1 - y * y)", "g * (1 - y)"),
            ("tanh's rule from the input", "lambda g, y, a: (g * (1 - y * y),)", "lambda g, y, a: (g * (1 - a * a),)"),
            ("the sigmoid's rule without 1 - y", "(g * y * (1 - y),)", "(g * y,)"),
            ("a sigmoid that overflows", "lambda a: 1 / (1 + math.exp(-a)) if a >= 0 else math.exp(a) / (1 + math.exp(a))",
             "lambda a: 1 / (1 + math.exp(-a))", OverflowError),
            ("ReLU passes the gradient at 0", "if a > 0 else 0.0", "if a >= 0 else 0.0"),
            ("the power's rule keeps its exponent", "a ** (n - 1)", "a ** n", OverflowError),
            ("n - v is v - n", 'return _apply("-", other, self)', 'return _apply("-", self, other)'),
            ("n / v is v / n", 'return _apply("/", other, self)', 'return _apply("/", self, other)'),
            ("a difference adds to both gradients", "(g, g * -1.0)", "(g, g)"),
            ("a quotient's rule by its numerator's value", "g * y / b * -1.0", "g * a / b * -1.0")),
    *faults(A, None, check.higher_derivatives_are_torchs,
            ("a rule that forgets that its value depends on the parents", '"tanh": (math.tanh, lambda g, y, a: (g * (1 - y * y),)',
             '"tanh": (math.tanh, lambda g, y, a: (g * (1 - _number(y) * _number(y)),)')),
    *faults(A, None, check.the_slides_example,
            ("the gradient of the result by itself is not 1", "_backward(self, 1.0, lambda", "_backward(self, self.data * 2, lambda")),
    # regression
    *faults(R, None, check.its_gradient_is_autograds,
            ("the gradient's sign", "return -2 / len(X) * X.T @ (y - X @ beta)", "return 2 / len(X) * X.T @ (y - X @ beta)"),
            ("the 2 of the square is forgotten", "return -2 / len(X)", "return -1 / len(X)"),
            ("the sum and not the mean", "return -2 / len(X) *", "return -2 *")),
    *faults(R, None, check.its_solution_is_least_squares,
            ("X y without X'X", "torch.linalg.solve(X.T @ X, X.T @ y)", "X.T @ y / len(X)")),
    *faults(R, None, check.descent_reaches_the_solution_at_the_rate_of_theory,
            ("ascent", "path[-1] - lr * gradient(path[-1])", "path[-1] + lr * gradient(path[-1])"),
            ("the gradient of the start at every step", "path[-1] - lr * gradient(path[-1])", "path[-1] - lr * gradient(start)"),
            ("curvatures without the 2", "eigvalsh(2 / len(X) * X.T @ X)", "eigvalsh(1 / len(X) * X.T @ X)")),
    *faults(R, None, check.logistic_gradient_is_autograds,
            ("the penalty missing in the gradient", " / len(x) + self.penalty * self.weight", " / len(x)"),
            ("y - p", "self.probabilities(x) - y ", "y - self.probabilities(x) "),
            ("no sigmoid", "torch.sigmoid(self(x))", "self(x)", RuntimeError)),
    *faults(R, None, check.logistic_is_scikit_learns,
            ("the penalty twice as strong", "x.T @ off / len(x) + self.penalty", "x.T @ off / len(x) + 2 * self.penalty"),
            ("the bias is penalised too", "off.mean()", "off.mean() + self.penalty * self.bias")),
    # optimizers
    *faults(S, None, check.steps_are_torchs("SGD"), ("uphill", "return p - self.lr * g", "return p + self.lr * g")),
    *faults(S, None, check.steps_are_torchs("Momentum"),
            ("the velocity is the last gradient", "self.mu * state.get(\"v\", 0.0) + g", "g"),
            ("a mean and not a sum", "self.mu * state.get(\"v\", 0.0) + g", "self.mu * state.get(\"v\", 0.0) + (1 - self.mu) * g")),
    *faults(S, None, check.steps_are_torchs("Adam"),
            ("no correction of the first mean", "state[\"m\"] / (1 - b1 ** state[\"t\"])", "state[\"m\"]"),
            ("no correction of the second", "state[\"s\"] / (1 - b2 ** state[\"t\"])", "state[\"s\"]"),
            ("eps inside the root", "(s_hat ** 0.5 + self.eps)", "(s_hat + self.eps) ** 0.5"),
            ("the two betas exchanged", "b1, b2 = self.betas", "b2, b1 = self.betas"),
            ("steps counted from 0", "state[\"t\"] += 1\n", "state[\"t\"] += state[\"t\"] > 0 or 2\n")),
    *faults(S, None, check.steps_are_torchs("AdamW"),
            ("decay inside the gradient", "super().new(p * (1 - self.lr * self.weight_decay), g, state)",
             "super().new(p, g + self.weight_decay * p, state)"),
            ("decay without the rate", "p * (1 - self.lr * self.weight_decay)", "p * (1 - self.weight_decay)")),
    # networks
    *faults(M, None, check.derivatives_are_autograds,
            ("sigma (1 + sigma)", "torch.sigmoid(z) * torch.sigmoid(-z)", "torch.sigmoid(z) * (1 + torch.sigmoid(z))"),
            ("tanh' without the inner derivative", "4 * sigmoid_derivative(2 * z)", "2 * sigmoid_derivative(2 * z)"),
            ("ReLU's derivative 1 at 0", "(z > 0).to(z.dtype)", "(z >= 0).to(z.dtype)")),
    *faults(M, None, check.network_is_torchs,
            ("an activation on the output", "return x @ self.weights[-1].T + self.biases[-1] ",
             "return f(x @ self.weights[-1].T + self.biases[-1]) "),
            ("no activation at all", "x = f(x @ A.T + b)", "x = x @ A.T + b"),
            ("the hidden biases left out", "x = f(x @ A.T + b)", "x = f(x @ A.T)")),
    *faults(M, None, check.linear_layers_are_one,
            ("earlier biases left out", "A_next @ A, A_next @ b + b_next", "A_next @ A, b_next"),
            ("the last bias forgotten", "A_next @ b + b_next", "A_next @ b")),
    *faults(M, None, check.weights_start_with_the_variance_it_says,
            ("variance by the width of the output", "(gain / into) ** 0.5", "(gain / out) ** 0.5"),
            ("ReLU without its 2", "2.0 if activation == \"relu\" else 1.0", "1.0")),
]
