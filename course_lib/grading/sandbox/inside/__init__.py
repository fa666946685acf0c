"""All of the grader that a sandbox holds: the worker, its end of the conversation, the calls of a function, plain data.

These modules import one another, torch and numpy, and nothing else of the course: no check and no reference."""
