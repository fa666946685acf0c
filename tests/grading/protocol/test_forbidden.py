"""What an answer may use: a ready-made form of what is asked for is noticed where it is reached, and nobody else is accused."""
from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch.overrides import _get_current_function_mode_stack

import course_lib
from course_lib.grading import EXERCISES, Exercise, check, evaluate
from course_lib.grading.notebook import may_use_library
from course_lib.grading.protocol import allowlist
from course_lib.grading.protocol.calls import Local, Watch
from course_lib.grading.verdict import grade
from tests.grading.sample_submissions import graded, quick

IMPORTS = "import math\n\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
OWN = {                                                  # an honest helper, under the name of what may not be used
    "attention": """
def scaled_dot_product_attention(q, k, v, mask):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ v
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0) @ v

def attention(q, k, v, mask=None):
    '''Not F.scaled_dot_product_attention, which is "scaled_dot_product_attention" with a mask of another kind.'''
    return scaled_dot_product_attention(q, k, v, mask)
""",
    "stable_log_softmax": """
def logsumexp(a):
    m = a.amax(-1, keepdim=True)
    return (a - m).exp().sum(-1, keepdim=True).log() + m

def log_softmax(a, softmax="softmax"):
    return a - logsumexp(a)

def stable_log_softmax(a):
    return log_softmax(a)
""",
    "layer_norm": """
class LayerNorm:
    def layer_norm(self, x, eps):
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + eps).sqrt()

def layer_norm(x, gamma, beta, eps=1e-5):
    return gamma * LayerNorm().layer_norm(x, eps) + beta
""",
    "label_smoothing_loss": """
def cross_entropy(logits, target, label_smoothing):
    plain = F.cross_entropy(logits, target)              # this much of it may be used
    return (1 - label_smoothing) * plain - label_smoothing * logits.log_softmax(1).mean()

def label_smoothing_loss(logits, target, eps, pad):
    real = target != pad
    return cross_entropy(logits[real], target[real], label_smoothing=eps)
""",
}


def made(source: str, name: str):
    """The function of this name, as a notebook would have it."""
    space = {"__name__": "__main__"}
    exec(IMPORTS + source, space)
    return space[name]


@pytest.mark.thorough
@pytest.mark.parametrize("name", OWN)
def test_watch_ignores_own_helper(tmp_path, worker, name, capsys):
    """In `check`, in `evaluate`, on the command line."""
    function = made(OWN[name], name)
    assert evaluate(name, function, 3).state == "right"
    check(function, seed=3)
    assert f"{name}: right" in capsys.readouterr().out
    assert graded(tmp_path, worker, IMPORTS, OWN[name], exercises=quick(name, deadline=10)).score == 1


REST = "\n    return out if mask is None else torch.where(mask.any(-1, keepdim=True), out, torch.zeros_like(out))"
KERNEL = "def attention(q, k, v, mask=None):\n    out = CALL(q, k, v, attn_mask=mask)" + REST
LOGS = "def stable_log_softmax(a):\n    return "
NORM = "def layer_norm(x, gamma, beta, eps=1e-5):\n    "
REACHED = {                                              # exercise, its code, the function that the message names
    "the function": ("attention", KERNEL.replace("CALL", "F.scaled_dot_product_attention"), "F.scaled_dot_product_attention"),
    "another name for it": (
        "attention", "from torch.nn.functional import scaled_dot_product_attention as mine\n" + KERNEL.replace("CALL", "mine"),
        "F.scaled_dot_product_attention"),
    "getattr": ("attention", KERNEL.replace("CALL", "getattr(F, 'scaled_dot' + '_product_attention')"),
                "F.scaled_dot_product_attention"),
    "exec of a string": (
        "attention", "def attention(q, k, v, mask=None):\n    space = {'F': F, 'q': q, 'k': k, 'v': v, 'mask': mask}\n    exec("
        "'out = F.scaled_' + 'dot_product_attention(q, k, v, attn_mask=mask)', space)\n    out = space['out']" + REST,
        "F.scaled_dot_product_attention"),
    "a helper": ("attention", KERNEL.replace("CALL", "F.scaled_dot_product_attention").replace("def attention", "def helper")
                 + "\n\ndef attention(q, k, v, mask=None):\n    return helper(q, k, v, mask)", "F.scaled_dot_product_attention"),
    "multi-head attention": ("cross_attention", """
def cross_attention(dec, enc, Wq, Wk, Wv, src_mask):
    D = dec.shape[-1]
    out, _ = F.multi_head_attention_forward(
        dec.transpose(0, 1), enc.transpose(0, 1), enc.transpose(0, 1), D, 1, None, dec.new_zeros(3 * D), None, None, False,
        0.0, torch.eye(D), None, key_padding_mask=~src_mask, use_separate_proj_weight=True, q_proj_weight=Wq.T,
        k_proj_weight=Wk.T, v_proj_weight=Wv.T)
    return out.transpose(0, 1)
""", "F.multi_head_attention_forward"),
    "a method": ("stable_log_softmax", LOGS + "a.log_softmax(-1)", "F.log_softmax"),
    "an operator": ("stable_log_softmax", LOGS + "torch.ops.aten.log_softmax.int(a, -1)", "F.log_softmax"),
    "a distribution": ("stable_log_softmax", LOGS + "torch.distributions.Categorical(logits=a).logits", "torch.logsumexp"),
    "a loss": ("stable_log_softmax", LOGS + "-torch.stack([nn.CrossEntropyLoss(reduction='none')(a.reshape(-1, a.shape[-1]), "
               "torch.full((a.numel() // a.shape[-1],), j)) for j in range(a.shape[-1])], -1).reshape(a.shape)",
               "F.cross_entropy"),
    "the error is swallowed": (
        "stable_log_softmax", "def stable_log_softmax(a):\n    try:\n        return a.log_softmax(-1)\n    except BaseException:\n"
        "        return a", "F.log_softmax"),
    "in the second check only": ("layer_norm", NORM + "if eps == 1e-5: return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)\n    "
                                 "return gamma * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + eps)"
                                 ".sqrt() + beta", "F.layer_norm"),
    "an argument": ("label_smoothing_loss", "def label_smoothing_loss(logits, target, eps, pad):\n    return nn.CrossEntropyLoss("
                    "label_smoothing=eps, ignore_index=pad)(logits, target)", "F.cross_entropy(label_smoothing=...)"),
    "a class": ("mog_loglik", "from torch.distributions import Categorical, Normal, MixtureSameFamily as Blend\n\ndef mog_loglik("
                "x, logits, mu, log_sigma):\n    return Blend(Categorical(logits=logits), Normal(mu, log_sigma.exp()))"
                ".log_prob(x)", "torch.distributions.MixtureSameFamily"),
    "a class, through the library": (
        "mog_loglik", "from course_lib.conditional import MixtureOfGaussians\n\ndef mog_loglik(x, logits, mu, log_sigma):\n"
        "    raw = torch.cat([logits, mu, log_sigma], -1)\n    return MixtureOfGaussians(mu.shape[-1])(raw).log_prob(x)",
        "torch.distributions.MixtureSameFamily"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("way", REACHED)
def test_watch_notices_forbidden(tmp_path, worker, way):
    name, source, reached = REACHED[way]
    here = evaluate(name, made(source, name), 3)
    there = graded(tmp_path, worker, IMPORTS, source, exercises=quick(name, deadline=10)).reports[0]
    for report in (here, there):
        assert (report.state, report.earned) == ("forbidden", 0), report
        assert f"uses {reached}, itself or through another function" in report.message
    assert not _get_current_function_mode_stack()


def test_watch_ignores_exercise_functions():
    """What is handed out may use anything; the same function of the learner's may not."""
    exercise = replace(EXERCISES["find_placements"], forbid=("F.layer_norm",))
    from course_lib.exercises.transformer import find_placements

    def handed_out(x):
        return F.layer_norm(x, (4,))

    here = {"F": F, "__name__": find_placements.__name__}
    exec("def handed_out(x):\n    return F.layer_norm(x, (4,))", here)
    call = Local(lambda f, x: f(x), forbid=exercise.forbid).call
    assert call([here["handed_out"], torch.ones(2, 4)]).kind == "value"
    assert call([handed_out, torch.ones(2, 4)]).kind == "forbidden"
    assert grade(exercise, Local(exercise.solve, forbid=exercise.forbid).call, 0).state == "right"


def test_watch_refuses_unknown_names():
    for name in ("softmax", "F.no_such_function", "os.system", "F.cross_entropy(label_smoothing=0.1)"):
        with pytest.raises(ValueError, match="expected a name such as"):
            Watch([name])
    with pytest.raises(ValueError, match="F.sofmax"):
        Exercise("x", "01", "x", "x", [], 1, 1, forbid=("F.sofmax",))


# the course's own library

BEYOND = {
    "imported above": ("from course_lib.transformer.attention import attention as theirs\n\ndef attention(q, k, v, mask=None):\n"
                       "    return theirs(q, k, v, mask)", "course_lib.transformer"),
    "its module": ("import course_lib.transformer.attention as module\n\ndef attention(q, k, v, mask=None):\n"
                   "    return module.attention(q, k, v, mask)", "course_lib.transformer"),
    "from the door": ("import course_lib\n\ndef attention(q, k, v, mask=None):\n    return course_lib.attention(q, k, v, mask)",
                      "course_lib.transformer"),
    "imported inside": ("def attention(q, k, v, mask=None):\n    from course_lib import MixtureOfGaussians, attention\n"
                        "    return attention(q, k, v, mask)", "course_lib.transformer"),
    "in a helper": ("from course_lib.transformer import attention as theirs\n\nclass Head:\n    def __call__(self, *args):\n"
                    "        return [theirs.attention(*a) for a in [args]][0]\n\ndef attention(q, k, v, mask=None):\n"
                    "    return Head()(q, k, v, mask)", "course_lib.transformer"),
    "imported and not called": ("def attention(q, k, v, mask=None):\n    import course_lib.transformer.attention\n    return q",
                                "course_lib.transformer"),
    "another part": ("from course_lib.density import FVSBN\n\ndef attention(q, k, v, mask=None):\n    FVSBN(3)\n    return q",
                     "course_lib.density"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("way", BEYOND)
def test_library_is_denied(tmp_path, worker, way):
    """In the sandbox, and in a notebook."""
    source, room = BEYOND[way]
    says = f"{room} does not exist when an answer is graded; of the course an answer can import course_lib.autoregressive, " \
           "course_lib.conditional"
    there = graded(tmp_path, worker, IMPORTS, source, exercises=quick("attention", deadline=10)).reports[0]
    assert there.earned == 0 and there.state == "error" and says in there.message, there
    here = evaluate("attention", made(source, "attention"), 3)
    assert (here.state, here.earned) == ("forbidden", 0) and says in here.message, here


def test_allowed_modules_exist(tmp_path, worker):
    source = ("from course_lib import Bernoulli\nfrom course_lib.autoregressive import AutoregressiveModel\n"
              "from course_lib.grading import check\n\nclass Coin(AutoregressiveModel):\n    def __init__(self, n):\n"
              "        super().__init__(n)\n\n    def conditionals(self, x, context=None):\n"
              "        return Bernoulli()(torch.zeros(*x.shape))\n"
              + OWN["attention"].replace("    '''Not", "    assert Coin(3).log_prob(torch.zeros(2, 3)).shape == (2,)\n    '''Not"))
    assert graded(tmp_path, worker, IMPORTS, source, exercises=quick("attention", deadline=10)).score == 1
    assert evaluate("attention", made(source, "attention"), 3).state == "right"


def test_unreached_library_call_is_allowed(tmp_path, worker):
    """A drawing for oneself, a way that is not taken: right where it is graded, and so in the notebook."""
    source = ("from course_lib.show import masks\n" + OWN["attention"].replace(
        "def attention(q, k, v, mask=None):", "def attention(q, k, v, mask=None, look=False):\n    if look:\n"
        "        from course_lib.transformer import causal_mask\n        masks(causal_mask(3))"))
    before = sys.getprofile(), __import__
    assert may_use_library(made(source, "attention"))
    assert evaluate("attention", made(source, "attention"), 3).state == "right"
    assert graded(tmp_path, worker, IMPORTS, source, exercises=quick("attention", deadline=10)).score == 1
    looks = source.replace("look=False", "look=True")
    assert evaluate("attention", made(looks, "attention"), 3).state == "forbidden"
    assert graded(tmp_path, worker, IMPORTS, looks, exercises=quick("attention", deadline=10)).score == 0
    assert (sys.getprofile(), __import__) == before


def test_allowlist_is_complete():
    """The files that are there are those that the named ones and the package's own first file need."""
    package, needed, todo = Path(course_lib.__file__).parent, set(), ["__init__", *allowlist.NAMED]
    while todo:
        name = todo.pop()
        if name not in needed:
            needed.add(name)
            for node in ast.walk(ast.parse((package / f"{name}.py").read_text("utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "course_lib":
                    todo += [node.module.split(".")[1]] if "." in node.module else [one.name for one in node.names]
    assert needed == set(allowlist.FILES)
    code = ("from course_lib.grading.protocol import allowlist\nallowlist.install()\nimport course_lib.autoregressive, "
            "course_lib.conditional\ntry:\n    import course_lib.contract\nexcept ModuleNotFoundError as problem:\n    print(problem)")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=package.parent, check=True)
    assert run.stdout.startswith("course_lib.contract does not exist when an answer is graded")
