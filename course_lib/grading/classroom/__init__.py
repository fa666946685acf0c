"""Grade a class: collect submissions, grade them, write marks and pages."""

NOTICE = ("The package itself holds the references, where anybody with a copy can read them: what is graded is whether "
          "the code does the task. Answers run in a sandbox that does not hold them.")
