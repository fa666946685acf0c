"""What a judge imports before it grades: torch and the exercises, and nothing that is for downloads, figures or notebooks."""
from __future__ import annotations

import json
import subprocess
import sys


def test_grader_imports_no_heavy_packages():
    code = ("import sys, json, course_lib.grading.classroom.graders, course_lib.grading.classroom.collection, course_lib.exercises; "
            "list(course_lib.exercises.EXERCISES.values()); "
            "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    brought = set(json.loads(done.stdout))
    assert "torch" in brought
    assert not brought & {"requests", "urllib3", "pooch", "sklearn", "scipy", "matplotlib", "anywidget", "IPython", "nbformat",
                          "nbclient", "sympy", "transformers"}
