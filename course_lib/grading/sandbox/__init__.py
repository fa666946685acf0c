"""Where the code of a submission runs, and how the grader calls it. Of the grader, the sandbox contains the folders `inside` and
`protocol`, and no package above them imports anything."""
