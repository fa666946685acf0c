"""Where the code of a submission runs, and how the grader calls it. The sandbox contains of the grader `inside` and `protocol`."""
