"""What both sides of the sandbox import. It imports nothing else of the grader."""
