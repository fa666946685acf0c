#!/usr/bin/env bash
# Runs for each submission, which lies in /autograder/submission; Gradescope reads /autograder/results/results.json.
# Without isolation a submission could read the references or write its own result: if bubblewrap is not allowed where
# this runs, nothing is graded, and the results say so. Set AUTOGRADER_FLAGS to nothing to grade all the same.
set -uo pipefail
root=${AUTOGRADER_ROOT:-/autograder}
python=${AUTOGRADER_PYTHON:-$root/venv/bin/python}
flags=${AUTOGRADER_FLAGS---require-isolation}
mkdir -p "$root/results"
report() {                                                 # results without marks
    printf '{"score": 0, "output": "%s"}' "$1" > "$root/results/results.json"
}
if [ -z "$(cd "$root/submission" && find . -iname '*.ipynb' -not -path '*/.*' -print -quit)" ]; then
    report "There is not a notebook in this submission. Submit one, NN-name.ipynb."
    exit 0
fi
report "The autograder stopped, and nothing was graded: this 0 is not a mark. Tell your instructor."
work=$(mktemp -d)
mkdir "$work/class"
cp -r "$root/submission" "$work/class/submission"
echo submission > "$work/roster"                           # one student, however many notebooks and folders
cd "$root/source" || exit 1
"$python" -m course_lib.grading grade "$work/class" --roster "$work/roster" --chapter CHAPTERS --gradescope "$work/reports" $flags
cp "$work/reports/submission/results.json" "$root/results/results.json"
