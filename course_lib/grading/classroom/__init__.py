"""Grade a class: collect submissions, grade them, write marks and pages."""

NOTICE = ("The package itself holds the references, where anybody with a copy can read them: what is graded is whether "
          "the code does the task. Marks for credit need --require-isolation, so that no answer runs where they can be "
          "read.")
