"""Write the right arrays of the public cases, so that `check` needs no reference.

    python tools/make_expected.py           write expected.npz of every exercise set
    python tools/make_expected.py 04 05     of these
    python tools/make_expected.py --check   write nothing, fail if a byte would change

Numbers are kept to twelve digits: machines differ in the last ones, and the files should not. At a tie they differ in
the twelfth: an array that is stored stays where the new one is one unit away or less.
"""

import argparse
import io
import sys
import zipfile
from pathlib import Path

import numpy as np
from byhand.grade.judge import finish
from byhand.grade.model import make_inputs
from byhand.grade.run import run
from byhand.grade.sets import SETS, expected_key, expected_path, questions_of, references_of


def right_arrays(set_id):
    references, arrays = references_of(set_id), {}
    for question in questions_of(set_id):
        for case in question.public:
            inputs = make_inputs(question, case)
            result = finish(question, inputs, run(references[question.name], inputs, question))
            if result.kind != "ok" or result.changed:
                raise SystemExit(f"{question.id}, case '{case.name}': the reference fails: {result}")
            for name, array in zip(question.judged, result.arrays, strict=True):
                arrays[expected_key(question, case, name)] = rounded(array)
    return arrays


def rounded(array):
    """Twelve significant digits; what is only rounding noise beside the largest number becomes zero."""
    if array.dtype.kind != "f":
        return array
    noise = max(1e-15, 1e-14 * np.abs(array).max(initial=0.0))
    numbers = [float(f"{x:.12g}") if abs(x) > noise else 0.0 for x in array.ravel().tolist()]
    return np.array(numbers).reshape(array.shape)


def settled(arrays, path):
    """The arrays, in the place of each the one that the file has if rounding is all they differ in."""
    if not path.exists():
        return arrays
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] if name in stored and alike(array, stored[name]) else array
                for name, array in arrays.items()}


def alike(new, old):
    if new.dtype.kind != "f" or (new.dtype, new.shape) != (old.dtype, old.shape):
        return False
    noise = 2e-14 * np.abs(new).max(initial=0.0, where=np.isfinite(new))
    return np.allclose(new, old, rtol=1.1e-11, atol=noise, equal_nan=True)


def to_bytes(arrays):
    """An .npz file without a clock: entries sorted, dated 1980."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(arrays):
            entry = io.BytesIO()
            np.lib.format.write_array(entry, arrays[name], version=(1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            info.create_system = 3  # the same on every platform
            archive.writestr(info, entry.getvalue())
    return file.getvalue()


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"any of {', '.join(SETS)}; none named: all")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a byte would change")
    args = parser.parse_args(argv)
    if unknown := set(args.sets) - SETS.keys():
        parser.error(f"no set is called {', '.join(sorted(unknown))}; the sets are {', '.join(SETS)}")
    stale = False
    for set_id in args.sets or SETS:
        path = Path(expected_path(set_id))
        new = to_bytes(settled(right_arrays(set_id), path))
        same = path.exists() and path.read_bytes() == new
        stale |= not same
        if not same and not args.check:
            path.write_bytes(new)
        print(f"{set_id}  {len(new):6} bytes  {'same' if same else 'would change' if args.check else 'written'}")
    return int(stale and args.check)


if __name__ == "__main__":
    sys.exit(main())
