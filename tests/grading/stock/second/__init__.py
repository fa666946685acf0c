"""A second stock, of the exercises that the first has from those who wrote the checks or not at all: three wrong answers each.

Written in November 2026 from the exercises' pages and the chapters alone, by somebody who had seen neither checks nor
messages nor the first stock; each was compared with a right answer before it was graded. Scored once, with seed 0, before
anything was changed for it: of 138 answers, 93 got a sentence that names what is wrong (a part, an axis, a factor, a step
forgotten), 41 one that only says where or how much, or something beside the point, and 4 earned all points: levels by cutting
off (`fgsm_levels`), the last span without a closing sentinel (`put_back`), a share cut to a whole number
(`planted_passages`), the last place for that of [CLS] (`fine_tune_bert`). All four fail since, and are called by name.
"""
