// Each batch in its order: how far its answer lies from that of the others. Drag to zoom, hover for details.

const LANE = 26;

function drawBatches(place, data) {
  if (data.index.length === 0) return;
  const whole = [data.index[0] - 0.5, data.index.at(-1) + 0.5];
  const present = data.verdicts.filter((_, code) => data.verdict.includes(code));
  const state = { range: whole, hidden: new Set(), marks: [], width: 0, scale: null, at: -1 };
  const image = html("div", { class: "chart zoomable", tabindex: "0", role: "group" });
  image.setAttribute("aria-label", "Batches over time. Arrow keys go from batch to batch, Escape shows all.");

  const draw = () => {
    const drawn = batchPicture(data, state);
    image.replaceChildren(drawn, state.over);
    reset.hidden = state.range === whole;
  };
  const zoom = (range) => {
    state.range = range;
    draw();
  };
  const reset = html("button", { type: "button", class: "reset choice" }, "Show all batches");
  reset.addEventListener("click", () => zoom(whole));
  const toggles = present.map((verdict) => {
    const button = html("button", { type: "button", "aria-pressed": "true" });
    button.append(html("span", { class: `badge ${verdict}` }, html("span", { class: "sign" }, SIGNS[verdict]), verdict));
    button.addEventListener("click", () => {
      if (!state.hidden.delete(verdict)) state.hidden.add(verdict);
      button.setAttribute("aria-pressed", !state.hidden.has(verdict));
      draw();
    });
    return button;
  });
  const hint = html("span", { class: "hint" }, "Drag across the chart to zoom.");
  place.replaceChildren(html("div", { class: "controls" }, ...toggles, reset, hint), image);

  watchPointer(image, data, state, zoom, whole);
  watchKeys(image, data, state, () => zoom(whole));
  keepDrawn(place, (width) => {
    state.width = width;
    draw();
  });
}

function batchPicture(data, state) {
  const { width, range } = state;
  const height = width < 500 ? 280 : 340;
  const inside = [];
  for (let place = 0; place < data.index.length; place += 1) {
    const verdict = data.verdicts[data.verdict[place]];
    if (data.index[place] >= range[0] && data.index[place] <= range[1] && !state.hidden.has(verdict)) {
      inside.push({ place, verdict, distance: data.distance[place] });
    }
  }
  const unmeasured = inside.some((mark) => mark.distance === null);
  const margin = { top: unmeasured ? LANE + 14 : 12, right: 12, bottom: 38, left: 48 };
  const [low, high] = logRange(inside.map((mark) => mark.distance));
  const x = linearScale(range[0], range[1], margin.left, width - margin.right);
  const y = logScale(low, high, height - margin.bottom, margin.top);

  for (const mark of inside) {
    mark.x = x(data.index[mark.place]);
    mark.y = mark.distance === null ? 4 + LANE / 2 : y(mark.distance);
  }
  const counts = data.verdicts.map((verdict) => `${inside.filter((mark) => mark.verdict === verdict).length} ${verdict}`);
  const drawn = picture(width, height, `Distance of ${inside.length} batches in the order of arrival: ${counts.join(", ")}`);
  if (unmeasured) {
    drawn.append(svg("rect", { class: "lane", x: margin.left, y: 4, width: width - margin.left - margin.right, height: LANE }));
    drawn.append(textAt(margin.left - 8, 4 + LANE / 2 + 4, "none", "end"));
  }
  for (const tick of logTicks(low, high, 6)) {
    drawn.append(lineFrom(margin.left, y(tick), width - margin.right, y(tick), tick === 1 ? "reference" : "gridline"));
    drawn.append(textAt(margin.left - 8, y(tick) + 4, showNumber(tick), "end"));
  }
  for (const tick of linearTicks(range[0], range[1], Math.max(2, width / 110))) {
    if (Number.isInteger(tick)) drawn.append(textAt(x(tick), height - margin.bottom + 18, showCount(tick), "middle"));
  }
  drawn.append(lineFrom(margin.left, height - margin.bottom, width - margin.right, height - margin.bottom, "baseline"));
  drawn.append(textAt(width - margin.right, height - 2, "number of the batch; distance on a log scale", "end"));
  const radius = inside.length > 1500 ? 2 : inside.length > 300 ? 3 : 4;
  for (const verdict of data.verdicts) {
    const marks = inside.filter((mark) => mark.verdict === verdict);
    if (marks.length > 0) drawn.append(marksPath(verdict, marks, radius));
  }
  // What moves with the pointer lies on a picture of its own: the marks are not painted again.
  state.halo = svg("circle", { class: "halo", r: radius + 4, visibility: "hidden" });
  state.brush = svg("rect", { class: "brush", y: 4, height: height - margin.bottom - 4, visibility: "hidden" });
  state.over = svg("svg", { class: "over", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, state.brush, state.halo);
  Object.assign(state, { marks: inside, scale: x, margin, at: -1 });
  return drawn;
}

function pointTo(image, data, state, mark) {
  if (mark === null) {
    state.halo.setAttribute("visibility", "hidden");
    hideTooltip();
    return;
  }
  fill(state.halo, { cx: mark.x, cy: mark.y, visibility: "visible" }, []);
  const box = image.getBoundingClientRect();
  const distance = mark.distance === null ? "no distance" : `distance ${showNumber(mark.distance)}`;
  showTooltip(box.left + mark.x, box.top + mark.y, data.label[mark.place], [
    `batch ${showCount(data.index[mark.place])}, ${showCount(data.rows[mark.place])} rows`,
    `${SIGNS[mark.verdict]} ${mark.verdict}, ${distance}`,
    data.reasons[data.reason[mark.place]],
  ]);
}

function watchPointer(image, data, state, zoom, whole) {
  let start = null;
  const placeOf = (event) => {
    const box = image.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const within = (x) => Math.min(Math.max(x, state.margin.left), state.width - state.margin.right);
  image.addEventListener("pointerdown", (event) => {
    start = within(placeOf(event)[0]);
    image.setPointerCapture(event.pointerId);
  });
  image.addEventListener("pointermove", (event) => {
    const [x, y] = placeOf(event);
    if (start !== null && Math.abs(x - start) > 4) {
      pointTo(image, data, state, null);
      const end = within(x);
      fill(state.brush, { x: Math.min(start, end), width: Math.abs(end - start), visibility: "visible" }, []);
    } else {
      pointTo(image, data, state, markAt(state.marks, x, y, 22));
    }
  });
  image.addEventListener("pointerup", (event) => {
    const [x, y] = placeOf(event);
    const end = within(x);
    const [low, high] = start === null ? [0, 0] : [Math.min(start, end), Math.max(start, end)];
    start = null;
    state.brush.setAttribute("visibility", "hidden");
    if (high - low > 8) zoom([state.scale.invert(low), state.scale.invert(high)]);
    else pointTo(image, data, state, markAt(state.marks, x, y, 22));
  });
  image.addEventListener("pointercancel", () => {
    start = null;
    state.brush.setAttribute("visibility", "hidden");
  });
  image.addEventListener("pointerleave", (event) => {
    // A finger leaves as it is lifted, which is when its reader begins to read.
    if (event.pointerType !== "touch") pointTo(image, data, state, null);
  });
  image.addEventListener("dblclick", () => zoom(whole));
}

function watchKeys(image, data, state, reset) {
  image.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step !== undefined && state.marks.length > 0) {
      state.at = (state.at + step + state.marks.length) % state.marks.length;
      pointTo(image, data, state, state.marks[state.at]);
      event.preventDefault();
    } else if (event.key === "Escape") {
      reset();
      hideTooltip();
    }
  });
  image.addEventListener("blur", () => pointTo(image, data, state, null));
}
