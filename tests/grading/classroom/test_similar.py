"""Answers that look alike: the fingerprints against their definition, pairs against planted copies, pages as text."""
import random

import pytest

from course_lib.grading import __main__
from course_lib.grading.classroom import similar
from course_lib.grading.classroom.fingerprints import WINDOW, K, fingerprints, grams, tokens, winnow
from course_lib.grading.classroom.pairs import Answers, pairs
from course_lib.grading.classroom.side_by_side import pair_page
from tests.grading.classroom.test_reports import MARKUP, Tags
from tests.grading.submissions import notebook, save

NAME = "bernoulli_chain_loglik"
COPIED = '''def bernoulli_chain_loglik(x, p):
    """Sum of logs."""
    total = torch.zeros(len(x))
    for i in range(x.shape[1]):
        one = x[:, i] * p[:, i]
        zero = (1 - x[:, i]) * (1 - p[:, i])
        total = total + (one + zero).log()    # both cases
    return total
'''
RENAMED = '''def bernoulli_chain_loglik(rows, probs):
    # my own work
    acc = torch.zeros(len(rows))
    for column in range(rows.shape[1]):

        ones = rows[:, column] * probs[:, column]
        zeros = (1 - rows[:, column]) * (1 - probs[:, column])
        acc = acc + (ones + zeros).log()
    return acc
'''
OTHER = '''def bernoulli_chain_loglik(x, p):
    likely = torch.where(x == 1, p, 1 - p)
    logs = torch.log(likely)
    return torch.stack([row.sum() for row in logs.unbind(0)])
'''
THIRD = '''def bernoulli_chain_loglik(x, p):
    each = torch.distributions.Bernoulli(probs=p, validate_args=False)
    value = each.log_prob(x.to(p.dtype))
    keep = value.reshape(value.shape[0], -1)
    return keep.cumsum(-1)[:, -1]
'''


def texts(source):
    return [one.text for one in tokens(source)]


def test_the_figure_of_the_paper():
    assert winnow([77, 74, 42, 17, 98, 50, 17, 98, 8, 88, 67, 39, 77, 74, 42, 17, 98], 4) == [
        (17, 3), (17, 6), (8, 8), (39, 11), (17, 15)]
    assert winnow([], 4) == [] and winnow([5, 3], 4) == [(3, 1)]


def test_whatever_is_long_enough_is_found_and_nothing_short():
    """The guarantee of the paper, on drawn texts: K + WINDOW - 1 tokens in a row in common give a fingerprint in common."""
    draw = random.Random(3)
    for _ in range(100):
        shared = [draw.choice("abc") for _ in range(K + WINDOW - 1)]
        one, other = ([*draw.choices(kind, k=draw.randrange(30)), *shared, *draw.choices(kind, k=draw.randrange(30))] for kind in ("def", "ghi"))
        assert {each for each, _ in winnow(grams(one))} & {each for each, _ in winnow(grams(other))}
        short = shared[:K - 1]
        one, other = [*"d" * 9, *short, *"d" * 9], [*"g" * 9, *short, *"g" * 9]
        assert not set(grams(one)) & set(grams(other))


def test_in_every_window_the_smallest_is_kept():
    draw = random.Random(4)
    hashes = [draw.randrange(20) for _ in range(200)]
    kept = {place for _, place in winnow(hashes, WINDOW)}
    for start in range(len(hashes) - WINDOW + 1):
        part = hashes[start:start + WINDOW]
        assert start + max(i for i in range(WINDOW) if part[i] == min(part)) in kept


def test_names_comments_layout_and_docstrings_do_not_count():
    assert texts(COPIED) == texts(RENAMED) and "range" in texts(COPIED) and "shape" in texts(COPIED)
    assert texts("x = 1") != texts("x = 2") and texts("x.sum()") != texts("x.mean()") and texts("x = 'a'") == texts('y = "b"')
    assert texts("'text'\nx = f('a')") == ["name", "=", "name", "(", "string", ")"] and texts("x = (1 +") == ["name", "=", "(", "1", "+"]


def people(*codes, given=frozenset()):
    return [Answers(f"s{i}", {NAME: fingerprints(code, given)}) for i, code in enumerate(codes)]


def test_a_renamed_copy_is_found_and_others_are_not():
    [pair] = pairs(people(COPIED, OTHER, RENAMED, THIRD))
    assert (pair.one.student, pair.other.student, pair.share, pair.same_file) == ("s0", "s2", 1.0, False)
    assert pair.one.prints[NAME].lines(pair.shared[NAME]) >= {4, 5, 6, 7}


def test_what_many_have_and_what_was_handed_out_counts_for_nobody():
    assert pairs(people(*[COPIED] * 6)) == [] and len(pairs(people(*[COPIED] * 5))) == 10
    assert len(pairs(people(*[COPIED] * 6), common=6)) == 15
    assert pairs(people(COPIED, RENAMED, given=frozenset(grams(texts(RENAMED))))) == []


def test_of_a_large_class_a_tenth_may_share():
    """Sixty students: what six of them share is found, what seven share is left out."""
    own = people(*(f"def f(x):\n    return x{'[0]' * i}" for i in range(54)))
    copies = people(*[COPIED] * 7)
    assert len(pairs([*own, *copies[:6]])) == 15 and pairs([*own[:53], *copies]) == []


def test_a_threshold_and_a_few_tokens():
    half = COPIED + OTHER.replace(NAME, "other")
    [pair] = pairs(people(half, RENAMED + THIRD), threshold=0.3)
    assert 0.3 <= pair.share < 1 and pairs(people(half, RENAMED + THIRD), threshold=0.95) == []
    assert pairs(people("def f(x):\n    return x.log().sum(dim=1)") * 2) == []


def test_the_same_file_is_told_whatever_many_have_but_not_an_empty_one():
    prints = {NAME: fingerprints(COPIED)}
    [first, *_] = found = pairs([Answers("a", prints, frozenset({"1"})), Answers("b", prints, frozenset({"1"})),
                                 *(Answers(f"c{i}", prints) for i in range(4))])
    assert len(found) == 1 and first.same_file and first.share == 1 and first.count == 0         # six have it
    empty = {NAME: fingerprints("def f(x):\n    raise NotImplementedError")}
    assert pairs([Answers("a", empty, frozenset({"1"})), Answers("b", empty, frozenset({"1"}))]) == []


def test_names_and_code_are_text_on_the_page():
    one, other = people(COPIED + f"# {MARKUP}\nlast = 1\n", RENAMED)
    [pair] = pairs([one, Answers(MARKUP, other.prints)])
    page = pair_page(pair)
    found = Tags(page)
    assert not {"script", "img", "b"} & set(found.tags) and MARKUP in "".join(found.text) and "mark" in found.tags
    assert "no proof" in page and "delete the folder" in page and "default-src 'none'" in page and "prefers-color-scheme: dark" in page


@pytest.mark.slow
def test_the_command(tmp_path, capsys):
    given = "def task(x):\n" + "".join(f"    x = x.view({i}, -1).sum(dim={i}).log().exp().mean()\n" for i in range(6)) + "    return x\n"
    save(tmp_path / "given/01-chain-rule.ipynb", notebook(given))
    for name, code in {"ada": COPIED, "bo": RENAMED, "cy": OTHER, "di": given.replace("task", NAME), "eve": given.replace("task", NAME) + "\n"}.items():
        save(tmp_path / f"class/{name}/hw.ipynb", notebook("import torch", code))
    save(tmp_path / "to/pair-007.html", "old")
    args = ["similar", str(tmp_path / "class"), "--chapter", "1", "--to", str(tmp_path / "to"), "--given", str(tmp_path / "given")]
    assert __main__.main(args) == 0
    said = capsys.readouterr()
    assert "100%  ada  bo  bernoulli_chain_loglik\n5 students, 1 pairs" in said.out and "no proof" in said.err
    assert sorted(path.name for path in (tmp_path / "to").iterdir()) == ["index.html", "pair-001.html", "similar.csv"]
    assert '"ada","bo","1.00",' in (tmp_path / "to/similar.csv").read_text()
    before = [path.read_bytes() for path in sorted((tmp_path / "to").iterdir())]
    assert __main__.main(args) == 0 and before == [path.read_bytes() for path in sorted((tmp_path / "to").iterdir())]
    assert __main__.main([*args, "--threshold", "0"]) == 2 and "--threshold" in capsys.readouterr().err
    assert __main__.main(["similar", str(tmp_path / "gone"), "--to", str(tmp_path / "to")]) == 2


def test_the_course_s_own_notebooks_count_as_given():
    from course_lib.grading.bank import EXERCISES
    from tests.conftest import ROOT

    given = similar.handed_out(ROOT / "exercises")
    assert len(given) > 1000
    stub = f"def {NAME}(x, p):\n    raise NotImplementedError"
    assert NAME in EXERCISES and not fingerprints(stub, given).places
