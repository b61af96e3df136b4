"""Commands of IPython in a cell: each line that is one becomes `pass`, and what is left is Python."""

import re

LINE = re.compile(r"[ \t]*+(?:[%!?]|[,;/](?=\w)|[\w.*\[\]]++\?\??[ \t]*+$)")  # no remark that asks is one
WORDS = ("pip", "conda", "mamba", "cd", "ls", "pwd", "load_ext", "reload_ext", "autoreload", "matplotlib", "timeit",
         "config", "env", "run", "time", "whos", "who", "precision")  # they are commands without a % as well
BARE = re.compile(rf"[ \t]*+(?:{'|'.join(WORDS)})[ \t]++(?![=.,(\[:*+/<>&|^@;]|-[ =]|(?:if|in|is|and|or|not)\b)\S")
TIMED = re.compile(r"(?P<before>[ \t]*+(?:[^=#%]++=[ \t]*+)?+)%time[ \t]++(?P<code>[^\s-].*)")  # its code is run
RUN = re.compile(r"^[ \t]*+(%?run[ \t]++[\w./~-]{1,100}\.(?:py|ipynb)|%load[ \t]++\S{1,100})[ \t]*+$", re.MULTILINE)
TOKEN = re.compile(r"#.*|'''|\"\"\"|'(?:\\.|[^'\\])*+'|\"(?:\\.|[^\"\\])*+\"|['\"]|[(\[{]|[)\]}]")
ENDS = {mark: re.compile(r"(?:\\.|[^\\])*?" + mark) for mark in ("'''", '"""', "'", '"')}
CELLS = ("time", "timeit", "capture", "prun")  # commands for a whole cell whose text is Python all the same


def whole(text: str) -> bool:
    """Is the cell a command as a whole, and its text no Python of this notebook?"""
    found = re.match(r"\s*%%(\w*)", text)
    return bool(found) and found[1] not in CELLS


def plain(text: str) -> str:
    """The cell with `pass` in the place of commands, at the same indent; each line keeps its number.

    A line is looked at where a statement may begin: not in a text, in brackets, or behind a backslash. As IPython does,
    it takes away an indent that the whole cell has, and the marks of a prompt.
    """
    lines = _unmoved(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    out, reader, command = [], _Reader(), False
    for line in lines:
        if command:  # it goes on behind a backslash
            line = ""
        elif reader.between:
            if found := TIMED.fullmatch(line):
                line = found["before"] + found["code"]
            if LINE.match(line) or BARE.match(line) or _assigned(line) or _asks(line):
                command = line.endswith("\\")
                out.append(line[:len(line) - len(line.lstrip(" \t"))] + "pass")
                continue
        command = command and lines[len(out)].endswith("\\")
        reader.read(line)
        out.append(line)
    return "\n".join(out)


def _unmoved(lines):
    first = next((line for line in lines if line.strip()), "")
    if first.startswith(">>> "):
        return [line[4:] if line[:4] in (">>> ", "... ") else "" if line == "..." else line for line in lines]
    indent = first[:len(first) - len(first.lstrip(" \t"))]
    return [line.removeprefix(indent) for line in lines] if indent else lines


def _assigned(line) -> bool:
    """Is it `files = !ls` or `t = %timeit f(x)`?"""
    if "!" not in line and "%" not in line:
        return False
    head, equals, tail = TOKEN.sub(lambda found: found[0] if found[0] in "()[]{}" else "_", line).partition("=")
    head = head.strip()
    return bool(equals and re.match(r"[ \t]*+(?:!|%[\w%])", tail)) and bool(head) and head[-1] not in "!%<>+*/&|^@-:"


def _asks(line) -> bool:
    """Is it `x = f(y)?`, which is help and makes nothing?"""
    if not line.rstrip().endswith("?"):
        return False
    reader = _Reader()
    reader.read(line)
    return reader.between and TOKEN.sub("_", line).rstrip().endswith("?")


class _Reader:
    """Where the end of a line leaves Python: in a text, in brackets, behind a backslash, or between statements."""

    def __init__(self):
        self.open, self.depth, self.behind = "", 0, False

    @property
    def between(self) -> bool:
        return not self.open and self.depth == 0 and not self.behind

    def read(self, line: str) -> None:
        at, token, self.behind = 0, "", False
        if self.open:
            at = self._text(line, 0)
        while not self.open and (found := TOKEN.search(line, at)):
            at, token = found.end(), found[0]
            if token in ENDS:
                self.open = token
                at = self._text(line, at)
            elif token in "([{":
                self.depth += 1
            elif token in ")]}":
                self.depth = max(0, self.depth - 1)
        self.behind = not self.open and line.endswith("\\") and not token.startswith("#")

    def _text(self, line, at) -> int:
        """The end of the text that is open; one of a single line goes on behind a backslash alone."""
        if found := ENDS[self.open].match(line, at):
            self.open = ""
            return found.end()
        if len(self.open) == 1 and not line.endswith("\\"):
            self.open = ""
        return len(line)
