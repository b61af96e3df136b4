"""Who handed in what lies in each folder of Gradescope's export, as the table beside the folders says it.

The table is read event by event: nothing is built of what it says, so no tag, no alias and no merge has an effect.
"""

from .roster import line, plain

TABLE, LARGEST = "submission_metadata.yml", 16 << 20  # bytes: it holds what tests have printed, too
FIELDS = ("email", "sid", "name")  # of a student; everybody has an email there, and no two have one
NOBODY = "it does not tell all students apart; the folders' own names count"
LONGEST, DEEPEST = 200, 50  # letters of a name; open collections, for which a parser takes its time


def submitters(data: bytes, name: str) -> dict[str, list[dict[str, str]]]:
    """By folder, the FIELDS of those who handed it in, one or a group. Raises ValueError for what is no such table."""
    try:
        import yaml
    except ImportError:
        raise ValueError(f"collect: {name} says whose the folders are, and PyYAML reads it: pip install pyyaml, or "
                         "take that file away and the folders' own names count") from None
    if len(data) > LARGEST:
        raise ValueError(f"collect: {name} is larger than {LARGEST >> 20} MB; take it away, and the folders' own names "
                         "count")
    found = {}
    try:
        for (folder, many, place, field), value in _scalars(yaml, data):
            field = field.lstrip(":")
            if many.lstrip(":") == "submitters" and field in FIELDS:
                found.setdefault(folder, {}).setdefault(place, {})[field] = line(value)[:LONGEST]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        why = getattr(error, "problem", None) or type(error).__name__
        raise ValueError(f"collect: {name} is no table of submissions ({line(str(why))[:LONGEST]}); export them anew, "
                         "or take that file away and the folders' own names count") from None
    return {folder: list(people.values()) for folder, people in found.items()}


def _scalars(yaml, data):
    """The texts that lie four steps deep, each with its steps: keys, or numbers in a list."""
    stack = []  # of open collections: [is it a mapping, the key or the number]; a mapping that waits for a key has None
    for event in yaml.parse(data, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.CollectionStartEvent):
            mapping = isinstance(event, yaml.MappingStartEvent)
            stack.append([mapping, None if mapping else "0"])
            if len(stack) > DEEPEST:
                raise ValueError("too deep")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
        elif not isinstance(event, yaml.NodeEvent):
            continue
        text = event.value if isinstance(event, yaml.ScalarEvent) else ""
        if not stack:
            continue
        mapping, at = stack[-1]
        if mapping and at is None:
            stack[-1][1] = text
            continue
        if len(stack) == 4 and text:
            yield [x[1] for x in stack], text
        stack[-1][1] = None if mapping else str(int(at) + 1)


def called(table, roster=()) -> dict[str, list[str]]:
    """By folder, the students: by that one of FIELDS that the roster has most of, or that tells all apart; empty where
    there is none."""
    people, known = [who for group in table.values() for who in group], {plain(name) for name in roster}
    of = {field: [plain(who.get(field, "")) for who in people] for field in FIELDS}
    fit = [field for field in FIELDS if all(of[field]) and len(set(of[field])) == len(people)]
    if known:
        best = max(FIELDS, key=lambda field: len(known.intersection(of[field])))
        fit = [best] if known.intersection(of[best]) else fit
    return {folder: names for folder, group in table.items() if fit
            and (names := [name for who in group if (name := who.get(fit[0]))])}
