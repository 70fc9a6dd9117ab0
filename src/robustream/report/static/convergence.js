// The relative error of the estimate by batches seen, on a log scale.

function drawConvergence(place, data, tolerance) {
  const height = 240;
  const margin = { top: 12, right: 14, bottom: 38, left: 56 };
  const moments = data.batches.map((batches, number) => ({ batches, error: data.error[number], rows: data.rows[number] }))
    .filter((moment) => moment.error !== null && moment.error > 0);
  if (moments.length === 0) return;

  keepDrawn(place, (width) => {
    const errors = moments.map((moment) => moment.error);
    const [low, high] = logRange(tolerance === null ? errors : [...errors, tolerance]);
    const label = `Convergence: relative error ${showNumber(errors[0])} at first, ${showNumber(errors.at(-1))} at last`;
    const image = picture(width, height, label);
    const x = linearScale(0, moments.at(-1).batches, margin.left, width - margin.right);
    const y = logScale(low, high, height - margin.bottom, margin.top);
    for (const tick of logTicks(low, high, 5)) {
      image.append(lineFrom(margin.left, y(tick), width - margin.right, y(tick), "gridline"));
      image.append(textAt(margin.left - 8, y(tick) + 4, showNumber(tick), "end"));
    }
    for (const tick of linearTicks(0, moments.at(-1).batches, Math.max(2, width / 120))) {
      if (Number.isInteger(tick)) image.append(textAt(x(tick), height - margin.bottom + 18, showCount(tick), "middle"));
    }
    image.append(lineFrom(margin.left, height - margin.bottom, width - margin.right, height - margin.bottom, "baseline"));
    if (tolerance !== null) {
      image.append(lineFrom(margin.left, y(tolerance), width - margin.right, y(tolerance), "reference"));
      image.append(textAt(width - margin.right, y(tolerance) - 6, `tolerance ${showNumber(tolerance)}`, "end"));
    }
    image.append(svg("polyline", { class: "line", points: moments.map((m) => `${x(m.batches)},${y(m.error)}`).join(" ") }));
    moments.forEach((moment, number) => {
      if (moments.length <= 80) image.append(svg("circle", { class: "point", cx: x(moment.batches), cy: y(moment.error), r: 3 }));
      const from = number === 0 ? margin.left : (x(moments[number - 1].batches) + x(moment.batches)) / 2;
      const to = number === moments.length - 1 ? width - margin.right : (x(moment.batches) + x(moments[number + 1].batches)) / 2;
      const area = svg("rect", { class: "hover", x: from, y: margin.top, width: Math.max(0, to - from), height: height - margin.top - margin.bottom });
      area.style.mixBlendMode = "multiply";
      explain(area, `${showCount(moment.batches)} batches`, [`relative error ${showNumber(moment.error)}`, `${showCount(moment.rows)} rows`]);
      image.append(area);
    });
    image.append(textAt(width - margin.right, height - 2, "batches seen", "end"));
    place.replaceChildren(image);
  });
}
