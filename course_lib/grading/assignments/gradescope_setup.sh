#!/usr/bin/env bash
# Runs once, when the autograder is built.
set -euo pipefail
apt-get update
apt-get install -y bubblewrap python3-pip python3-venv
python3 -m venv /autograder/venv
/autograder/venv/bin/pip install --quiet -r /autograder/source/requirements.txt
