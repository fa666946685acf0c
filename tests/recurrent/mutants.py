"""Faults planted in cells, layers, the recurrent language model and its training; see `tests.mutation`."""
from __future__ import annotations

from course_lib.contract import check_causal, check_views_agree
from course_lib.recurrent import _torch_kernels as kernels_module
from course_lib.recurrent import attentive as attentive_module
from course_lib.recurrent import cells as cells_module
from course_lib.recurrent import language_model as model_module
from course_lib.recurrent import layers as layers_module
from course_lib.recurrent import scores as scores_module
from course_lib.recurrent import selection as selection_module
from course_lib.recurrent import seq2seq as seq2seq_module
from course_lib.recurrent import truncated as truncated_module
from tests.mutation import faults
from tests.recurrent import attention_checks as looking
from tests.recurrent import checks as check

C, L, M, S, B = cells_module, layers_module, model_module, truncated_module, kernels_module
A, K, Q, E = attentive_module, selection_module, scores_module, seq2seq_module
FORGET = "self.b[hidden:2 * hidden] = forget_bias"


def lm(module):
    return module.RecurrentLM(5, 6, "gru", layers=2)


def after_bos(module):
    return lambda **kwargs: module.RecurrentLM(3, 4, **{"cell": "rnn", "bos_id": 0, **kwargs})


def check_causal_of(make):
    check_causal(make(), length=4)


def check_views_of(make):
    for cell in ("rnn", "lstm"):
        check_views_agree(make(cell=cell, layers=2), length=4)


def check_views_from_h0(make):
    check_views_agree(make(bos_id=None, learned_start=True), length=4)


def bilinear(module):
    looking.is_written_out("bilinear", module)


def additive(module):
    looking.is_written_out("additive", module)


def scaled(module):
    looking.is_written_out("scaled dot", module)


def before_the_step(module):
    looking.follows_its_equations("additive", "before", module)


def after_the_step(module):
    looking.follows_its_equations("bilinear", "after", module)


def one_vector(module):
    looking.follows_its_equations(None, "before", module)


def contract_before(module):
    looking.keeps_the_contract("additive", "before", module)


def contract_after(module):
    looking.keeps_the_contract("additive", "after", module)


MUTANTS = [
    # cells, seen through layers that have torch's weights
    *faults(C, "Recurrent", check.rnn_is_torchs,
            ("a sigmoid in place of the tanh", "return torch.tanh(torch.addmm(a, h, self.W_h.T)),",
             "return torch.sigmoid(torch.addmm(a, h, self.W_h.T)),"),
            ("the matrix of the memory transposed: it is square, so it fits", "torch.tanh(torch.addmm(a, h, self.W_h.T))",
             "torch.tanh(torch.addmm(a, h, self.W_h))"),
            ("the bias left out of the input's part", "return F.linear(x, self.W_x, self.b)", "return F.linear(x, self.W_x)"),
            seen_from=layers_module),
    *faults(C, "Recurrent", check.gru_is_torchs,
            ("the reset gate before the product, as in the paper: another function", "new + r * (old + self.b_hn)",
             "new + (r * h) @ self.W_h[2 * H:].T + self.b_hn"),
            ("z and 1 - z exchanged", "torch.lerp(n, h, z)", "torch.lerp(h, n, z)"),
            ("the candidate's second bias outside of the reset gate", "r * (old + self.b_hn)", "r * old + self.b_hn"),
            ("r and z exchanged", "r, z = torch.sigmoid", "z, r = torch.sigmoid"),
            seen_from=layers_module),
    *faults(C, "LSTMCell", check.forgets_little_at_first,
            ("the forget bias on the input gate", FORGET, "self.b[:hidden] = forget_bias"),
            ("the forget bias on all gates", FORGET, "self.b[:] = forget_bias"),
            ("the forget gate multiplies what is new", "c = f * c + i * g", "c = i * c + f * g"),
            ("the forget gate is forgotten: nothing is kept", "c = f * c + i * g", "c = i * g")),
    *faults(C, "Recurrent", check.packed_is_torchs,
            ("h without the tanh of c, in the step that packed rows take", "return o * torch.tanh(c), c", "return o * c, c"),
            ("c in place of h for the next step", "return o * torch.tanh(c), c", "return c, c"),
            seen_from=layers_module),

    # torch's kernels on the cells' weights
    *faults(B, "Recurrent", check.lstm_is_torchs,
            ("the gates in the order of the cell", "*rows[-2 * cell.hidden:].chunk(2)[::-1]", "*rows[-2 * cell.hidden:].chunk(2)"),
            ("the last h of both states", "return outputs, tuple(part[0] for part in last)", "return outputs, tuple(last[0][0] for part in last)"),
            seen_from=layers_module),
    *faults(B, "Recurrent", check.gru_is_torchs,
            ("the second bias of the candidate with the first", "b_h = torch.cat([b_h[cell.hidden:], cell.b_hn])",
             "b = b + torch.cat([b_h[cell.hidden:], cell.b_hn])"),
            seen_from=layers_module),
    *faults(B, "Recurrent", check.rnn_is_torchs,
            ("the state before is not used", "(torch.gru if type(cell) is GRUCell else torch.rnn_tanh)(x, parts[0], *options)",
             "(torch.gru if type(cell) is GRUCell else torch.rnn_tanh)(x, 0 * parts[0], *options)"),
            seen_from=layers_module),

    # layers
    *faults(L, "Recurrent", check.lstm_is_torchs,
            ("torch's gates in torch's order", "return torch.cat([i, f, o, g])", "return torch.cat([i, f, g, o])"),
            ("the two biases: the second is forgotten", "cell.b.copy_(b_x + b_h)", "cell.b.copy_(b_x)"),
            ("the backward outputs are not turned round again", "outputs.append(reverse(h, lengths) if backward else h)",
             "outputs.append(h)"),
            ("the second direction reads forward too", "read = reverse(x, lengths) if backward else x", "read = x"),
            ("every layer begins with the first layer's memory", "run(self.cells[k], read, memory[k], lengths)",
             "run(self.cells[k], read, memory[0], lengths)")),
    *faults(L, "Recurrent", check.never_reads_the_padding,
            ("reversed with its padding: the end of a short row is what it reads first",
             "    if lengths is None:\n        return x.flip(1)", "    if True:\n        return x.flip(1)"),
            ("rows are not put back into their order", "return torch.stack(outputs, dim=1)[back], state",
             "return torch.stack(outputs, dim=1), state"),
            ("the states of rows that ended come back in the wrong order", "zip(state, *reversed(ended))",
             "zip(state, *ended)"),
            ("lengths are not looked at: the state is that after the padding", "    if lengths is not None:\n        return run_packed",
             "    if False:\n        return run_packed")),
    *faults(L, "Recurrent", check.drops_between_layers_only,
            ("dropout before the first layer too", "            if layer:\n", "            if True:\n"),
            ("dropout in eval mode", "F.dropout(x, self.dropout, self.training)", "F.dropout(x, self.dropout)")),

    # the language model
    *faults(M, after_bos, check_causal_of,
            ("the text is not shifted: every token helps to predict itself",
             "tokens = torch.cat([prompt, x[:, :-1]], dim=1)", "tokens = torch.cat([prompt[:, 1:], x], dim=1)"),
            ("shifted twice: the token before is not read", "tokens = torch.cat([prompt, x[:, :-1]], dim=1)",
             "tokens = torch.cat([prompt, prompt[:, -1:], x[:, :-2]], dim=1)")),
    *faults(M, after_bos, check_views_of,
            ("the memory is forgotten from token to token", "zip(others, state.memory[1:])", "zip(others, self.layers.start(len(a))[1:])"),
            ("the column of the token without the bias", "first.W_x.T[x_i] + first.b ", "first.W_x.T[x_i] "),
            ("logits from the first layer, not from the last", "return State(tuple(memory), self.scores(memory[-1][0]))",
             "return State(tuple(memory), self.scores(memory[0][0]))"),
            ("logits from c, where the state has one", "return State(tuple(memory), self.scores(memory[-1][0]))",
             "return State(tuple(memory), self.scores(memory[-1][-1]))")),
    *faults(M, after_bos, check_views_from_h0,
            ("the first token is predicted from zeros, not from h_0", "h = memory[-1][0][:, None]  ",
             "h = 0 * memory[-1][0][:, None]")),
    *faults(M, lm, check.reads_in_pieces,
            ("the memory that was given is not used", "return self.layers(self.embedded(tokens), memory)",
             "return self.layers(self.embedded(tokens))")),
    *faults(M, lm, check.treats_prompts_alike,
            ("padding on the left is read as tokens", "if mask is None or mask.all():", "if True:")),
    *faults(M, lm, check.ignores_padding_in_the_loss,
            ("padding is predicted", "counted = mask[:, 1:] & mask[:, :-1]", "counted = torch.ones_like(mask[:, 1:])"),
            ("rows are not turned back", "return h[rows, (t - first[:, None]) % len(t)], memory", "return h, memory")),
    *faults(M, lm, check.predicts_the_next_token,
            ("each token predicts itself", "[:, :-1], tokens[:, 1:]", "[:, 1:], tokens[:, 1:]")),

    # streams
    *faults(S, None, check.carries_the_memory,
            ("the memory is not kept: every piece begins at the start",
             "self.memory.copy_(torch.stack([torch.stack(state) for state in memory]).detach())", "pass"),
            ("rows of a batch follow one another: row b does not go on where row b ended",
             "rows = text[at].flatten(0, 1)", "rows = text[at].transpose(0, 1).flatten(0, 1)"),
            ("the token between two pieces is left out", "at = starts[None, :, None] + torch.arange(pieces)[:, None, None] * length",
             "at = starts[None, :, None] + 1 + torch.arange(pieces)[:, None, None] * length", IndexError)),
    *faults(S, None, check.leaves_the_training_alone,
            ("validation goes on with the training's memory", "        memory = self._reading\n        if self.training:",
             "        memory = self._reading\n        if len(tokens) == self.batch or self.training:"),
            ("validation goes on where the last one ended", "        self._reading = None\n        return super().train(mode)",
             "        return super().train(mode)")),

    # scores
    *faults(Q, None, scaled,
            ("divided by H, not by its root", "/ math.sqrt(self.query)", "/ self.query"),
            ("not divided at all", " / math.sqrt(self.query)", "")),
    *faults(Q, None, bilinear,
            ("W transposed: with equal widths it would fit", "return keys @ self.W.T   ", "return keys @ self.W   ", RuntimeError)),
    *faults(Q, None, additive,
            ("the tanh of each part, not of the sum", "torch.tanh(projected.unsqueeze(-2) + prepared.unsqueeze(-3))",
             "(torch.tanh(projected.unsqueeze(-2)) + torch.tanh(prepared.unsqueeze(-3)))"),
            ("no tanh: what is left is the same for every query", "torch.tanh(projected.unsqueeze(-2) + prepared.unsqueeze(-3))",
             "(projected.unsqueeze(-2) + prepared.unsqueeze(-3))")),
    *faults(Q, None, looking.shares_sum_to_one,
            ("the softmax over the queries", "scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)",
             "scores.masked_fill(~mask, -torch.inf).softmax(dim=0)"),
            ("masked after the softmax: rows sum to less than one", "scores.masked_fill(~mask, -torch.inf).softmax",
             "scores.softmax"),
            ("an empty past is NaN", "return weights.masked_fill(~mask, 0)   ", "return weights   ")),

    # gradients through a choice
    *faults(K, None, looking.estimators_are_right,
            ("the baseline holds the draw itself: biased where draws are few, and no leave-one-out",
             "(losses.sum() - losses) / (num - 1)", "losses"),
            ("one-hot without minus P: biased", "torch.nn.functional.one_hot(slot, len(p)) - p",
             "torch.nn.functional.one_hot(slot, len(p)) - 0 * p"),
            ("weighted by P once more, though the slots are drawn by it", "return losses[:, None] * (",
             "return losses[:, None] * p[slot][:, None] * ("),
            ("the expected loss is not taken away", "return p * (losses - p @ losses)", "return p * losses")),
    *faults(K, None, looking.gumbel_is_right,
            ("normal noise in place of Gumbel's", "noise = -torch.log(-torch.log(u)).to(scores)",
             "noise = torch.special.ndtri(u).to(scores)"),
            ("the temperature multiplies", "((s + noise) / temperature)", "((s + noise) * temperature)"),
            ("the sign of the noise", "noise = -torch.log(", "noise = torch.log(")),

    # the encoder-decoder
    *faults(E, None, before_the_step,
            ("the score sees the padding", "self.score.match(h, source.prepared), source.seen[:, None]",
             "self.score.match(h, source.prepared), None"),
            ("scored with the first state at every step", "c, weights = self._attend(memory[0][0][:, None], source)  # (B, 1, C)",
             "c, weights = self._attend(self._initial_memory(source)[0][0][:, None], source)"),
            ("the target is not shifted", "F.pad(x[:, :-1], (1, 0), value=self.bos_id)", "x"),
            ("what starts the decoder is not bos", "(1, 0), value=self.bos_id", "(1, 0), value=self.eos_id"),
            ("the decoder starts from zeros", "torch.tanh(self.bridge(source.last))", "torch.tanh(0 * self.bridge(source.last))"),
            ("padding of a target is predicted", "self.logits(h[real]), target[real]",
             "self.logits(h).flatten(0, 1), target.flatten()"),
            ("the encoder reads the padding", ", lengths=seen.sum(dim=1))", ")")),
    *faults(E, None, after_the_step,
            ("c and h exchanged", "return torch.cat([h, c], dim=2), weights", "return torch.cat([c, h], dim=2), weights")),
    *faults(E, None, one_vector,
            ("the vector is that of the last column, padding or not",
             "last = torch.cat([state[0] for state in memory], dim=1)", "last = states[:, -1]")),
    *faults(E, None, contract_before,
            ("the decoder forgets from step to step", "h, memory = self.decoder(torch.cat([y, c], dim=2), memory)",
             "h, memory = self.decoder(torch.cat([y, c], dim=2))"),
            ("words may follow the end", "state._replace(over=state.over | (x_i == self.eos_id))", "state"),
            ("the end token itself is padding, in the parallel view", "ends.cumsum(dim=1) > ends)",
             "ends.cumsum(dim=1) > 0 * ends)")),
    *faults(E, None, contract_after,
            ("the score comes from the state before, in the sequential view alone",
             "h, memory = self.decoder(y, memory)\n            c, weights = self._attend(h, state.source)",
             "c, weights = self._attend(memory[0][0][:, None], state.source)\n            h, memory = self.decoder(y, memory)")),

    # the language model that looks back
    *faults(A, None, looking.looks_back,
            ("h_t looks at itself too", "device=h.device).tril(-1)", "device=h.device).tril()"),
            ("the future is not hidden", ".tril(-1)", ""),
            ("c and h exchanged in the parallel view", "torch.cat([h, context_of(self._weights(h, mask), h)], dim=2)",
             "torch.cat([context_of(self._weights(h, mask), h), h], dim=2)")),
    *faults(A, None, looking.continues_prompts,
            ("the prompt's padding is looked at", "before if mask is None else before & mask[:, None]", "before"),
            ("and in the sequential view", "seen = torch.ones_like(prompt, dtype=torch.bool) if mask is None else mask",
             "seen = torch.ones_like(prompt, dtype=torch.bool)"),
            ("it looks at itself, in the sequential view", "        before[:, -1] = False\n", ""),
            ("new states are not remembered", "torch.cat([state.states, h], dim=1), seen)",
             "torch.cat([state.states[:, 1:], h], dim=1), state.seen)")),
]
