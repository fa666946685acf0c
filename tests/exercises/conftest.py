"""The fixtures of the grader's tests."""
from __future__ import annotations

from tests.grading.conftest import folder, once, sandboxed, worker

__all__ = ["folder", "once", "sandboxed", "worker"]
