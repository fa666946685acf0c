"""List, describe or download data sets: python -m course_lib.data list | show NAME | fetch NAME."""

from __future__ import annotations

import argparse
import sys

from course_lib.data import DataError, describe, load_data
from course_lib.data.registry import REGISTRY


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return the exit status, 0, or 1 after an error message on stderr.

    arguments  the command and its arguments, such as ["show", "mnist"]; None: those of the command line
    """
    parser = argparse.ArgumentParser(prog="python -m course_lib.data", description="The data sets of the course.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="list the data sets, one per line")
    for command, what in (("show", "print source, license and protocol"), ("fetch", "download, verify and read")):
        commands.add_parser(command, help=what).add_argument("name", metavar="NAME")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "list":
            for entry in REGISTRY.values():
                print(f"{entry.name:24}{entry.title}")
        elif chosen.command == "show":
            print(describe(chosen.name))
        else:
            print(load_data(chosen.name))
    except (DataError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
