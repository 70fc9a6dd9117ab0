// One box of details for all charts.

const tooltip = html("div", { id: "tooltip", role: "tooltip", hidden: "" });

function showTooltip(x, y, title, lines) {
  tooltip.replaceChildren(html("strong", {}, title), ...lines.filter(Boolean).map((line) => html("span", {}, line)));
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  const left = x + 14 + box.width > window.innerWidth - 8 ? x - 14 - box.width : x + 14;
  const top = y + 14 + box.height > window.innerHeight - 8 ? y - 14 - box.height : y + 14;
  tooltip.style.transform = `translate(${Math.max(8, left)}px, ${Math.max(8, top)}px)`;
}

function hideTooltip() {
  tooltip.hidden = true;
}

window.addEventListener("scroll", hideTooltip, { passive: true });

function explain(element, title, lines) {
  const show = (event) => showTooltip(event.clientX, event.clientY, title, lines);
  element.addEventListener("pointermove", show);
  element.addEventListener("pointerdown", show);
  element.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") hideTooltip();
  });
}
