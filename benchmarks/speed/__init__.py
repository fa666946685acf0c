"""Speed beside peers, on one thread, in CPU time, in interleaved rounds.

    python -m benchmarks.speed            every comparison
    python -m benchmarks.speed NAME ...

timing        CPU time in interleaved rounds
comparisons   a function for each comparison
gpu           wall-clock time on one CUDA card
"""
