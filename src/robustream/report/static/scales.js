// From values to places on the page, and the values worth a line and a label.

function linearScale(low, high, from, to) {
  const span = high > low ? high - low : 1;
  const scale = (value) => from + ((value - low) / span) * (to - from);
  scale.invert = (place) => low + ((place - from) / (to - from)) * span;
  return scale;
}

function logScale(low, high, from, to) {
  const inner = linearScale(Math.log10(low), Math.log10(high), from, to);
  return (value) => inner(Math.log10(Math.min(Math.max(value, low), high)));
}

function linearTicks(low, high, about) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const found = [];
  for (let place = Math.ceil(low / step); place * step <= high + step * 1e-9; place += 1) {
    found.push(Number((place * step).toPrecision(12)));
  }
  return found;
}

function logTicks(low, high, about) {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const step = Math.max(1, Math.ceil((last - first) / about));
  const factors = last - first <= 3 ? [1, 2, 5] : [1];
  const found = [];
  for (let power = first; power <= last; power += step) {
    for (const factor of factors) {
      const value = Number(`${factor}e${power}`);
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  return found;
}

// The range of positive values with some room, at least a factor of ten, for a logarithmic axis.
function logRange(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value !== null && value > 0) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (!(high > 0)) return [0.1, 10];
  const widen = Math.max(1.25, Math.sqrt(10 / Math.min(10, high / low)));
  return [low / widen, high * widen];
}
