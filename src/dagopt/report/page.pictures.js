/* ---- pictures of the data: drawn from counts, means and quartiles, or from a sample of the rows ---- */
const PIC = { wide: 340, high: 230, left: 46, right: 10, top: 10, bottom: 34 };
function shape(tag, attributes, text) {
  const element = document.createElementNS(graph.namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
const brief = (value) => {
  const size = Math.abs(value);
  return size !== 0 && (size < 0.01 || size >= 1e5) ? value.toExponential(1) : String(Number(value.toPrecision(3)));
};
const cut = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;
function frame(title, x, y, high) { // a picture with its axes' names; returns it with the size of its inside
  const tall = high || PIC.high;
  const box = { x0: PIC.left, x1: PIC.wide - PIC.right, y0: tall - PIC.bottom, y1: PIC.top };
  const picture = shape("svg", { class: "picture", role: "img", viewBox: `0 0 ${PIC.wide} ${tall}`, "aria-label": title });
  picture.append(shape("rect", { class: "inside", x: box.x0, y: box.y1, width: box.x1 - box.x0, height: box.y0 - box.y1 }));
  picture.append(shape("text", { class: "name", x: (box.x0 + box.x1) / 2, y: tall - 4, "text-anchor": "middle" }, cut(x, 44)));
  const up = shape("text", { class: "name", "text-anchor": "middle", transform: `translate(11 ${(box.y0 + box.y1) / 2}) rotate(-90)` }, cut(y, 28));
  picture.append(up);
  return { picture, box };
}
function ticks(picture, box, [x0, x1], [y0, y1]) {
  const text = (x, y, anchor, value) => picture.append(shape("text", { class: "tick", x, y, "text-anchor": anchor }, brief(value)));
  if (x0 !== null) { text(box.x0, box.y0 + 14, "start", x0); text(box.x1, box.y0 + 14, "end", x1); }
  if (y0 !== null) { text(box.x0 - 4, box.y0, "end", y0); text(box.x0 - 4, box.y1 + 9, "end", y1); }
}
const stretch = (from, to, a, b) => (value) => a + (value - from) / (to - from) * (b - a);
const named = (k) => data.names[k] + (data.nodes[k].picture.transform ? ` (${data.nodes[k].picture.transform})` : "");

function scatterPicture(spec, tail, head) {
  const y = named(head) + (spec.partial ? ", other parents fixed" : "");
  const { picture, box } = frame(`${y} against ${named(tail)}: binned counts, fitted line and means`, named(tail), y);
  const px = stretch(...spec.x, box.x0, box.x1), py = stretch(...spec.y, box.y0, box.y1);
  const most = Math.max(...spec.counts, 1), w = (box.x1 - box.x0) / spec.bins, h = (box.y0 - box.y1) / spec.bins;
  const inside = (v, [a, b]) => Math.min(Math.max(v, a), b);
  if (data.sample && !spec.partial) {
    data.sample[tail].forEach((x, i) => {
      const y = data.sample[head][i];
      if (x !== null && y !== null)
        picture.append(shape("circle", { class: "row", r: 2, cx: px(inside(x, spec.x)).toFixed(1), cy: py(inside(y, spec.y)).toFixed(1) }));
    });
  } else {
    spec.counts.forEach((count, cell) => {
      if (!count) return;
      const i = Math.floor(cell / spec.bins), j = cell % spec.bins;
      picture.append(shape("rect", { class: "cell", x: (box.x0 + i * w).toFixed(1), y: (box.y0 - (j + 1) * h).toFixed(1),
        width: w.toFixed(1), height: h.toFixed(1), opacity: (0.12 + 0.88 * Math.sqrt(count / most)).toFixed(2) }));
    });
  }
  const smooth = spec.smooth.map(([x, y]) => `${px(inside(x, spec.x)).toFixed(1)},${py(inside(y, spec.y)).toFixed(1)}`);
  if (smooth.length > 1) picture.append(shape("polyline", { class: "smooth", points: smooth.join(" ") }));
  if (spec.line) {
    const ends = within(spec.x, spec.line, spec.y);
    picture.append(shape("line", { class: "fitted", x1: px(ends[0][0]).toFixed(1), y1: py(ends[0][1]).toFixed(1), x2: px(ends[1][0]).toFixed(1), y2: py(ends[1][1]).toFixed(1) }));
  }
  ticks(picture, box, spec.x, spec.y);
  const bent = bend(spec);
  return [picture, `Blue: ${spec.line ? "the fitted line. Orange: " : ""}means of ${data.names[head]} by ${data.names[tail]}.${bent}`];
}
function within([x0, x1], [y0, y1], [low, high]) { // the part of a line between two heights
  const at = (y) => x0 + (y - y0) / (y1 - y0) * (x1 - x0);
  const end = (x, y) => y < low ? [at(low), low] : y > high ? [at(high), high] : [x, y];
  return [end(x0, y0), end(x1, y1)];
}
function bend(spec) { // whether the means leave the line by more than their errors allow
  if (!spec.line || spec.smooth.length < 4) return "";
  const line = stretch(...spec.x, ...spec.line);
  const off = spec.smooth.filter(([x, y, error]) => error > 0 && Math.abs(y - line(x)) > 3.5 * error).length;
  return off > spec.smooth.length / 3 ? " They leave the line: the relation is not straight." : "";
}
function boxesPicture(spec, tail, head) {
  const high = Math.max(PIC.high, 44 + 26 * spec.rows.length);
  const { picture, box } = frame(`${named(head)} by level of ${named(tail)}: 10, 25, 50, 75 and 90 % points`, named(head), named(tail), high);
  const low = Math.min(...spec.rows.map((row) => row[2][0])), top = Math.max(...spec.rows.map((row) => row[2][4]));
  const x = stretch(low, top > low ? top : low + 1, box.x0 + 64, box.x1 - 6), step = (box.y0 - box.y1) / spec.rows.length;
  spec.rows.forEach(([level, rows, [a, b, c, d, e]], k) => {
    const y = box.y1 + (k + 0.5) * step, tall = Math.min(step * 0.6, 22);
    picture.append(shape("text", { class: "tick", x: box.x0 + 4, y: y + 4 }, cut(level, 9)));
    picture.append(shape("line", { class: "whisker", x1: x(a), x2: x(e), y1: y, y2: y }));
    const part = shape("rect", { class: "box", x: x(b), width: Math.max(x(d) - x(b), 1), y: y - tall / 2, height: tall });
    part.append(shape("title", {}, `${level}: ${rows.toLocaleString("en")} rows, median ${brief(c)}`));
    picture.append(part, shape("line", { class: "middle", x1: x(c), x2: x(c), y1: y - tall / 2, y2: y + tall / 2 }));
  });
  ticks(picture, { ...box, x0: box.x0 + 64 }, [low, top], [null, null]);
  return [picture, "Boxes: the middle half of the rows, with their median; lines reach from 10 % to 90 %."];
}
const HUES = 8; // classes hue-0 to hue-7
function legend(levels) {
  const list = make("p", undefined, "levels");
  levels.forEach((level, k) => { const item = make("span"); item.append(make("span", undefined, `swatch hue-${k % HUES}`), level); list.append(item, " "); });
  return list;
}
function sharesPicture(spec, tail, head) {
  const { picture, box } = frame(`Shares of the levels of ${named(head)} by ${named(tail)}`, named(tail), named(head));
  const w = (box.x1 - box.x0) / spec.rows.length;
  spec.rows.forEach(([, shares], i) => {
    let y = box.y0;
    shares.forEach((share, k) => {
      const tall = share * (box.y0 - box.y1);
      picture.append(shape("rect", { class: `hue-${k % HUES}`, x: box.x0 + i * w + 0.5, y: y - tall, width: w - 1, height: tall }));
      y -= tall;
    });
  });
  ticks(picture, box, [spec.rows[0][0], spec.rows.at(-1)[0]], [0, 1]);
  return [picture, `Each bar: as many rows as the others, ${data.names[tail]} increasing.`, legend(spec.levels)];
}
function mosaicPicture(spec, tail, head) {
  const { picture, box } = frame(`Shares of the levels of ${named(head)} for each level of ${named(tail)}`, named(tail), named(head));
  const up = spec.up.length, of = (i) => spec.counts.slice(i * up, (i + 1) * up);
  const sums = spec.across.map((_, i) => of(i).reduce((a, b) => a + b, 0)), total = sums.reduce((a, b) => a + b, 0) || 1;
  let x = box.x0;
  spec.across.forEach((level, i) => {
    const w = (box.x1 - box.x0) * sums[i] / total;
    let y = box.y0;
    of(i).forEach((count, k) => {
      if (!count) return;
      const tall = count / sums[i] * (box.y0 - box.y1);
      const part = shape("rect", { class: `hue-${k % HUES}`, x: x + 0.5, y: y - tall, width: Math.max(w - 1, 0.5), height: tall });
      part.append(shape("title", {}, `${level}, ${spec.up[k]}: ${count.toLocaleString("en")} rows`));
      picture.append(part);
      y -= tall;
    });
    if (w > 18) picture.append(shape("text", { class: "tick", x: x + w / 2, y: box.y0 + 14, "text-anchor": "middle" }, cut(level, Math.floor(w / 7))));
    x += w;
  });
  return [picture, "Width: how frequent a level is; height: the shares within it.", legend(spec.up)];
}
function columnPicture(k) {
  const spec = data.nodes[k].picture;
  if (spec.kind === "numbers") {
    const { picture, box } = frame(`Distribution of ${named(k)}`, named(k), "rows", 150);
    const most = Math.max(...spec.counts, 1), w = (box.x1 - box.x0) / spec.counts.length;
    spec.counts.forEach((count, i) => picture.append(shape("rect", { class: "hue-0", x: box.x0 + i * w + 0.5, width: w - 1,
      y: box.y0 - count / most * (box.y0 - box.y1), height: count / most * (box.y0 - box.y1) })));
    ticks(picture, box, spec.edges, [0, most]);
    return [picture, `Mean ${brief(spec.mean)}, standard deviation ${brief(spec.sd)}, middle half from ${brief(spec.quartiles[0])} to ${brief(spec.quartiles[2])}.`];
  }
  const high = 40 + 22 * spec.levels.length, total = spec.counts.reduce((a, b) => a + b, 0) || 1;
  const picture = shape("svg", { class: "picture", role: "img", viewBox: `0 0 ${PIC.wide} ${high - 34}`, "aria-label": `Shares of the levels of ${data.names[k]}` });
  const most = Math.max(...spec.counts, 1);
  spec.levels.forEach((level, i) => {
    const y = 4 + 22 * i;
    picture.append(shape("text", { class: "tick", x: 92, y: y + 13, "text-anchor": "end" }, cut(level, 14)),
      shape("rect", { class: "hue-0", x: 98, y, width: Math.max(spec.counts[i] / most * 180, 0), height: 17 }),
      shape("text", { class: "tick", x: 102 + spec.counts[i] / most * 180, y: y + 13 },
        spec.counts[i] ? `${(100 * spec.counts[i] / total).toFixed(1)} %` : `under ${data.fewest} rows`));
  });
  return [picture];
}
const PICTURES = { scatter: scatterPicture, boxes: boxesPicture, shares: sharesPicture, mosaic: mosaicPicture };
function showPicture(parts) {
  const [picture, words, key] = parts;
  panel.append(picture);
  if (key) panel.append(key);
  if (words) panel.append(make("p", words, "hint"));
}
