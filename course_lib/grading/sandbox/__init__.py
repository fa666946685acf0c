"""Where the code of a submission runs, and how the judge asks it. What the sandbox may see of the grader is the folder
`inside`, and nothing else.

No package on the way to `inside` imports anything: there, only that folder exists."""
