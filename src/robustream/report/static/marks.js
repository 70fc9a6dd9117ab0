// The shapes of the verdicts. All marks of one verdict are one path, so that tens of thousands are drawn at once.

const SHAPES = {
  kept: (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
  rejected: (x, y, r) => `M${x - r} ${y - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`,
  failed: (x, y, r) => `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
  late: (x, y, r) => `M${x} ${y - r * 1.3}l${r * 1.3} ${r * 1.3}l${-r * 1.3} ${r * 1.3}l${-r * 1.3} ${-r * 1.3}z`,
};

const SIGNS = { kept: "●", rejected: "✕", failed: "■", late: "◆" };

// Where marks abound, those that fall on the same pixel are drawn once; the pointer still finds each.
function marksPath(verdict, marks, radius) {
  const shape = SHAPES[verdict];
  const fineness = marks.length > 2000 ? 1 : 10;
  const places = new Map();
  for (const mark of marks) {
    const [x, y] = [Math.round(mark.x * fineness), Math.round(mark.y * fineness)];
    places.set(x * 65536 + y, [x / fineness, y / fineness]);
  }
  const pieces = [...places.values()].map(([x, y]) => shape(x, y, radius));
  return svg("path", { class: `mark ${verdict}`, d: pieces.join("") });
}

function markAt(marks, x, y, reach) {
  let best = null;
  let nearest = reach * reach;
  for (const mark of marks) {
    const apart = (mark.x - x) ** 2 + (mark.y - y) ** 2;
    if (apart <= nearest) {
      nearest = apart;
      best = mark;
    }
  }
  return best;
}
