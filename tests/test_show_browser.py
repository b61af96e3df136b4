"""The HTML pieces in a real browser: by mouse, by keyboard and by touch, in both themes, wide and on a phone."""

import contextlib
import re

import numpy as np
import pytest
from browser import accessibility, faults, serve, visit, visitor
from byhand.show import AttentionExplorer, Stepper
from playwright.sync_api import Error

pytestmark = pytest.mark.browser

WORDS = "The old man sat by the bank of the wide river".split()
HOSTILE = ["<img src=x onerror=alert(1)>", "</script>", "שלום", "👩", " the", "\n", "\xa0", ".", "0"]


def weights(*shape, seed=0):
    S = np.random.default_rng(seed).normal(size=shape) * 1.5
    return np.exp(S) / np.exp(S).sum(-1, keepdims=True)


FOUR = weights(4, 11, 11)
MASKED = np.tril(weights(3, 3))
MASKED[1:] /= MASKED[1:].sum(-1, keepdims=True)
MASKED[0] = 0

four = AttentionExplorer(WORDS, FOUR, title="Four heads", query=6)._repr_html_()
PIECES = {
    "four": four,
    "twice": four + four,
    "masked": AttentionExplorer(list("abc"), MASKED)._repr_html_(),
    "cross": AttentionExplorer(list("qr"), weights(2, 2, 3), keys=list("xyz"), heads=["near", "far"],
                               what="Place")._repr_html_(),
    "hostile": AttentionExplorer(HOSTILE, weights(9, 9), title="<b>")._repr_html_(),
    "long": AttentionExplorer([f"token-number-{k}" for k in range(14)], weights(2, 14, 14))._repr_html_(),
    "steps": Stepper([("Scores", "S = " + "1 " * 200), ("Weights", "A"), ("Output", "O")], title="<i>")._repr_html_(),
}
WAIT = 3000  # milliseconds for an element to appear: all is local, and a wrong piece shows none
HEAD = ('<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Test</title><link rel="icon" href="data:,">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"></head>')


def sentence(A, tokens, keys, query):
    """What the live region says, worked out here once more from the weights."""
    row = A[query]
    order = [j for j in np.argsort(-row, kind="stable") if row[j] > 0]
    parts = [f"{keys[j]} {row[j]:.3f}" for j in order[:4]]
    parts += [f"and {len(order) - 4} more"] if len(order) > 4 else []
    return f"{tokens[query]} attends to: {', '.join(parts) or 'nothing'}"


@contextlib.contextmanager
def reader(chrome, **device):
    """Someone with another kind of browser than `visitor`."""
    with contextlib.closing(chrome.new_context(**device)) as context:
        context.set_default_timeout(WAIT)
        yield context.new_page()


@contextlib.contextmanager
def piece(chrome, root, name, **look):
    """One piece on a page of its own; when it has been used, nothing may be wrong with that page."""
    with visitor(chrome, root, **look) as page:
        page.set_default_timeout(WAIT)
        visit(page, f"{root}/{name}.html")
        yield page
        assert faults(page) == []


def says(page, at=0):
    return page.get_by_role("status").nth(at).inner_text()


def query(page, name, at=0):
    return page.get_by_role("radiogroup", name="Query").nth(at).get_by_role("radio", name=name, exact=True)


def head(page, name, what="Head"):
    return page.get_by_role("radiogroup", name=what).get_by_role("radio", name=name, exact=True)


# ---- one check for each way of using it; `root` is where the right pages are, or wrong ones -------------------------

def it_opens_on_the_query_that_was_asked_for(chrome, root):
    with piece(chrome, root, "four") as page:
        assert says(page) == sentence(FOUR[0], WORDS, WORDS, 6)
        assert not page.get_by_role("table").first.is_visible()  # folded away, once a script can show the same


def hover_shows_and_leaving_returns(chrome, root):
    with piece(chrome, root, "four") as page:
        query(page, "wide").hover()
        assert says(page) == sentence(FOUR[0], WORDS, WORDS, 9)
        page.mouse.move(5, 5)
        assert says(page) == sentence(FOUR[0], WORDS, WORDS, 6)


def click_chooses(chrome, root):
    with piece(chrome, root, "four") as page:
        query(page, "man").click()
        page.mouse.move(5, 5)
        assert says(page) == sentence(FOUR[0], WORDS, WORDS, 2)
        assert query(page, "man").get_attribute("aria-checked") == "true"
        assert page.locator("[role=radiogroup][aria-label=Query] [aria-checked=true]").count() == 1


def a_finger_chooses(chrome, root):
    with reader(chrome, has_touch=True, viewport={"width": 390, "height": 800}) as page:
        page.goto(f"{root}/four.html")
        query(page, "old").tap()
        assert says(page) == sentence(FOUR[0], WORDS, WORDS, 1)


def the_keyboard_is_enough(chrome, root):
    with piece(chrome, root, "four") as page:
        focused = "document.activeElement.textContent"
        page.keyboard.press("Tab")
        assert page.evaluate(focused) == "1"
        page.keyboard.press("ArrowRight")
        assert says(page) == sentence(FOUR[1], WORDS, WORDS, 6)
        page.keyboard.press("Tab")
        assert page.evaluate(focused) == "bank"
        for key, at in [("ArrowRight", 7), ("ArrowDown", 8), ("ArrowLeft", 7), ("ArrowUp", 6), ("Home", 0),
                        ("ArrowLeft", 10), ("ArrowRight", 0), ("End", 10)]:
            page.keyboard.press(key)
            assert (page.evaluate(focused), says(page)) == (WORDS[at], sentence(FOUR[1], WORDS, WORDS, at))
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.get_by_role("table").first.is_visible()


def every_head_and_all_side_by_side(chrome, root):
    with piece(chrome, root, "four") as page:
        for h in range(4):
            head(page, str(h + 1)).click()
            assert says(page) == sentence(FOUR[h], WORDS, WORDS, 6)
            numbers = page.locator(".bh-key .bh-num").all_inner_texts()
            assert numbers == [f"{w:.3f}" for w in FOUR[h, 6]]
            heights = page.locator(".bh-bar i").evaluate_all("all => all.map(e => e.getBoundingClientRect().height)")
            tallest = page.locator(".bh-bar").first.bounding_box()["height"] - 1
            assert np.abs(np.array(heights) / tallest - FOUR[h, 6] / FOUR.max()).max() < 0.02
        head(page, "All").click()
        assert page.locator(".bh-map svg").count() == 4 and not page.locator(".bh-keys").is_visible()
        best = [f"{WORDS[A[6].argmax()]} {A[6].max():.3f} in head {h + 1}" for h, A in enumerate(FOUR)]
        assert says(page) == f"bank attends most to: {', '.join(best)}"
        assert page.locator(".bh-mark").evaluate_all("all => all.map(e => e.getAttribute('y'))") == ["6"] * 4
        drawn = page.locator(".bh-map").nth(2).locator("rect:not(.bh-mark)").evaluate_all(
            "all => all.map(e => ['x', 'y', 'fill-opacity'].map(name => +e.getAttribute(name)))")
        assert len(drawn) == 11 * 11
        assert max(abs(shade - FOUR[2, int(y), int(x)] / FOUR.max()) for x, y, shade in drawn) < 0.002


def two_copies_both_work(chrome, root):
    with piece(chrome, root, "twice") as page:
        query(page, "The", 0).click()
        query(page, "sat", 1).click()
        page.mouse.move(5, 5)
        assert [says(page, k) for k in (0, 1)] == [sentence(FOUR[0], WORDS, WORDS, k) for k in (0, 3)]
        assert page.get_by_role("radiogroup", name="Query").count() == 2  # each was brought to life once


def a_masked_query_attends_to_nothing(chrome, root):
    with piece(chrome, root, "masked") as page:
        assert says(page) == "a attends to: nothing"
        query(page, "b").click()
        assert says(page) == sentence(MASKED, "abc", "abc", 1)
        assert page.locator(".bh-num").all_inner_texts()[2] == "0"
        assert page.get_by_role("radiogroup", name="Head").count() == 0


def queries_and_keys_may_differ(chrome, root):
    A = weights(2, 2, 3)
    with piece(chrome, root, "cross") as page:
        head(page, "far", "Place").click()
        query(page, "r").click()
        assert says(page) == sentence(A[1], "qr", "xyz", 1)
        head(page, "All", "Place").click()
        assert says(page).endswith("in place far")


def hostile_tokens_are_only_text(chrome, root):
    with piece(chrome, root, "hostile") as page:
        shown = page.get_by_role("radio").all_inner_texts()
        assert shown == [*HOSTILE[:4], "␣the", "⏎", "␣", ".", "0"]
        assert page.locator("img, .bh-title b").count() == 0
        for k in range(len(HOSTILE)):
            page.get_by_role("radio").nth(k).click()
            assert says(page) == sentence(weights(9, 9), shown, shown, k)


def the_stepper(chrome, root):
    with piece(chrome, root, "steps") as page:
        back, forth = page.get_by_role("button", name="Back"), page.get_by_role("button", name="Next")
        assert says(page) == "Step 1 of 3: Scores" and back.get_attribute("aria-disabled") == "true"
        forth.focus()
        for step in ("2 of 3: Weights", "3 of 3: Output", "3 of 3: Output"):
            page.keyboard.press("Enter")
            assert says(page) == f"Step {step}"
        assert page.locator("pre:visible").all_inner_texts() == ["O"] and forth.get_attribute("aria-disabled") == "true"
        back.click()
        assert says(page) == "Step 2 of 3: Weights"


def without_a_script_everything_is_told(chrome, root):
    with reader(chrome, java_script_enabled=False) as page:
        page.goto(f"{root}/four.html")
        assert page.get_by_role("table").count() == 4 and page.get_by_role("table").last.is_visible()
        assert page.get_by_role("button").count() == page.get_by_role("radio").count() == 0  # no dead controls
        page.goto(f"{root}/steps.html")
        assert page.locator("pre:visible").count() == 3 and page.get_by_role("button").count() == 0


# ---- themes, widths, accessibility -----------------------------------------------------------------------------------

def no_accessibility_fault(chrome, root):
    for scheme, width in (("light", 1280), ("dark", 390), ("light", 390), ("dark", 1280)):
        for name in ("four", "hostile", "long", "steps"):
            with piece(chrome, root, name, width=width, scheme=scheme) as page:
                assert accessibility(page, {}) == []
                if page.get_by_role("radio", name="All").count():
                    page.get_by_role("radio", name="All").click()
                for summary in page.locator("summary").all():
                    summary.click()
                assert accessibility(page, {}) == []


def the_theme_follows_the_page(chrome, root):
    for attribute, value, scheme, dark in [
        ("data-theme", "dark", "light", True), ("data-theme", "light", "dark", False),
        ("data-jp-theme-light", "false", "light", True), ("data-jp-theme-light", "true", "dark", False),
        ("data-vscode-theme-kind", "vscode-dark", "light", True),
        ("data-vscode-theme-kind", "vscode-high-contrast", "light", True),
        ("data-vscode-theme-kind", "vscode-light", "dark", False),
        ("data-vscode-theme-kind", "vscode-high-contrast-light", "dark", False),
        ("lang", "en", "dark", True), ("lang", "en", "light", False),
    ]:
        with piece(chrome, root, "four", scheme=scheme) as page:
            page.evaluate("([name, value]) => document.body.setAttribute(name, value)", [attribute, value])
            background = page.locator(".bh-box").evaluate("e => getComputedStyle(e).backgroundColor")
            assert background == ("rgb(18, 18, 18)" if dark else "rgb(255, 255, 255)")


# ---- the right pieces pass, the wrong ones do not --------------------------------------------------------------------

def edit(old, new):
    return lambda html: html.replace(old, new)


MUTANTS = {  # what is wrong: the check that must see it, the edit of every page
    "opens on the first token": (it_opens_on_the_query_that_was_asked_for, edit("q=+details.dataset.bhQuery", "q=0")),
    "never starts": (it_opens_on_the_query_that_was_asked_for, edit("start(root);", "")),
    "no hover": (hover_shows_and_leaving_returns, edit("b.onpointerenter", "b.onx")),
    "hover stays": (hover_shows_and_leaving_returns, edit("queryPick.onpointerleave", "queryPick.onx")),
    "click forgets": (click_chooses, edit("i=>{q=i;draw(q);}", "i=>draw(i)")),
    "no mark of what is chosen": (click_chooses, edit('("aria-checked",k===i)', '("aria-checked",false)')),
    "by mouse alone": (a_finger_chooses, edit("b.onclick=()=>pick(i)", "b.onmouseenter=e=>e.detail&&pick(i)")),
    "arrows reversed": (the_keyboard_is_enough, edit("ArrowLeft:at - 1", "ArrowLeft:at + 1")),
    "no way round the end": (the_keyboard_is_enough, edit("pick((to + n)% n)", "pick(Math.min(to,n - 1))")),
    "the focus stays behind": (the_keyboard_is_enough, edit("all[(to + n)% n].focus();", "")),
    "Tab stops at every token": (the_keyboard_is_enough, edit("b.tabIndex=k===i?0 :-1", "b.tabIndex=0")),
    "columns for rows": (every_head_and_all_side_by_side, edit("best(W[i])", "best(W.map(r=>r[i]))")),
    "bars of another scale": (every_head_and_all_side_by_side, edit("W[i][j] / most", "W[i][j]")),
    "maps transposed": (every_head_and_all_side_by_side, edit('x="${j}" y="${i}"', 'y="${j}" x="${i}"')),
    "the head is ignored": (every_head_and_all_side_by_side, edit("[A[h]]", "[A[0]]")),
    "the first copy only": (two_copies_both_work, lambda html: re.sub(
        r"document\.querySelectorAll\((\"\[id='.*?)\)\)", r"[document.querySelector(\1)])", html)),
    "brought to life twice": (two_copies_both_work, edit("if (!root.bhLive)", "if (true)")),
    "masked keys are named": (a_masked_query_attends_to_nothing, edit('w !=="0"', "true")),
    "keys named as queries": (queries_and_keys_may_differ, edit("word(keys[j])", "word(queries[j])")),
    "tokens as markup": (hostile_tokens_are_only_text, edit(
        "e.append(...inside)", 'inside.forEach(x=>x.nodeType?e.append(x):e.insertAdjacentHTML("beforeend",x))')),
    "tokens taken for numbers": (hostile_tokens_are_only_text, edit(
        "c=>c.textContent.trim()", 'c=>c.textContent.trim().replace(".","0.")')),
    "two steps at once": (the_stepper, edit("go(at + 1)", "go(at + 2)")),
    "a button that loses the focus": (the_stepper, edit(
        'next.setAttribute("aria-disabled",at===last)', "next.disabled=at===last")),
    "dead controls": (without_a_script_everything_is_told, edit("<details", "<button>1</button><details")),
    "tables hidden": (without_a_script_everything_is_told, edit("<details open", "<details")),
    "faint text": (no_accessibility_fault, edit("#1f2328", "#b0b8c0")),
    "faint text in the dark": (no_accessibility_fault, edit("#e6e9ee", "#55606a")),
    "a table wider than the phone": (no_accessibility_fault, edit("overflow-x:auto", "overflow:visible")),
    "a role of the wrong family": (no_accessibility_fault, edit('role:"radio"', 'role:"option"')),
    "the book's theme ignored": (the_theme_follows_the_page, edit("[data-theme=dark] .bh-box,", "")),
    "Jupyter's theme ignored": (the_theme_follows_the_page, edit(",[data-jp-theme-light=true] .bh-box", "")),
    "VS Code's light theme ignored": (the_theme_follows_the_page, edit(
        ",[data-vscode-theme-kind$=light] .bh-box", "")),
    "VS Code's high contrast ignored": (the_theme_follows_the_page, edit(
        ",[data-vscode-theme-kind$=contrast] .bh-box", "")),
    "always light": (the_theme_follows_the_page, edit("color-scheme:light dark", "color-scheme:light")),
}
CHECKS = list(dict.fromkeys(check for check, _ in MUTANTS.values()))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("show")
    for k, change in enumerate([lambda html: html, *(change for _, change in MUTANTS.values())]):
        changed = {name: change(html) for name, html in PIECES.items()}
        assert k == 0 or changed != PIECES, f"{list(MUTANTS)[k - 1]}: the edit changes nothing"
        folder.joinpath(str(k)).mkdir()
        for name, html in changed.items():
            page = f"{HEAD}<body><main>{html}</main></body></html>"
            folder.joinpath(str(k), f"{name}.html").write_text(page, encoding="utf-8")
    with serve(folder) as address:
        yield address


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_piece(chrome, site, check):
    check(chrome, f"{site}/0")


@pytest.mark.parametrize("k", range(len(MUTANTS)), ids=MUTANTS)
def test_a_wrong_piece_is_refused(chrome, site, k):
    check, _ = list(MUTANTS.values())[k]
    with pytest.raises((AssertionError, Error)):
        check(chrome, f"{site}/{k + 1}")
