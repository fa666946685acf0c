#!/usr/bin/env bash
# Take the steps of a Binder launch in a virtual environment: what repo2docker would run, without Docker. Slow.
#   book/_tools/binder.sh [folder of a clone]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$PWD/build/binder
rm -rf "$work" && mkdir -p "$work"
python3 -m venv "$work/repo2docker"
"$work/repo2docker/bin/pip" install --quiet jupyter-repo2docker
git clone --quiet "${1:-.}" "$work/source"
python3 -m venv "$work/environment"
cd "$work/source"
"$work/repo2docker/bin/jupyter-repo2docker" --no-build --debug . 2>&1 | tee "$work/dockerfile" \
  | grep -E '^RUN .*(/bin/pip install|chmod \+x \.binder|\./\.binder/postBuild)' | sed 's/^RUN //' > "$work/steps"
test -s "$work/steps" || { echo "repo2docker printed no steps: see $work/dockerfile" >&2; exit 1; }
export KERNEL_PYTHON_PREFIX=$work/environment NB_PYTHON_PREFIX=$work/environment REPO_DIR=$work/source
export PATH=$work/environment/bin:$PATH
while read -r line; do
  echo "+ $line"
  bash -c "$line" > "$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
done < "$work/steps"
python -m nbclient.cli --timeout=300 book/01-chain-rule.ipynb > /dev/null
echo "Binder's steps work; the environment takes $(du -sh "$work/environment" | cut -f1)."
