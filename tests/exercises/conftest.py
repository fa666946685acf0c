"""The fixtures of the grader's tests."""
from __future__ import annotations

from tests.grading.conftest import folder, limited, once, sandboxed, worker

__all__ = ["folder", "limited", "once", "sandboxed", "worker"]
