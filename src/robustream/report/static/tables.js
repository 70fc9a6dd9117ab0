// Tables: sorting by a click on a header, and a search box.

function cellKey(row, place, kind) {
  const cell = row.cells[place];
  const value = cell.dataset.value ?? (kind === "text" ? cell.textContent : "");
  if (kind === "text") return value;
  if (value === "") return null;
  const number = value === "inf" ? Infinity : value === "-inf" ? -Infinity : Number(value);
  return kind === "size" ? Math.abs(number) : number;
}

const words = new Intl.Collator("en", { numeric: true });

function compareKeys(first, second, direction) {
  if (first === null || second === null) return (first === null) - (second === null); // unknown goes last either way
  return direction * (typeof first === "string" ? words.compare(first, second) : Math.sign(first - second) || 0);
}

function sortTable(table, header, direction) {
  const place = header.cellIndex;
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => [cellKey(row, place, header.dataset.sort), row]);
  keyed.sort(([first], [second]) => compareKeys(first, second, direction));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
  body.append(...keyed.map(([, row]) => row));
}

function makeSortable(table) {
  for (const header of table.tHead.rows[0].cells) {
    const button = html("button", { type: "button" }, ...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      const current = header.getAttribute("aria-sort");
      const first = header.dataset.sort === "text" ? 1 : -1;
      const direction = current === null ? first : current === "ascending" ? -1 : 1;
      sortTable(table, header, direction);
    });
  }
}

function makeSearchable(table) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 8) return;
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const input = html("input", { type: "search", placeholder: table.dataset.search, "aria-label": table.dataset.search });
  const count = html("output", {});
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    let found = 0;
    rows.forEach((row, place) => {
      row.hidden = !texts[place].includes(wanted);
      found += row.hidden ? 0 : 1;
    });
    count.textContent = wanted === "" ? "" : `${showCount(found)} of ${showCount(rows.length)}`;
  });
  table.parentElement.before(html("div", { class: "search" }, input, count));
}
