// A formula, a table or an output that is wider than the page scrolls sideways; only then is it a stop for the Tab key.
(() => {
  const wide = "div.math, .output_area, .cell_output .output, .text_html, .course-map, .figure-box, .pst-scrollable-table-container";
  const kind = (box) => box.matches(".math") ? "formula" : box.matches(".pst-scrollable-table-container") ? "table"
    : box.matches(".figure-box") ? "figure" : "output";
  const mark = (within = document) => within.querySelectorAll(wide).forEach((box) => {
    if (box !== document.activeElement && box.getAttribute("role") === "group") box.removeAttribute("tabindex");  // it adds a margin
    if (box.scrollWidth > box.clientWidth + 1) {
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", `wide ${kind(box)}, scrolls sideways`);
    } else if (box.getAttribute("role") === "group") {
      ["tabindex", "role", "aria-label"].forEach((name) => box.removeAttribute(name));
    }
  });
  // How far one has read, where the scroll cannot draw it by itself: see reading.css.
  if (!CSS.supports("animation-timeline: scroll()") || matchMedia("(prefers-reduced-motion: reduce)").matches) {
    const line = document.body.appendChild(document.createElement("div")), root = document.documentElement;
    const read = () => {
      line.style.transform = `scaleX(${root.scrollTop / Math.max(root.scrollHeight - root.clientHeight, 1)})`;
    };
    line.className = "course-read";
    ["scroll", "resize", "load"].forEach((name) => window.addEventListener(name, read, {passive: true}));
    read();
  }
  window.addEventListener("load", () => {
    document.querySelectorAll(".bd-sidebar summary").forEach((arrow) => {  // the theme's arrows have no name
      arrow.setAttribute("aria-label", `Pages below ${arrow.closest("li").querySelector("a").textContent.trim()}`);
    });
    // the words on the button are its better name
    document.querySelectorAll(".search-button-field").forEach((b) => b.removeAttribute("aria-label"));
    mark();
    window.addEventListener("resize", () => mark());
    document.addEventListener("formulas-fit", () => mark());
    document.addEventListener("toggle", ({target}) => mark(target), true);  // a dropdown has opened: what is in it
  });
})();
