// On a narrow screen the rows of a wide table are set one below the other, with the head's words beside each cell.
(() => {
  const role = (table, selector, name, on) => table.querySelectorAll(selector).forEach((e) => {
    if (on) e.setAttribute("role", name);  // as blocks they would be no table to a screen reader
    else e.removeAttribute("role");
  });
  // a cell of many words in a column so narrow that they stand one below the other
  const ladder = (table) => [...table.querySelectorAll("th, td")].some((cell) =>
    cell.textContent.trim().split(/\s+/).length > 4 && cell.clientWidth < 9 * parseFloat(getComputedStyle(cell).fontSize));
  function stack(root = document) {
    const tables = [...root.querySelectorAll(".pst-scrollable-table-container > table.table")].filter((t) => t.tHead);
    const were = tables.filter((table) => table.classList.contains("stacked"));
    were.forEach((table) => table.classList.remove("stacked"));
    if (innerWidth >= 600 && !were.length) return;
    const wide = tables.filter((table) => innerWidth < 600 && table.parentElement.clientWidth > 0  // measured all at once
      && (table.parentElement.scrollWidth > table.parentElement.clientWidth + 1 || ladder(table)));
    for (const table of new Set([...were, ...wide])) {
      const on = wide.includes(table), heads = [...table.tHead.rows[0].cells].map((th) => th.textContent.trim());
      table.classList.toggle("stacked", on);
      if (on) table.setAttribute("role", "table");
      else table.removeAttribute("role");
      role(table, "thead, tbody", "rowgroup", on);
      role(table, "tr", "row", on);
      role(table, "th", "columnheader", on);
      role(table, "td", "cell", on);
      table.querySelectorAll("tbody tr").forEach((row) => [...row.cells].forEach((cell, k) => {
        cell.dataset.head = k ? heads[k] ?? "" : "";
      }));
    }
  }
  stack();  // before the page is seen
  window.addEventListener("load", () => stack());
  let timer;
  window.addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(stack, 100, document);
  });
  document.addEventListener("toggle", (event) => event.target.open && innerWidth < 600 && stack(event.target), true);
})();
