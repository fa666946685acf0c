"""Speed beside a peer: one process, one thread, CPU time, contenders taking turns.

    python -m benchmarks.speed            every comparison
    python -m benchmarks.speed NAME ...

timing        CPU time in interleaved rounds
comparisons   one function a comparison
"""
