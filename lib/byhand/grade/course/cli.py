"""The command `byhand-grade`: from a folder of submissions to grades.

    byhand-grade doctor
    byhand-grade collect 04 submissions.zip --roster class.csv
    byhand-grade grade 04 --jobs 2
    byhand-grade status 04
    byhand-grade export 04 --format csv > grades.csv
"""

import argparse
import os
import sqlite3
import sys
from pathlib import Path

from ..sets import SETS
from . import export, isolation
from .apart import ALL, run_bundle, run_check, run_sample, run_selfcheck
from .leaving import run_export, run_feedback, run_similar, run_status
from .marking import run_collect, run_doctor, run_grade, run_override, run_regrade
from .sandbox import SandboxError
from .terminal import GOOD, STOP, STOPPED, UNSETTLED, USAGE, WRONG, say, trouble

__all__ = ["GOOD", "UNSETTLED", "USAGE", "WRONG", "main"]


class Parser(argparse.ArgumentParser):
    """A wrong word is told in one line with a way on, and has an exit code of its own."""

    def error(self, message):
        print(f"{self.prog}: {message}; {self.prog} --help shows an example", file=sys.stderr)
        sys.exit(USAGE)


def set_named(text: str) -> str:
    """A set as people name it: 4, 04, 04_attention."""
    number = text.removeprefix("s").partition("_")[0]
    return number.zfill(2) if number.isdigit() else text


def parser() -> argparse.ArgumentParser:
    top = Parser("byhand-grade", description=__doc__.split("\n")[0],
                                  epilog="\n".join(__doc__.split("\n")[2:]),
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--store", type=Path, default=Path("grades"), help="where gradebooks are (default: grades)")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name, function, text, example, with_set=True):
        sub = commands.add_parser(name, help=text, description=text, epilog=f"example: byhand-grade {example}")
        sub.set_defaults(function=function)
        sub.add_argument("--store", type=Path, default=argparse.SUPPRESS, help=argparse.SUPPRESS)  # after it as well
        if with_set:
            sub.add_argument("set", type=set_named, choices=SETS, metavar="SET", help=f"one of {', '.join(SETS)}")
        return sub

    sub = command("doctor", run_doctor, "prove what holds submissions on this machine", "doctor", False)
    sub.add_argument("--isolation", choices=isolation.WAYS, default="sandbox")
    sub = command("collect", run_collect, "take submissions from a folder, a zip or a file", "collect 04 moodle.zip")
    sub.add_argument("source", type=Path)
    sub.add_argument("--roster", type=Path, help="a CSV file with a column student")
    for name, function, text in (("grade", run_grade, "grade what waits; goes on where it was stopped"),
                                 ("regrade", run_regrade, "grade all anew; nothing changes until --apply ROUND")):
        sub = command(name, function, text, f"{name} 04 --jobs 2")
        sub.add_argument("--jobs", type=int, default=1, help="submissions at a time")
        sub.add_argument("--patience", type=float, default=1.0, help="a factor on all limits of time")
        sub.add_argument("--dask", metavar="ADDRESS", help="of the scheduler of a cluster that runs the sandboxes")
        sub.add_argument("--isolation", choices=isolation.WAYS, default="sandbox", help="where submissions run")
        sub.add_argument("--i-trust-these-submissions", dest="trust", action="store_true",
                         help="needed for --isolation=process, which hides nothing but the expected values")
    sub.add_argument("--because", default="", help="kept with the round")
    sub.add_argument("--apply", type=int, metavar="ROUND", help="let the grades of this round count")
    command("status", run_status, "how the class stands: questions, commonest mistakes, what divides it", "status 04")
    sub = command("override", run_override, "give points by hand", 'override 04 ann 04.2 1 --note "seen in person"')
    sub.add_argument("student")
    sub.add_argument("question")
    sub.add_argument("points", type=float)
    sub.add_argument("--note", required=True)
    sub = command("export", run_export, "grades for a platform", "export 04 --format moodle --to grades.csv")
    sub.add_argument("--format", choices=export.FORMATS, default="csv")
    sub.add_argument("--to", type=Path, help="a file (a folder for gradescope); else it is printed")
    sub.add_argument("--partial", action="store_true", help="although some are not settled")
    sub = command("feedback", run_feedback, "a page a student", "feedback 04 --book https://example.org/course/book")
    sub.add_argument("--book", default=None, metavar="ADDRESS",
                     help="where students find the book, for links (default: the one built here, if there is one)")
    sub = command("check", run_check, "what a learner's notebook is worth, without a gradebook", "check lab.ipynb",
                  False)
    sub.add_argument("notebook", type=Path)
    sub.add_argument("--set", type=set_named, choices=SETS, default=None)
    sub = command("similar", run_similar, "which submissions are alike: a hint, no verdict", "similar 04")
    sub.add_argument("--least", type=float, default=0.5, help="share of the work that is the same (default: 0.5)")
    sub.add_argument("--to", type=Path, help="the page (default: similar.html in the gradebook's folder)")
    sub = command("bundle", run_bundle, "a package for students, without answers", "bundle 04 05 --out w3.zip", False)
    sub.add_argument("sets", nargs="+", type=set_named, choices=[*SETS, ALL], metavar="SET",
                     help=f"any of {', '.join(SETS)}, or {ALL}")
    sub.add_argument("--out", type=Path, required=True, help="a new folder, or a name that ends in .zip")
    sub.add_argument("--book", default="", metavar="URL", help="where the chapters are, for links; else they are words")
    sub = command("sample", run_sample, "a made-up class to practise with, of set 04", "sample class", False)
    sub.add_argument("folder", type=Path)
    sub.add_argument("--students", type=int, default=30, help="8 to 30 (default: 30)")
    sub.add_argument("--seed", type=int, default=0)
    sub = command("selfcheck", run_selfcheck, "prove the questions themselves", "selfcheck", False)
    sub.add_argument("set", nargs="?", type=set_named, choices=SETS, default=None)
    return top


def main(arguments: list[str] | None = None) -> int:
    """Run a command; its exit code: 0 good, 1 something is wrong, 2 something is not settled, 64 a wrong argument,
    130 stopped by the keyboard."""
    a = parser().parse_args(arguments)
    try:
        return a.function(a)
    except BrokenPipeError:  # who reads has read enough, as `| head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GOOD
    except KeyboardInterrupt:
        print(f"\nbyhand-grade: {STOP}", file=sys.stderr)
        return STOPPED
    except (OSError, sqlite3.DatabaseError) as error:
        say(f"byhand-grade: {trouble(error, a.store)}", file=sys.stderr)
        return WRONG
    except (SandboxError, ValueError, ModuleNotFoundError) as error:
        say(f"byhand-grade: {error}", file=sys.stderr)
        return WRONG


if __name__ == "__main__":
    sys.exit(main())
