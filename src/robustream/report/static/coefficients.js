// Coefficients as dots with their intervals; a filled dot's interval does not hold zero.

const MOST_DOTS = 30;

function drawCoefficients(place, data) {
  const known = data.stderr.some((error) => error !== null);
  const chosen = { target: 0, measure: "coef", all: false };
  const chart = html("div", { class: "chart" });
  let draw = () => {};

  const controls = html("div", { class: "controls" });
  if (data.targets.length > 1) {
    const select = html("select", { "aria-label": "Output" });
    data.targets.forEach((name, number) => select.append(html("option", { value: number }, name)));
    select.addEventListener("change", () => {
      chosen.target = Number(select.value);
      draw();
    });
    controls.append(select);
  }
  const choose = (text, apply, pressed) => {
    const button = html("button", { type: "button", class: "choice", "aria-pressed": pressed }, text);
    button.addEventListener("click", () => apply(button));
    controls.append(button);
    return button;
  };
  if (known) {
    const pick = (measure) => () => {
      chosen.measure = measure;
      units.setAttribute("aria-pressed", measure === "coef");
      errors.setAttribute("aria-pressed", measure === "t");
      draw();
    };
    const units = choose("In its own units", pick("coef"), "true");
    const errors = choose("In standard errors", pick("t"), "false");
  }
  const counted = data.targets.map((_, number) => data.target.filter((target) => target === number).length);
  if (Math.max(...counted) > MOST_DOTS) {
    choose("Show all", (button) => {
      chosen.all = !chosen.all;
      button.setAttribute("aria-pressed", chosen.all);
      draw();
    }, "false");
  }

  place.replaceChildren(controls, chart);
  keepDrawn(place, (width) => {
    draw = () => chart.replaceChildren(dotPlot(width, dotsOf(data, chosen), chosen.measure));
    draw();
  });
}

function dotsOf(data, chosen) {
  const dots = [];
  data.target.forEach((target, number) => {
    if (target !== chosen.target || data.coef[number] === null) return;
    const error = data.stderr[number];
    const unit = chosen.measure === "t" ? error : 1;
    if (unit === null) return;
    const part = (value) => (value === null ? null : value / unit);
    const [coef, low, high] = [data.coef[number], data.low[number], data.high[number]];
    const lines = [
      `coefficient ${showNumber(coef)}`,
      error === null ? null : `95% interval ${showNumber(low)} to ${showNumber(high)}`,
      error === null ? null : `standard error ${showNumber(error)}`,
    ];
    dots.push({ name: data.name[number], value: part(coef), low: part(low), high: part(high), lines });
  });
  const shown = chosen.all ? dots : dots.slice(0, MOST_DOTS);
  return shown.sort((first, second) => second.value - first.value);
}

function dotPlot(width, dots, measure) {
  const row = 24;
  const labels = Math.min(Math.max(...dots.map((dot) => dot.name.length), 1) * 7.2 + 16, width * 0.36);
  const margin = { top: 8, right: 14, bottom: 38, left: labels };
  const height = margin.top + margin.bottom + row * dots.length;
  const image = picture(width, height, `Dot plot of ${dots.length} coefficients with 95% intervals`);
  const ends = dots.flatMap((dot) => [dot.value, dot.low ?? dot.value, dot.high ?? dot.value]);
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const room = (high - low || 1) * 0.04;
  const x = linearScale(low - room, high + room, margin.left, width - margin.right);

  for (const tick of linearTicks(low - room, high + room, Math.max(3, (width - labels) / 110))) {
    image.append(lineFrom(x(tick), margin.top, x(tick), height - margin.bottom, "gridline"));
    image.append(textAt(x(tick), height - margin.bottom + 18, showNumber(tick), "middle"));
  }
  image.append(lineFrom(x(0), margin.top, x(0), height - margin.bottom, "baseline"));
  dots.forEach((dot, number) => {
    const y = margin.top + row * (number + 0.5);
    const area = svg("rect", { class: "hover", x: 0, y: y - row / 2, width, height: row });
    explain(area, dot.name, dot.lines);
    const most = Math.max(3, Math.floor((labels - 12) / 7));
    const name = dot.name.length > most ? `${dot.name.slice(0, most - 1)}…` : dot.name;
    const sure = dot.low !== null && (dot.low > 0 || dot.high < 0);
    const bar = dot.low === null ? null : lineFrom(x(dot.low), y, x(dot.high), y, "interval");
    const mark = svg("circle", { class: sure || dot.low === null ? "dot" : "dot open", cx: x(dot.value), cy: y, r: 4 });
    for (const part of [bar, mark]) part?.setAttribute("pointer-events", "none");
    image.append(area, textAt(labels - 10, y + 4, name, "end", "strong"), ...[bar, mark].filter(Boolean));
  });
  const unit = measure === "t" ? "in standard errors" : "change of the output for one unit of the column";
  image.append(textAt(width - margin.right, height - 2, unit, "end"));
  return image;
}
