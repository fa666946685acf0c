"""Generate the SVG of every drawing: python -m course_lib.show.architectures"""

from __future__ import annotations

from course_lib.show.architectures import FOLDER, make, sources

if __name__ == "__main__":
    for name in sources():
        path = FOLDER / f"{name}.svg"
        path.write_text(make(name), encoding="utf-8")
        print(path.name)
