"""Measurements of the course's claims: results beside those of papers, and speed beside peers.

reproduce   python -m benchmarks.reproduce NAME    trains, evaluates, records; --all for every name
speed       python -m benchmarks.speed [NAME]      CPU time beside a peer, in one process on one thread
store       the records in results/, one JSON file per name
"""
