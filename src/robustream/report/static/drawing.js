// Elements and numbers: text goes in as text only, so that no name in the data can become markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function html(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function picture(width, height, label) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}

function textAt(x, y, content, anchor = "start", kind = null) {
  return svg("text", { x, y, "text-anchor": anchor, class: kind }, content);
}

function lineFrom(x1, y1, x2, y2, kind) {
  return svg("line", { x1, y1, x2, y2, class: kind });
}

function showNumber(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e7) return value.toExponential(2).replace("-", "−").replace("e−", "e−").replace("e+", "e");
  return Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 8 }).replace("-", "−");
}

function showCount(value) {
  return value.toLocaleString("en");
}

function showShare(value) {
  return `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)}%`;
}

// A chart is drawn for the width it has, and again when that changes.
function keepDrawn(place, draw) {
  let drawnWidth = 0;
  const redraw = () => {
    const width = Math.round(place.clientWidth);
    if (width > 0 && width !== drawnWidth) {
      drawnWidth = width;
      draw(width);
    }
  };
  new ResizeObserver(redraw).observe(place);
  redraw();
}
