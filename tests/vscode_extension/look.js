// What a notebook shows: runs in the frame of its text and outputs, and tells tests/vscode.py.
() => {
    const shown = [...document.querySelectorAll(".preview")].filter((e) => e.shadowRoot).map((e) => e.shadowRoot);
    const all = (selector) => shown.flatMap((root) => [...root.querySelectorAll(selector)]);
    const words = shown.map((root) => {
        const copy = document.createElement("div");
        copy.append(...[...root.children].map((e) => e.cloneNode(true)));
        copy.querySelectorAll("style, .katex, .katex-error, pre, code").forEach((e) => e.remove());
        return copy.textContent;
    });
    const raw = /.{0,30}(\$|\\[a-z]{2,}|:::|\{[\w:-]+\}`|```|\*\*|<\/?\w+>|\]\().{0,30}/gi;
    const outputs = [...document.querySelectorAll(".output")];
    const start = (e) => e.textContent.slice(0, 60);
    return {
        text: shown.length, formulas: all(".katex").length, folds: all("details").length, outputs: outputs.length,
        pictures: outputs.filter((e) => e.querySelector("svg:not(.bh-box svg), img")).length,
        pieces: outputs.filter((e) => e.querySelector(".bh-box")).length,
        broken: all(".katex-error").map((e) => e.title || e.textContent), raw: words.join("\n").match(raw) ?? [],
        empty: outputs.filter((e) => !e.textContent.trim() && ![...e.querySelectorAll("svg, img")].some(
            (picture) => picture.tagName !== "IMG" || !picture.complete || picture.naturalWidth)).map((e) => e.id),
        untrue: outputs.filter((e) => e.matches(":has(.output-plaintext), .output-stream")).flatMap(
            (e) => [...e.querySelectorAll("a:not([href^=command])")].map((a) => `${a.textContent} in ${start(e)}`)),
        cut: outputs.filter((e) => e.querySelector("[href^='command:cellOutput']")).map(start),
        links: all("a[href]").map((e) => e.dataset.href || e.getAttribute("href")),
    };
}
