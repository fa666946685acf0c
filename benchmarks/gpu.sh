#!/bin/sh
# Test and time the package on one CUDA card, in at most ten minutes: the tests marked gpu, training steps beside peers, and,
# with FULL=1 and two minutes left, one step of a full-size GPT-2. DEVICE=cpu TINY=1 tests this script without a card.
set -u
began=$(date +%s)
cd "$(dirname "$0")/.." || exit 1
PYTHON=${PYTHON:-python} DEVICE=${DEVICE:-cuda}
PYTHONPATH=$PWD
export PYTHONPATH
status=0

timeout 240 "$PYTHON" -m pytest -q -n0 -p no:cacheprovider -m gpu $(grep -rl pytest.mark.gpu tests --include='test_*.py') || status=1
timeout 230 "$PYTHON" -m benchmarks.speed.gpu --device "$DEVICE" ${TINY:+--tiny} || status=1
if [ -n "${FULL:-}" ] && [ $(($(date +%s) - began)) -lt 480 ]; then
    timeout 110 "$PYTHON" -m benchmarks.speed.gpu --device "$DEVICE" ${TINY:+--tiny} --full || status=1
fi
exit $status
