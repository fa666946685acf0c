"""One sentence under five objectives: input, target, and positions with a loss."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas

#        name, input, target; a star marks a position with a loss
ROWS = [("BERT: masked words", "the baker [M] warm [M]", "*kneads *dough"),
        ("ELECTRA: replaced words", "*the *baker *warms *warm *dough", "0 0 1 0 0"),
        ("T5: spans", "the <X> warm <Y>", "*<X> *baker *kneads *<Y> *dough *<Z>"),
        ("BART: spans infilled", "the [M] warm dough", "*the *baker *kneads *warm *dough"),
        ("XLNet: any order", "the baker kneads warm dough", "*the_3 *baker_1 *kneads_5 *warm_2 *dough_4")]


def draw() -> Canvas:
    """Draw boxes for the input and the target of each objective; a thick line marks a position with a loss."""
    c = Canvas(360, 610, "One sentence under five objectives",
               "The sentence: the baker kneads warm dough. For each objective a row of what is read, and below it what is to be "
               "told; a thick line stands under each token at which a loss is taken. BERT reads the baker [M] warm [M] and tells "
               "the two hidden words: two losses. ELECTRA reads the sentence with warms in place of kneads and tells of all five "
               "words whether they were replaced: five losses, one label of 1. T5 reads the sentinel X for baker kneads and Y for "
               "dough, and writes the sentinels with what they stand for. BART reads one mask in place of the two words baker "
               "kneads, and writes the whole sentence. XLNet hides nothing: discs give the order in which the words are told, baker "
               "first, kneads last.")
    for k, (name, read, target) in enumerate(ROWS):
        top = 22 + 116 * k
        c.text(12, top, name, 13, anchor="start")
        for y, what in ((top + 30, read), (top + 72, target)):
            words = what.split()
            width = min(62, (330 - 5 * len(words)) / len(words))
            x = 16 + width / 2
            for word in words:
                lost, word = word.startswith("*"), word.lstrip("*")
                word, _, turn = word.partition("_")
                c.tensor(x, y, width, 26, word, 12)
                if turn:
                    c.place(x + width / 2 - 1, y - 16, int(turn))
                if lost:
                    c.line((x - width / 2 + 2, y + 18), (x + width / 2 - 2, y + 18), kind="attend", head=False)
                x += width + 5
    c.note(180, 600, "thick lines: where a loss is taken")
    return c
