"""Search: what a learner types finds the section that answers it, over http and from a folder, without a network."""

import re
import sys
from pathlib import Path

import course_search
import pytest
import yaml
from browser import accessibility, built_book, faults, serve, visit, visitor
from docutils import nodes
from docutils.utils import new_document
from playwright.sync_api import expect
from sphinx import addnodes

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"

# What is typed, and how the title of a chapter's section begins that must be among the first three.
WANTED = {
    "softmax": "4.5", "why divide by sqrt d": "4.4", "why sqrt(d_k)": "4.4", "√d_k": "4.4", "causal mask": "8.2",
    "positional encoding": "3.3", "positional enc": "3.3", "positional encodng": "3.3", "sinusoidal": "3.3",
    "RoPE": "3.7", "rotary embedding": "3.7", "alibi": "ALiBi: nothing to learn", "AdamW": "11.5", "adam": "11.4",
    "backpropagation through layer norm": "6.3", "layernorm gradient": "6.3", "layer norm": "6.1", "layer nor": "6.1",
    "LayerNorm": "6.1", "layer normalization": "6.1", "batch norm vs layer norm": "6.2", "rmsnorm": "6.7",
    "gradient of softmax": "4.5", "softmax gradient": "4.5", "softmax jacobian": "4.5", "sofmax": "4.5",
    "log-sum-exp trick": "Log-sum-exp", "attention backward pass": "4.6", "attention_backward": "4.6",
    "query key value": "4.2", "self attention": "4.2", "KV cache": "12.5", "kv ca": "12.5", "cross entropy": "11.1",
    "Triton": "16.12",
    "derivative of cross entropy": "11.1", "learning rate warmup": "11.7", "vector-Jacobian product": "0.3",
    "numerical gradient check": "0.4", "broadcasting": "0.2", "multi-head attention": "5.2",
    "why multiple heads": "5.1",
    "cross attention": "5.6", "grouped query attention": "5.8", "dropout": "9.6", "gelu": "9.1", "swiglu": "9.5",
    "ffn": "9.2", "transformer block backward": "9.8", "residual connection": "7.1", "pre norm vs post norm": "7.2",
    "weight initialization": "7.8", "rank collapse": "7.7", "vanishing gradients": "1.3", "lstm": "1.4",
    "byte pair encoding": "2.2", "what is a token": "2.1", "word2vec": "2.8", "weight tying": "2.6",
    "padding mask": "8.6", "nan in softmax fully masked row": "8.5", "why do we need masks": "8.1",
    "teacher forcing": "8.11", "decoder only": "10.5", "seq2seq": "10.6", "how many parameters": "10.8",
    "label smoothing": "Label smoothing", "gradient clipping": "Clipping",
    "perplexity": "Bits and perplexity", "momentum": "11.3",
    "adam bias correction": "Bias correction", "temperature sampling": "12.4", "induction heads": "12.6",
    "beam search": "13.4", "bleu score": "13.5", "masked language model": "14.1", "LoRA": "14.6",
    "vision transformer": "15.3", "flash attention": "16.4", "mixed precision": "16.8", "scaling laws": "16.11",
    "gpt from scratch": "17.1",
}
FIND = """async (query) => {
    const found = courseSearch.find(query, await courseSearch.load());
    return found.map(({result: [url, title, , kind, text]}) => ({url, title, kind, text}));
}"""


def begins(title: str, wanted: str) -> bool:
    return title.startswith(f"{wanted} · ") or (title.startswith(wanted) and not wanted[0].isdigit())


def rank(found: list[dict], wanted: str) -> int:
    """The place of the section among what was found, from 1; 0 if it is not there."""
    places = (k for k, one in enumerate(found, 1) if one["kind"] == "chapter" and begins(one["title"], wanted))
    return next(places, 0)


@pytest.fixture(scope="module")
def served():
    with serve(built_book("_static/search/index.js")) as site:
        yield site


@pytest.fixture(params=["http", "file"])
def book(request, served):
    return served if request.param == "http" else HTML.as_uri()


@pytest.mark.browser
def test_what_a_learner_types_finds_the_section(chrome, book):
    with visitor(chrome, book) as page:
        visit(page, f"{book}/search.html")
        found = {query: page.evaluate(FIND, query) for query in WANTED}
        assert page.found == []
    ranks = {query: rank(found[query], wanted) for query, wanted in WANTED.items()}
    assert {query: found[query][:3] for query, k in ranks.items() if not 1 <= k <= 3} == {}
    assert sum(k == 1 for k in ranks.values()) > .8 * len(ranks)
    ids = {}
    for one in (one for few in found.values() for one in few[:8]):  # the places are there, the excerpts are clean
        name, _, anchor = one["url"].partition("#")
        ids.setdefault(name, set(re.findall(r'id="([^"]+)"', (HTML / name).read_text(encoding="utf-8"))))
        assert not anchor or anchor in ids[name], one["url"]
        assert not re.search(r"\.ipynb|\.pdf|>>> |\[\d+\]:|\\frac|\\sqrt|<[a-z]+>", one["text"]), one
    kinds = [one["kind"] for query in ("softmax", "causal mask", "RoPE", "dropout") for one in found[query][:1]]
    assert kinds == ["chapter"] * 4


@pytest.mark.browser
def test_order_of_kinds_and_of_words(chrome, served):
    with visitor(chrome, served) as page:
        visit(page, f"{served}/search.html")
        order = {}
        for query in ("layer norm", "causal mask", "gelu", "swiglu", "dropout"):
            for k, one in enumerate(page.evaluate(FIND, query)):
                order.setdefault(query, {}).setdefault(one["kind"], k)
        for query, first in order.items():
            kinds = [kind for kind in ("chapter", "term", "name") if kind in first]
            assert [first[kind] for kind in kinds] == sorted(first[kind] for kind in kinds), (query, first)
            assert first["chapter"] < first.get("exercise", 99), (query, first)
        same = [[one["url"] for one in page.evaluate(FIND, query)[:1]]
                for query in ("LayerNorm", "layer normalisation", "Layer Norm", "  layer   NORM? ")]
        assert same == same[:1] * 4
        assert page.evaluate(FIND, "platypus") == page.evaluate(FIND, " - ") == []


def fetched(page):
    """What of the search the page has asked for, by its own elements: of files Firefox reports no requests."""
    return page.evaluate("""[...document.querySelectorAll("script, link")].map((e) => e.src || e.href).filter(
        (url) => /_static\\/search\\/|searchindex/.test(url)).map((url) => url.replace(/.*\\//, ""))""")


def typed(page, text):
    page.keyboard.press("Control+k")
    page.keyboard.type(text)
    page.locator("#pst-search-dialog li a").first.wait_for()


@pytest.mark.browser
@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_the_dialog_by_keyboard_alone(chrome, book, width, scheme):
    with visitor(chrome, book, width, scheme) as page:
        asked = []
        page.on("request", lambda r: asked.append(r.url))
        visit(page, f"{book}/book/glossary.html")
        assert fetched(page) == [] == [url for url in asked if "_static/search/" in url or "searchindex" in url]
        typed(page, "why divide by sqrt d")
        assert fetched(page) == ["lunr.js", "index.js"]
        dialog, focused = page.locator("#pst-search-dialog"), page.locator(":focus")
        expect(dialog.get_by_role("status")).to_have_text(re.compile(r"^The first 8 of \d+ results\.$"))
        page.keyboard.press("ArrowDown")
        expect(focused).to_contain_text("4.4 · Why the scores are divided")
        expect(focused).to_contain_text("Chapter 4 · Scaled dot-product attention")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        expect(focused).to_have_attribute("name", "q")
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        typed(page, "why divide by sqrt d")
        page.keyboard.press("ArrowDown")
        found = faults(page)
        assert found == [] and accessibility(page) == []
        page.keyboard.press("Enter")
        page.wait_for_url("**/book/04_attention.html#*")


ICON = """(place) => {  // by how many pixels the icon reaches over the words
    const form = document.querySelector(`${place} form.bd-search`), field = form.querySelector("input");
    const words = field.getBoundingClientRect().left + parseFloat(getComputedStyle(field).paddingLeft);
    return form.querySelector("i").getBoundingClientRect().right - words;
}"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_icon_stands_before_the_words(chrome, served, width):
    with visitor(chrome, served, width) as page:
        visit(page, f"{served}/search.html?q=softmax")
        assert -16 < page.evaluate(ICON, ".bd-search-container") <= 0
        visit(page, f"{served}/book/glossary.html")
        typed(page, "softmax")
        assert -16 < page.evaluate(ICON, "#pst-search-dialog") <= 0
        page.add_style_tag(content="form.bd-search > i.fa-solid.fa-magnifying-glass { position: absolute }")
        assert page.evaluate(ICON, "#pst-search-dialog") > 0  # as the theme has it


@pytest.mark.browser
def test_who_is_faster_than_the_search_stays_in_the_list(chrome, served):
    with visitor(chrome, served) as page:
        visit(page, f"{served}/book/glossary.html")
        typed(page, "query")
        page.evaluate("""() => {  // more is typed, and at once an arrow leads into the results of what was there before
            document.activeElement.value = "grouped query";
            document.activeElement.dispatchEvent(new Event("input"));
            document.querySelector("#pst-search-dialog li a").focus();
        }""")
        expect(page.locator("#pst-search-dialog li").first).to_contain_text("5.8 · Fewer keys")
        expect(page.locator(":focus")).to_contain_text("5.8 · Fewer keys")


@pytest.mark.browser
def test_the_page_of_all_results(chrome, book):
    with visitor(chrome, book) as page:
        visit(page, f"{book}/book/notation.html")
        typed(page, "layer norm")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search.html?q=layer+norm")
        results = page.locator(".bd-search-container ol a")
        expect(results).to_have_count(30)
        page.locator(".bd-search-container input").fill("platypus")
        expect(page.locator(".bd-search-container").get_by_role("status")).to_have_text("Nothing found for “platypus”.")
        expect(results).to_have_count(0)
        assert page.found == []


@pytest.mark.browser
def test_a_book_without_its_index_says_so(chrome, served):
    with visitor(chrome, served) as page:
        page.route("**/search/index.js", lambda route: route.abort())
        visit(page, f"{served}/search.html?q=softmax")
        status = page.locator(".bd-search-container").get_by_role("status")
        expect(status).to_have_text("The search cannot work here: index.js could not be loaded.")
        page.unroute("**/search/index.js")
        page.locator(".bd-search-container input").fill("softmax ")
        expect(page.locator(".bd-search-container ol a").first).to_contain_text("4.5")


# The index, without a browser

SAME = ["LayerNorm, β₂ and ÉCOLE", "Why √d_k? QKᵀ", "d_model=512", "σ ς ϵ ﬁ ½ x²", "", "  - – — "]


def test_plain_text():
    assert [course_search.plain(text) for text in SAME] == [
        "layernorm beta 2 and ecole", "why sqrt d k qkt", "d model 512", "sigma sigma epsilon fi 1 2 x2", "", ""]


@pytest.mark.browser
def test_page_and_index_mean_the_same_by_plain(chrome, served):
    with visitor(chrome, served) as page:
        visit(page, f"{served}/search.html")
        assert [page.evaluate("courseSearch.plain", text) for text in SAME] == [course_search.plain(t) for t in SAME]


def test_a_formula_is_read_as_text():
    assert course_search.formula(r"\sqrt{d_k}") == "√d_k"
    assert course_search.formula(r"\frac{1}{\sqrt{d_k}}") == "1/√d_k"
    assert course_search.formula(r"\operatorname{softmax}(S)") == "softmax(S)"


def section(title, *children):
    found = nodes.section("", nodes.title("", title), *children, ids=[re.sub(r"\W+", "-", title.lower())])
    return found


def test_results_of_a_page():
    code = nodes.container("", nodes.literal_block("", "def rope(x):\n    return x  # secret"), nb_element="cell_code")
    words = nodes.paragraph("", "", nodes.Text("Scores over "), nodes.math("", r"\sqrt{d}"), nodes.Text(", said "),
                            addnodes.pending_xref("", nodes.Text("key2017"), refdomain="cite"), nodes.Text("they."))
    inner = section("Rows or columns?", nodes.paragraph("", "Inner text."))
    page = new_document("page")
    page += section("4 · Attention", nodes.paragraph("", "What it is."),
                    section("4.4 · Why", words, nodes.math_block("", r"\text{depth} = 1"), code, inner),
                    section("Summary", nodes.paragraph("", "All of it.")), section("Exercises"))
    found = course_search.results(page, "book/04_attention")
    assert [(one["at"], one["title"], one["above"]) for one in found] == [
        ("", "4 · Attention", ""), ("#4-4-why", "4.4 · Why", "4 · Attention"),
        ("#rows-or-columns-", "Rows or columns?", "4 · Attention › 4.4 · Why"),
        ("#summary", "Summary", "4 · Attention")]
    assert found[1]["text"] == "Scores over √d, said they. …"
    assert found[1]["more"].split() == ["depth", "rope"]
    assert [one["kind"] for one in found] == ["chapter"] * 4 and found[3]["factor"] < found[1]["factor"]
    assert course_search.results(page, "book/exercises/ex04_attention")[1]["factor"] < found[1]["factor"]


def test_terms_and_names_are_results_of_their_own():
    term = nodes.term("", "logit", ids=["term-logit"])
    item = nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph("", "A score.")))
    head = addnodes.desc_signature("", "softmax(x)", ids=["byhand.np.softmax.softmax"])
    name = addnodes.desc("", head, addnodes.desc_content("", nodes.paragraph("", "Rows that sum to one.")))
    page = new_document("page")
    page += section("Words", addnodes.glossary("", nodes.definition_list("", item)), name)
    found = course_search.results(page, "book/glossary")
    assert [(one["at"], one["title"], one["above"], one["kind"], one["text"]) for one in found] == [
        ("", "Words", "", "page", ""), ("#term-logit", "logit", "Words", "term", "A score."),
        ("#byhand.np.softmax.softmax", "softmax", "byhand.np.softmax", "name", "Rows that sum to one.")]


def words_faults(found: dict, sections: set[str]) -> list[str]:
    """What is wrong with book/search.yml: a section that no chapter has, a phrase in two groups."""
    wrong = [f"no section {number}" for number in found["sections"] if number not in sections]
    phrases = [phrase.strip().lower() for group in found["same"] for phrase in group.split(",")]
    return wrong + [f"twice: {phrase}" for phrase in {p for p in phrases if phrases.count(p) > 1}]


def test_words_of_the_search_are_sound():
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("*.ipynb"))
    sections = set(re.findall(r"## (\d+\.\d+) · ", text))
    words = yaml.load((ROOT / "book" / "search.yml").read_text(encoding="utf-8"), yaml.BaseLoader)
    assert words_faults(words, sections) == [] and {"4.1", "4.10"} <= words["sections"].keys()
    bad = {"sections": {"4.99": "x"}, "same": ["rope, rotary", "a, rotary"]}
    assert words_faults(bad, sections) == ["no section 4.99", "twice: rotary"]


def test_without_its_packages_the_book_says_so(monkeypatch, caplog):
    monkeypatch.setattr(course_search, "NEEDS", ("json", "not_installed_anywhere"))
    monkeypatch.setitem(sys.modules, "course_search", course_search)
    said = []
    monkeypatch.setattr(course_search.logging, "getLogger", lambda name: type("L", (), {
        "warning": staticmethod(lambda text, *of: said.append(text % of))}))
    assert course_search.setup(None)["parallel_read_safe"]
    assert said == ["the book gets Sphinx's plain search: not_installed_anywhere not installed; run make again"]
