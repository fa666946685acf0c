"""What every test process has in common: no network, and one thread for each library that would start more."""
from __future__ import annotations

import os
from pathlib import Path

from tests.support.offline import netblock

OFFLINE = Path(__file__).resolve().parent / "offline"


def install():
    """Cut this process off the network, and by its environment every process that it starts. Before torch is imported."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["TQDM_DISABLE"] = "1"
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["PYTHONPATH"] = os.pathsep.join(
        dict.fromkeys([str(OFFLINE), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]))
    netblock.install()
