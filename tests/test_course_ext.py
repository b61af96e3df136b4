"""What the course adds to Sphinx: chapters and sections named in text are links, and punctuation stays put."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from rewritten import rewritten

SOURCE = Path(__file__).parents[1] / "_ext" / "course_ext.py"


def extension(*edits):
    return rewritten(SOURCE, *edits)


def contents(*entries):
    lines = [nodes.paragraph("", "", nodes.reference("", text, anchorname=at)) for text, at in entries]
    return nodes.bullet_list("", *(nodes.list_item("", line) for line in lines))


APP = SimpleNamespace(
    env=SimpleNamespace(
        found_docs={"book/04_attention", "book/05_multihead", "book/index", "book/exercises/ex04_attention",
                    "book/workshop"},
        tocs={"book/04_attention": contents(("4 · Attention", ""), ("4.1 · Scores", "#scores"),
                                             ("4.10 · Words", "#words")),
              "book/05_multihead": contents(("5 · Heads", ""), ("5.2 · Joined", "#joined")),
              "book/workshop": contents(("Workshop · More", ""), ("0.7 · Columns", "#columns"))}),
    builder=SimpleNamespace(get_relative_uri=lambda here, there: f"{there}.html"))
A4, A5 = "book/04_attention.html", "book/05_multihead.html"


def page(*paragraphs):
    """A document of one section; each paragraph is a list of text and of other nodes."""
    section = nodes.section("")
    for parts in paragraphs:
        section += nodes.paragraph("", "", *(nodes.Text(p) if isinstance(p, str) else p for p in parts))
    document = new_document("page")
    document += section
    return document


def links(module, document, here="book/index"):
    module.link_mentions(APP, document, here)
    return [(a.astext(), a["refuri"]) for a in document.findall(nodes.reference)]


def chapters_are_links(module):
    found = page(["See chapter 4, then Chapter 5."])
    assert links(module, found) == [("chapter 4", A4), ("Chapter 5", A5)]
    assert found.astext() == "See chapter 4, then Chapter 5."


def lists_and_ranges_link_each_number(module):
    assert links(module, page(["chapters 4, 12 and 5 or chapters 4–5"])) == [("4", A4), ("5", A5)]
    assert links(module, page(["chapters 4 to 12"])) == [("4", A4)]


def numbers_of_other_things_are_plain(module):
    assert links(module, page(["chapter 12, and 4 words"], ["chapter 12 and 5,000 words"])) == []
    assert links(module, page(["chapters 4, 12 and 5,000 words"])) == [("4", A4)]


def what_a_page_needs_is_all_links(module):
    found = page(["chapters 4 to 5"], [nodes.strong("", "You need:"), " chapters 4 and 5, and of chapter 5 a word"])
    assert links(module, found) == [("4", A4), ("5", A5)] * 2


def chapters_to_come_are_plain(module):
    assert links(module, page(["chapter 12 and chapter 44, chapter 0"])) == []


def only_the_first_of_a_section_is_a_link(module):
    found = page(["chapter 4 and chapter 4"], ["chapter 4"])
    found += page(["chapter 4"]).children
    assert links(module, found) == [("chapter 4", A4)] * 2


def each_item_of_a_list_is_read_alone(module):
    lines = [nodes.paragraph("", text) for text in
             ("scores (section 4.1)", "rank (section 4.1)", "section 4.1, section 4.1")]
    found = page(["Part 1"])
    found[0] += nodes.bullet_list("", *(nodes.list_item("", line) for line in lines))
    rows = [nodes.row("", nodes.entry("", nodes.paragraph("", "section 4.1"))) for _ in range(2)]
    found[0] += nodes.table("", nodes.tgroup("", nodes.tbody("", *rows)))
    assert links(module, found) == [("section 4.1", f"{A4}#scores")] * 5


def sections_lead_to_their_place(module):
    assert links(module, page(["section 4.10 and Section 5.2, section 4.99"])) == [
        ("section 4.10", f"{A4}#words"), ("Section 5.2", f"{A5}#joined")]
    assert links(module, page(["section 0.7 of chapter 0"])) == [("section 0.7", "book/workshop.html#columns")]
    own = links(module, page(["sections 4.1 and 4.10"]), "book/04_attention")
    assert own == [("4.1", "#scores"), ("4.10", "#words")]
    assert links(module, page(["chapter 4"]), "book/04_attention") == []


def a_link_that_names_a_section_goes_there(module):
    written = nodes.reference("", "section 4.10", refuri=A4)
    elsewhere = nodes.reference("", "section 4.10", refuri="https://example.org/")
    named, bare = nodes.reference("", "chapter 5", refuri=A5), nodes.reference("", "5.2", refuri=A5)
    two = nodes.reference("", "sections 4.1 and 4.10", refuri=A4)
    assert links(module, page([written, " ", elsewhere, " ", named, " ", bare, " ", two])) == [
        ("section 4.10", f"{A4}#words"), ("section 4.10", "https://example.org/"), ("chapter 5", A5),
        ("5.2", f"{A5}#joined"), ("sections 4.1 and 4.10", f"{A4}#scores")]


def code_and_formulas_are_left_alone(module):
    parts = [nodes.literal("", "chapter 4"), nodes.math("", "chapter 4"), "equation 4.1 and 4.10"]
    assert links(module, page(parts)) == []


def together(module, *parts):
    document = page(list(parts))
    before = document.astext()
    module.keep_punctuation(APP, document, "book/index")
    assert document.astext() == before
    return [x.astext() for x in document.findall(nodes.inline)]


def punctuation_stays_with_its_formula(module):
    x = lambda text="x": nodes.math("", text)  # noqa: E731
    assert together(module, x(), ", then ", x("y"), ". ", x("z"), "), ", x("w"), " (no) ", x("v"), "-fold") == [
        "x,", "y.", "z),"]
    assert together(module, x("x" * 41), ", too long") == []
    assert together(module, x(), nodes.literal("", ",")) == []


def equal_texts_keep_their_places(module):
    """Two full stops are equal, and each ends its own sentence: what is read is what was written."""
    found = page([nodes.emphasis("", "truncation"), ".", "\n", "It is ", nodes.math("", "x"), ".", "\n", "More."])
    before = found.astext()
    module.keep_punctuation(APP, found, "book/index")
    assert found.astext() == before
    assert [x.astext() for x in found.findall(nodes.inline)] == ["x."]
    twice = page([nodes.strong("", "so: "), "chapter 4", nodes.emphasis("", " and "), "chapter 4"])
    twice[0] += nodes.section("", nodes.paragraph("", "", nodes.literal("", "chapter 5"), nodes.Text("chapter 5")))
    assert links(module, twice) == [("chapter 4", A4), ("chapter 5", A5)]
    assert twice.astext() == "so: chapter 4 and chapter 4\n\nchapter 5chapter 5"


def sections_of_a_paper_are_its_own(module):
    cited = nodes.inline("", "Vaswani et al. [2017]")
    theirs = page(["Section 4.1 of ", cited], ["section 4.1 of their paper, section 4.1 of Vaswani et al."])
    assert links(module, theirs) == []
    assert links(module, page(["Section 4.1 of this book"], ["section 4.1"], ["of chapter 5"])) == [
        ("Section 4.1", f"{A4}#scores"), ("chapter 5", A5)]


def listings_share_a_menu_in_each_folder(module):
    app, calls = SimpleNamespace(), []

    def menu_of(page, **options):
        context = {"toctree": lambda **options: calls.append(page) or f"made for {page} {options}"}
        module.share_menu(app, page, "page.html", context, None)
        return context["toctree"](**options)

    for page in ("_modules/byhand/np/norm", "_modules/byhand/np/mask"):
        assert menu_of(page, collapse=False) == "made for _modules/byhand/np/norm {'collapse': False}"
    assert "{'collapse': True}" in menu_of("_modules/byhand/np/mask", collapse=True)
    assert "made for _modules/byhand/tree " in menu_of("_modules/byhand/tree", collapse=False)  # its links are shorter
    assert "made for book/a " in menu_of("book/a") and "made for book/b " in menu_of("book/b")  # each marks itself
    assert len(calls) == 5


CHECKS = [chapters_are_links, lists_and_ranges_link_each_number, chapters_to_come_are_plain,
          listings_share_a_menu_in_each_folder,
          numbers_of_other_things_are_plain, what_a_page_needs_is_all_links,
          only_the_first_of_a_section_is_a_link, each_item_of_a_list_is_read_alone,
          sections_lead_to_their_place, a_link_that_names_a_section_goes_there,
          code_and_formulas_are_left_alone, punctuation_stays_with_its_formula, equal_texts_keep_their_places,
          sections_of_a_paper_are_its_own]


@pytest.mark.parametrize("check", CHECKS)
def test_the_extension(check):
    check(extension())


WRONG = [
    ("no menu is shared", listings_share_a_menu_in_each_folder, "if key not in made:", "if True:"),
    ("one menu at any depth", listings_share_a_menu_in_each_folder, "key = (depth,", "key = (0,"),
    ("one menu whatever is asked", listings_share_a_menu_in_each_folder, "*sorted(options.items()))", ")"),
    ("chapters share one too", listings_share_a_menu_in_each_folder, '"_modules/"', '""'),
    ("every mention is a link", only_the_first_of_a_section_is_a_link, "((section, to) in seen or ", "(False or "),
    ("one link a page", only_the_first_of_a_section_is_a_link, "section = next((id(p)", "section = next((0"),
    ("the 5 of 5,000 is a chapter", numbers_of_other_things_are_plain, r"(?!\d|,\d)", ""),
    ("what follows one chapter is another", numbers_of_other_things_are_plain, r"|s\s+{ONE}(", r"|s?\s+{ONE}("),
    ("what was named above is no link", what_a_page_needs_is_all_links, 'NEEDS = "You need:"', 'NEEDS = "In need:"'),
    ("one link a list", each_item_of_a_list_is_read_alone, "(nodes.section, nodes.list_item, ", "(nodes.section, "),
    ("one link a table", each_item_of_a_list_is_read_alone, ", nodes.row)", ")"),
    ("a page links to itself", sections_lead_to_their_place, 'where[to] == (docname, "")', "False"),
    ("4.10 is read as chapter 4", sections_lead_to_their_place, "{NUMBER.pattern}\"\n", r"\d+" + '"\n'),
    ("where a chapter goes on is unknown", sections_lead_to_their_place, "|workshop|", "|nowhere|"),
    ("a link to two sections leads to the last", a_link_that_names_a_section_goes_there,
     "number is numbers[0] and ", ""),
    ("links lose their place", a_link_that_names_a_section_goes_there, 'link["refuri"] = uri(to)', "pass"),
    ("links of others are bent", a_link_that_names_a_section_goes_there,
     ' and link.get("refuri", "").split("#")[0] == uri(to).split("#")[0]', ""),
    ("bare numbers lead to the top of a page", a_link_that_names_a_section_goes_there,
     "NUMBER.fullmatch(plain)", "False"),
    ("code is linked", code_and_formulas_are_left_alone, "(nodes.title, nodes.literal, ", "(nodes.title, "),
    ("text after a link is lost", chapters_are_links, "[*pieces, nodes.Text(plain[end:])]", "pieces"),
    ("any sign is punctuation", punctuation_stays_with_its_formula, 'in ",.;:!?)"', 'not in ""'),
    ("equal texts change places", equal_texts_keep_their_places, "if child is old", "if child == old"),
    ("sections of papers are links", sections_of_a_paper_are_its_own, "ELSEWHERE.match(plain, mention.end())", "False"),
    ("only of papers named in words", sections_of_a_paper_are_its_own, "|[A-Z]|$)", ")"),
    ("no section of anything is a link", sections_of_a_paper_are_its_own, "|[A-Z]|$)", "|.)"),
    ("long formulas too", punctuation_stays_with_its_formula, "SHORT = 40", "SHORT = 99"),
]


@pytest.mark.parametrize(("check", "old", "new"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_wrong_extension_is_caught(check, old, new):
    with pytest.raises((AssertionError, AttributeError, KeyError)):
        check(extension(old, new))
