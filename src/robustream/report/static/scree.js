// The share of the variance along each component as columns, and their sum as a line.

function drawScree(place, data) {
  const { ratio, cumulative } = data;
  const height = 230;
  const margin = { top: 14, right: 12, bottom: 34, left: 44 };

  keepDrawn(place, (width) => {
    const label = `Scree plot: ${ratio.length} components explain ${showShare(cumulative.at(-1))} of the variance`;
    const image = picture(width, height, label);
    const top = Math.max(0.05, Math.min(1, cumulative.at(-1) * 1.08));
    const y = linearScale(0, top, height - margin.bottom, margin.top);
    const slot = (width - margin.left - margin.right) / ratio.length;
    const middle = (number) => margin.left + slot * (number + 0.5);

    for (const tick of linearTicks(0, top, 5)) {
      image.append(lineFrom(margin.left, y(tick), width - margin.right, y(tick), "gridline"));
      image.append(textAt(margin.left - 8, y(tick) + 4, `${Number((100 * tick).toPrecision(3))}%`, "end"));
    }
    const bar = Math.min(44, slot * 0.62);
    ratio.forEach((share, number) => {
      image.append(
        svg("rect", { class: "column", x: middle(number) - bar / 2, y: y(share), width: bar, height: y(0) - y(share) }),
      );
    });
    image.append(svg("polyline", { class: "line", points: cumulative.map((sum, k) => `${middle(k)},${y(sum)}`).join(" ") }));
    const every = Math.ceil(26 / slot);
    ratio.forEach((share, number) => {
      if (slot > 9) image.append(svg("circle", { class: "point", cx: middle(number), cy: y(cumulative[number]), r: 3.5 }));
      if (number % every === 0) image.append(textAt(middle(number), height - margin.bottom + 18, `${number + 1}`, "middle"));
      const area = svg("rect", { class: "hover", x: middle(number) - slot / 2, y: margin.top, width: slot, height: y(0) - margin.top });
      area.style.mixBlendMode = "multiply";
      explain(area, `Component ${number + 1}`, [`share ${showShare(share)}`, `up to here ${showShare(cumulative[number])}`]);
      image.append(area);
    });
    image.append(lineFrom(margin.left, y(0), width - margin.right, y(0), "baseline"));
    image.append(textAt(width - margin.right, height - 2, "columns: each component, line: all up to it", "end"));
    place.replaceChildren(image);
  });
}
