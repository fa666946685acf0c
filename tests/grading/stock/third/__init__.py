"""A third stock: two mistakes for each function that does not train, one fault in each.

Written in November 2026 from the exercises' pages alone, by somebody who had seen neither checks nor messages nor the other
stocks; each was compared with a right answer on inputs that its page allows. Scored with seed 0 after the messages had been
mended by the second stock, and before anything was changed for this one: of 182 answers none earned all points, 156 got a
sentence that names what is wrong (a part, an axis, a factor, a step forgotten), 26 one that only says where or how much, or
something beside the point. Before that mending it had been 145. On twenty seeds one answer earned all points once, the states
without that of zeros alone (`find_impostors`); it fails on every seed since.
"""
