"""What both sides of the sandbox import: calls and their outcomes, models that are called by name, messages, and the list of
modules of the course that exist in the sandbox. It imports nothing else of the grader."""
