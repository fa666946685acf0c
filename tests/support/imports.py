"""The Python files of the repository."""
from __future__ import annotations

from pathlib import Path


def python_files(folder: Path) -> list[Path]:
    """The Python files below a folder, in order; what git would not see is left out."""
    hidden = {"node_modules", "__pycache__", "_build", "build"}
    return sorted(path for path in folder.rglob("*.py")
                  if not any(part in hidden or part.startswith(".") for part in path.relative_to(folder).parts))
