"""What the course claims, measured: results beside the papers, speed beside a peer. Each measurement is one command.

reproduce   python -m benchmarks.reproduce NAME    trains, evaluates, records; --all for every name
speed       python -m benchmarks.speed [NAME]      CPU time beside a peer, in one process on one thread
classroom   python -m benchmarks.classroom 60    a made-up class, graded with a watch on time and memory
store       the records in results/, one JSON file a name
"""
