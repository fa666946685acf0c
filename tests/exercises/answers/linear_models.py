"""Answers to the exercises of chapter linear-models."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import right, wrong


@right("standardized: columns one by one")
def _(train, test):
    a, b = train.clone(), test.clone()
    for k in range(train.shape[1]):
        mean = train[:, k].sum() / len(train)
        deviation = ((train[:, k] - mean) ** 2).mean() ** 0.5
        a[:, k], b[:, k] = train[:, k] - mean, test[:, k] - mean
        if (train[:, k] != train[0, k]).any():
            a[:, k], b[:, k] = a[:, k] / deviation, b[:, k] / deviation
    return a, b


@right("standardized: by the scaler of scikit-learn")
def _(train, test):
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(train.numpy())
    return tuple(torch.tensor(scaler.transform(rows.numpy()), dtype=torch.float32) for rows in (train, test))


@wrong("standardized: a scaler is fitted to each set", called="each_its_own")
def _(train, test):
    return tuple((rows - rows.mean(dim=0)) / torch.where(rows.std(dim=0, correction=0) == 0, 1.0, rows.std(dim=0, correction=0))
                 for rows in (train, test))


@wrong("standardized: statistics of all rows", called="pooled")
def _(train, test):
    rows = torch.cat([train, test])
    mean, deviation = rows.mean(dim=0), rows.std(dim=0, correction=0)
    return (train - mean) / deviation, (test - mean) / deviation


@wrong("standardized: a small number is added to the deviation")
def _(train, test):
    mean, deviation = train.mean(dim=0), train.std(dim=0, correction=0)
    return (train - mean) / (deviation + 1e-8), (test - mean) / (deviation + 1e-8)


@wrong("standardized: in place")
def _(train, test):
    mean, deviation = train.mean(dim=0), train.std(dim=0, correction=0)
    deviation[deviation == 0] = 1
    return train.sub_(mean).div_(deviation), test.sub_(mean).div_(deviation)


@right("regression_step: by the formula")
def _(x, y, beta, rate):
    off = x @ beta - y[:, None]
    return (off ** 2).mean(), beta - rate * 2 / len(x) * x.T @ off


@right("regression_step: by torch.optim")
def _(x, y, beta, rate):
    parameter = torch.nn.Parameter(beta.clone())
    optimizer = torch.optim.SGD([parameter], lr=rate)
    loss = torch.nn.MSELoss()((x @ parameter).squeeze(1), y)
    loss.backward()
    optimizer.step()
    return loss.detach(), parameter.detach()


@wrong("regression_step: the slide's lines, made to run")
def _(x, y, beta, rate):
    beta = beta.clone().requires_grad_()
    loss = ((F.relu(x @ beta) - y) ** 2).mean()
    loss.backward()
    return loss.detach(), (beta - rate * beta.grad).detach()


@wrong("regression_step: the loss after the step", called="loss_after")
def _(x, y, beta, rate):
    off = x @ beta - y[:, None]
    new = beta - rate * 2 / len(x) * x.T @ off
    return ((x @ new - y[:, None]) ** 2).mean(), new


@wrong("regression_step: beta without its axes of length 1")
def _(x, y, beta, rate):
    off = x @ beta.squeeze() - y
    return (off ** 2).mean(), beta - rate * 2 / len(x) * (x.T @ off)[:, None]


@right("train_line: by the formula")
def _(x, y, rate, epochs, batch):
    b, w = 0.0, 0.0
    for _ in range(epochs):
        for k in range(0, len(x), batch):
            off = b + w * x[k:k + batch] - y[k:k + batch]
            b, w = b - rate * 2 * off.mean(), w - rate * 2 * (off * x[k:k + batch]).mean()
    return torch.stack([b, w])


@wrong("train_line: the loop as it stands")
def _(x, y, rate, epochs, batch):
    b, w = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    for _ in range(epochs):
        for k in range(len(x) // batch):
            rows, targets = x[k * batch:(k + 1) * batch][:, None], y[k * batch:(k + 1) * batch]
            loss = ((b + w * rows - targets) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                b -= rate * b.grad
                w -= rate * w.grad
    return torch.cat([b, w]).detach()


@wrong("train_line: the gradients are cleared once an epoch", called="cleared_each_epoch")
def _(x, y, rate, epochs, batch):
    b, w = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    for _ in range(epochs):
        b.grad = w.grad = None
        for rows, targets in zip(x.split(batch), y.split(batch)):
            ((b + w * rows - targets) ** 2).mean().backward()
            with torch.no_grad():
                b -= rate * b.grad
                w -= rate * w.grad
    return torch.cat([b, w]).detach()


@wrong("train_line: rows shuffled")
def _(x, y, rate, epochs, batch):
    b, w = 0.0, 0.0
    for _ in range(epochs):
        for k in torch.randperm(len(x), generator=torch.Generator().manual_seed(1)).split(batch):
            off = b + w * x[k] - y[k]
            b, w = b - rate * 2 * off.mean(), w - rate * 2 * (off * x[k]).mean()
    return torch.stack([b, w])


@wrong("train_line: sums divided by batch, also where it is shorter", called="by_batch")
def _(x, y, rate, epochs, batch):
    line = torch.zeros(2, requires_grad=True)
    for start in [k for _ in range(epochs) for k in range(0, len(x), batch)]:
        off = line[0] + line[1] * x[start:start + batch] - y[start:start + batch]
        (off.square().sum() / batch).backward()
        with torch.no_grad():
            line -= rate * line.grad
        line.grad = None
    return line.detach()


@wrong("train_line: b is moved, then w", called="b_first")
def _(x, y, rate, epochs, batch):
    b, w = 0.0, 0.0
    for _ in range(epochs):
        for xs, ys in zip(x.split(batch), y.split(batch)):
            b = b - rate * 2 * (b + w * xs - ys).mean()
            w = w - rate * 2 * ((b + w * xs - ys) * xs).mean()
    return torch.stack([b, w])


@wrong("train_line: w is moved, then b", called="w_first")
def _(x, y, rate, epochs, batch):
    line = torch.zeros(2)
    for k in [k for _ in range(epochs) for k in range(0, len(x), batch)]:
        for i in (1, 0):
            line = line.requires_grad_()
            loss = (line[0] + line[1] * x[k:k + batch] - y[k:k + batch]).square().mean()
            line = line.detach() - rate * torch.autograd.grad(loss, line)[0] * torch.eye(2)[i]
    return line


@wrong("train_line: one batch more than the full ones")
def _(x, y, rate, epochs, batch):
    b, w = 0.0, 0.0
    for _ in range(epochs):
        for k in range(len(x) // batch + 1):
            rows = x[k * batch:(k + 1) * batch]
            off = b + w * rows - y[k * batch:(k + 1) * batch]
            b, w = b - rate * 2 * off.mean(), w - rate * 2 * (off * rows).mean()
    return torch.stack([b, w])


@wrong("train_line: full batches, and the last `len(x) % batch` rows")
def _(x, y, rate, epochs, batch):
    b, w = 0.0, 0.0
    for _ in range(epochs):
        rest = len(x) % batch
        for rows, targets in [*zip(x[:-rest].split(batch), y[:-rest].split(batch)), (x[-rest:], y[-rest:])]:
            off = b + w * rows - targets
            b, w = b - rate * 2 * off.mean(), w - rate * 2 * (off * rows).mean()
    return torch.stack([b, w])


@right("stopping_epoch: by a counter of failures")
def _(losses, patience):
    best, since, trained = 0, 0, 0
    while trained < len(losses) and since < patience:
        if trained == 0 or losses[trained] < losses[best]:
            best, since = trained, 0
        else:
            since += 1
        trained += 1
    return best + 1, trained


@right("stopping_epoch: from the running minimum")
def _(losses, patience):
    for epoch in range(1, len(losses) + 1):
        best = min(range(epoch), key=lambda k: losses[k].item()) + 1
        if epoch - best == patience:
            return best, epoch
    return best, len(losses)


@wrong("stopping_epoch: all epochs without a new minimum are counted", called="total_failures")
def _(losses, patience):
    best = since = 0
    for k, loss in enumerate(losses):
        if k and loss >= losses[best]:
            since += 1
        else:
            best = k
        if since == patience:
            break
    return best + 1, k + 1


@wrong("stopping_epoch: the epoch of the lowest of all losses", called="only_limit")
def _(losses, patience):
    return int(losses.argmin()) + 1, len(losses)


@right("momentum_step: by torch.optim, with its buffer set")
def _(theta, g, v, rate, mu, decay):
    parameter = torch.nn.Parameter(theta.clone())
    optimizer = torch.optim.SGD([parameter], lr=rate, momentum=mu, weight_decay=decay)
    optimizer.state[parameter]["momentum_buffer"] = v.clone()
    parameter.grad = g.clone()
    optimizer.step()
    return parameter.detach(), optimizer.state[parameter]["momentum_buffer"]


@right("momentum_step: v as a difference of parameters")
def _(theta, g, v, rate, mu, decay):
    new = theta * (1 - rate * decay) - rate * g - rate * mu * v
    return new, (theta - new) / rate


@wrong("momentum_step: decay outside of the momentum, as in AdamW")
def _(theta, g, v, rate, mu, decay):
    v = mu * v + g
    return (1 - rate * decay) * theta - rate * v, v


@wrong("momentum_step: v is a running mean", called="running_mean")
def _(theta, g, v, rate, mu, decay):
    v = v + (1 - mu) * (g + decay * theta - v)
    return theta - rate * v, v


@right("adamw_step: by torch.optim, with its state set")
def _(theta, g, m, s, t, rate, b1, b2, eps, decay):
    parameter = torch.nn.Parameter(theta.clone())
    optimizer = torch.optim.AdamW([parameter], lr=rate, betas=(b1, b2), eps=eps, weight_decay=decay)
    optimizer.state[parameter] = {"step": torch.tensor(float(t - 1)), "exp_avg": m.clone(), "exp_avg_sq": s.clone()}
    parameter.grad = g.clone()
    optimizer.step()
    state = optimizer.state[parameter]
    return parameter.detach(), state["exp_avg"], state["exp_avg_sq"]


@right("adamw_step: means by lerp")
def _(theta, g, m, s, t, rate, b1, b2, eps, decay):
    m, s = torch.lerp(g, m, b1), torch.lerp(g * g, s, b2)
    step = m / (1 - b1 ** t) / ((s / (1 - b2 ** t)) ** 0.5 + eps)
    return theta - rate * (step + decay * theta), m, s


@wrong("adamw_step: decay in the gradient, as in Adam", called="coupled")
def _(theta, g, m, s, t, rate, b1, b2, eps, decay):
    g = g + decay * theta
    m, s = b1 * m + (1 - b1) * g, b2 * s + (1 - b2) * g * g
    return theta - rate * m / (1 - b1 ** t) / ((s / (1 - b2 ** t)).sqrt() + eps), m, s


@wrong("adamw_step: returns the corrected means")
def _(theta, g, m, s, t, rate, b1, b2, eps, decay):
    m, s = (b1 * m + (1 - b1) * g) / (1 - b1 ** t), (b2 * s + (1 - b2) * g * g) / (1 - b2 ** t)
    return (1 - rate * decay) * theta - rate * m / (s.sqrt() + eps), m, s


@right("fit_logistic: by LBFGS on labels 0 and 1")
def _(x, y, penalty):
    alpha = torch.zeros(x.shape[1] + 1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([alpha], max_iter=200, tolerance_grad=1e-9, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        z = alpha[0] + x.double() @ alpha[1:]
        loss = F.binary_cross_entropy_with_logits(z, (y.double() + 1) / 2) + penalty / 2 * alpha[1:].square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return alpha.detach().float()


@right("fit_logistic: by scikit-learn")
def _(x, y, penalty):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1 / (penalty * len(x)), tol=1e-8, max_iter=10_000).fit(x.numpy(), y.numpy())
    return torch.tensor([*model.intercept_, *model.coef_[0]], dtype=torch.float32)


@wrong("fit_logistic: the intercept is penalized", called="bias_penalized")
def _(x, y, penalty):
    rows, alpha = torch.cat([torch.ones(len(x), 1), x], dim=1), torch.zeros(x.shape[1] + 1)
    for _ in range(4000):
        alpha = alpha + 0.3 * (rows.T @ (y * torch.sigmoid(-y * (rows @ alpha))) / len(x) - penalty * alpha)
    return alpha


@wrong("fit_logistic: labels taken for 0 and 1")
def _(x, y, penalty):
    rows, alpha = torch.cat([torch.ones(len(x), 1), x], dim=1), torch.zeros(x.shape[1] + 1)
    keep = torch.tensor([0.0] + [1.0] * x.shape[1])
    for _ in range(300):
        alpha = alpha - 0.3 * (rows.T @ (torch.sigmoid(rows @ alpha) - y) / len(x) + penalty * keep * alpha)
    return alpha


@right("ridge_solution: rows that stand for the penalty")
def _(X, y, decay):
    D = X.shape[1]
    more = (len(X) * decay / 2) ** 0.5 * torch.eye(D)[1:]
    return torch.linalg.lstsq(torch.cat([X, more]), torch.cat([y, torch.zeros(D - 1)])[:, None]).solution[:, 0]


@right("ridge_solution: a step of Newton's method")
def _(X, y, decay):
    keep = torch.tensor([0.0] + [1.0] * (X.shape[1] - 1))
    hessian = 2 / len(X) * X.T @ X + decay * torch.diag(keep)
    return -torch.linalg.solve(hessian, -2 / len(X) * X.T @ y)


@wrong("ridge_solution: columns centered, so that the intercept is the mean of y")
def _(X, y, decay):
    centered = X[:, 1:] - X[:, 1:].mean(dim=0)
    weights = torch.linalg.solve(centered.T @ centered + len(X) * decay / 2 * torch.eye(X.shape[1] - 1), centered.T @ y)
    return torch.cat([y.mean()[None], weights])


@wrong("ridge_solution: all columns penalized", called="all_penalized")
def _(X, y, decay):
    return torch.linalg.solve(X.T @ X + len(X) * decay / 2 * torch.eye(X.shape[1]), X.T @ y)


@right("stable_rates: singular values of X")
def _(X):
    squares = 2 / len(X) * torch.linalg.svdvals(X) ** 2
    return torch.stack([2 / squares[0], 2 / (squares[0] + squares[-1]), squares[0] / squares[-1]])


@right("stable_rates: the condition number of torch")
def _(X):
    H = 2 / len(X) * X.T @ X
    high, kappa = torch.linalg.matrix_norm(H, 2), torch.linalg.cond(H)
    return torch.stack([2 / high, 2 / (high + high / kappa), kappa])


@wrong("stable_rates: the trace instead of the largest eigenvalue")
def _(X):
    H = 2 / len(X) * X.T @ X
    values = torch.linalg.eigvalsh(H)
    return torch.stack([2 / H.trace(), 2 / (values[0] + values[-1]), values[-1] / values[0]])


@wrong("stable_rates: one over the largest eigenvalue", called="one_over")
def _(X):
    values = torch.linalg.eigvalsh(2 / len(X) * X.T @ X)
    return torch.stack([1 / values[-1], 2 / (values[0] + values[-1]), values[-1] / values[0]])


@wrong("stable_rates: condition number of X", called="of_X")
def _(X):
    values = torch.linalg.eigvalsh(2 / len(X) * X.T @ X)
    return torch.stack([2 / values[-1], 2 / (values[0] + values[-1]), (values[-1] / values[0]).sqrt()])
