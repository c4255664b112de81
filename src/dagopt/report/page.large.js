/* ---- large graphs: hide weak edges, show one column with its neighbours; only on pages that have these tools ---- */
const strongest = data.edges.map((_, k) => k)
  .sort((a, b) => (data.edges[b].worth ?? Infinity) - (data.edges[a].worth ?? Infinity));
const strongSlider = byId("strong");
function showStrongest(count) {
  const shown = new Set(strongest.slice(0, count));
  edges.forEach((edge, k) => edge.classList.toggle("weak", !shown.has(k)));
  for (const row of rows) row.classList.toggle("weak", !shown.has(Number(row.dataset.edge)));
  byId("strong-count").textContent = count === edges.length ? `all ${count} edges` : `${count} of ${edges.length} edges`;
}
if (strongSlider) {
  strongSlider.addEventListener("input", () => showStrongest(Number(strongSlider.value)));
  showStrongest(Number(strongSlider.value)); // a browser may remember the position of a slider
}

/* One column with those up to some steps away: ancestors above it, the others below, one row for each step. The nodes
   and edges move there, and later back. */
const HIGH = 28, ROW = 110, GAP = 26;
let places = data.nodes.map((node) => ({ x: node.x, y: node.y })); // where everything is: side by side, or folded
let paths = edges.map((edge) => [...edge.querySelectorAll("path")].map((path) => path.getAttribute("d")));
let whole = { width: data.width, height: data.height };
function putBack() {
  data.nodes.forEach((node, i) => Object.assign(node, places[i]));
  nodes.forEach((node, i) => {
    if (!Number.isNaN(places[i].x)) node.setAttribute("transform", `translate(${places[i].x.toFixed(1)},${places[i].y.toFixed(1)})`);
    node.classList.remove("away");
  });
  edges.forEach((edge, e) => {
    edge.classList.remove("away");
    edge.querySelectorAll("path").forEach((path, i) => path.setAttribute("d", paths[e][i]));
  });
  Object.assign(data, whole);
}
const wideOf = (k) => nodes[k].querySelector("rect").width.baseVal.value;
function inRows(members, top) { // several rows if one would be too wide; returns the next free height
  const most = 900;
  let line = [], x = 0, y = top;
  const end = () => { for (const node of line) node.x -= (x - GAP) / 2; line = []; x = 0; y += ROW; };
  for (const k of members) {
    if (x > 0 && x + wideOf(k) > most) { end(); y += HIGH + 8 - ROW; }
    data.nodes[k].x = x + wideOf(k) / 2;
    data.nodes[k].y = y;
    line.push(data.nodes[k]);
    x += wideOf(k) + GAP;
  }
  if (line.length) end();
  return y;
}
function redraw(e) {
  const tail = data.nodes[data.edges[e].tail], head = data.nodes[data.edges[e].head];
  const level = Math.abs(head.y - tail.y) < 1, falls = head.y >= tail.y ? 1 : -1;
  const x0 = tail.x, y0 = level ? tail.y - HIGH / 2 : tail.y + falls * HIGH / 2;
  const x1 = head.x, y1 = level ? head.y - HIGH / 2 : head.y - falls * HIGH / 2;
  const turn = level ? 1 : falls, end = y1 - 8 * turn; // an edge within a row is drawn above it
  const reach = level ? 46 : Math.max(Math.abs(y1 - y0) / 2, 20), first = level ? -reach : turn * reach;
  const line = `M${x0},${y0}C${x0},${y0 + first} ${x1},${end - turn * reach} ${x1},${end}`;
  const [near, drawn, rest, tip] = edges[e].querySelectorAll("path");
  near.setAttribute("d", line);
  drawn.setAttribute("d", line);
  rest.setAttribute("d", `M${x1},${end}V${y1}`);
  tip.setAttribute("d", `M${x1},${y1}l-5,${-8 * turn}h10z`);
}
function showAlone(k) {
  if (alone !== null) putBack();
  alone = k;
  graph.classList.toggle("alone", k !== null); // weak edges are shown there too
  const button = byId("alone");
  if (button) button.setAttribute("aria-pressed", String(k !== null));
  offerAlone();
  if (k === null) return;
  const steps = Number(byId("steps")?.value ?? 1), shown = new Set([k]), ups = [[k]], downs = [[k]];
  for (let step = 1; step <= steps; step++) {
    for (const [rows, wanted] of [[ups, "head"], [downs, "tail"]]) {
      const next = [];
      for (const i of rows.at(-1)) for (const e of around[i]) {
        const other = otherEnd(e, i);
        if (data.edges[e][wanted] === i && !shown.has(other)) { shown.add(other); next.push(other); }
      }
      rows.push(next);
    }
  }
  let y = HIGH / 2;
  for (const row of ups.slice(1).reverse()) y = inRows(row, y);
  for (const row of downs) y = inRows(row, y);
  const left = Math.min(...[...shown].map((i) => data.nodes[i].x - wideOf(i) / 2));
  for (const i of shown) data.nodes[i].x -= left;
  nodes.forEach((node, i) => {
    node.classList.toggle("away", !shown.has(i));
    if (shown.has(i)) node.setAttribute("transform", `translate(${data.nodes[i].x},${data.nodes[i].y})`);
  });
  edges.forEach((edge, e) => {
    const both = shown.has(data.edges[e].tail) && shown.has(data.edges[e].head);
    edge.classList.toggle("away", !both);
    if (both) redraw(e);
  });
  data.width = Math.max(...[...shown].map((i) => data.nodes[i].x + wideOf(i) / 2));
  data.height = Math.max(...[...shown].map((i) => data.nodes[i].y)) + HIGH / 2;
}
function offerAlone() { // the button needs a selected column, or one that is shown alone
  const button = byId("alone");
  if (!button) return;
  button.disabled = alone === null && (chosen === null || chosen.node === undefined);
  button.title = button.disabled ? "Select a column first" : "";
}
function toggleAlone() {
  const k = alone === null ? chosen.node : null, before = alone;
  showAlone(k);
  if (k === null) bringIntoView(before, true);
  else fit();
}
if (byId("alone")) {
  byId("alone").addEventListener("click", toggleAlone);
  byId("steps").addEventListener("change", () => { if (alone !== null) { showAlone(alone); fit(); } });
}

/* Leaves, the columns with one edge, are folded into their neighbour, which says how many they are. */
const degree = around.map((own) => own.length);
function fold(folded) {
  const away = new Map();
  data.names.forEach((_, k) => {
    if (degree[k] !== 1) return;
    const other = otherEnd(around[k][0], k);
    if (degree[other] === 1) return; // a pair of its own
    nodes[k].classList.toggle("folded", folded);
    edges[around[k][0]].classList.toggle("folded", folded);
    away.set(other, (away.get(other) ?? 0) + 1);
  });
  for (const [k, count] of away) {
    nodes[k].querySelector(".more")?.remove();
    if (!folded) continue;
    const more = shape("text", { class: "more", x: wideOf(k) / 2 + 3, y: -6 }, `+${count}`);
    nodes[k].append(more);
  }
  byId("fold").setAttribute("aria-pressed", String(folded));
}
if (byId("fold")) byId("fold").addEventListener("click", () => fold(byId("fold").getAttribute("aria-pressed") !== "true"));

/* From far away names cannot be read. There the columns with the most edges are drawn larger, as landmarks, where they
   do not cover each other. */
const FAR = 0.45, READABLE = 0.8; // scales
const byDegree = data.names.map((_, k) => k).filter((k) => degree[k] > 2).sort((a, b) => degree[b] - degree[a]);
let landmarksAt = 1; // the scale that they were chosen for
const enlarge = (k) => nodes[k].style.setProperty("--grow", (READABLE / landmarksAt).toFixed(3));
function nameLandmarks() {
  const far = byId("alone") && alone === null && at.k < FAR ? at.k : 1;
  if (far === landmarksAt) return;
  landmarksAt = far;
  for (const node of graph.querySelectorAll(".landmark")) node.classList.remove("landmark");
  graph.classList.toggle("far", far < 1);
  if (far === 1) return;
  if (chosen !== null && chosen.node !== undefined) enlarge(chosen.node);
  const taken = [];
  for (const k of byDegree.slice(0, 40)) {
    const wide = wideOf(k) * READABLE / far + 6 / far, high = HIGH * READABLE / far + 6 / far;
    const { x, y } = data.nodes[k];
    if (Number.isNaN(x)) continue; // its present stands for it
    if (taken.some((one) => Math.abs(one.x - x) < (one.wide + wide) / 2 && Math.abs(one.y - y) < high)) continue;
    taken.push({ x, y, wide });
    nodes[k].classList.add("landmark");
    enlarge(k);
    nodes[k].parentElement.append(nodes[k]); // above the others
    if (taken.length === 12) return;
  }
}

/* The columns with the most edges, to begin with. */
function showHubs() {
  if (!byId("alone")) return;
  const hubs = byDegree.slice(0, 8);
  if (!hubs.length) return;
  panel.append(make("h3", "Columns with the most edges"));
  const list = make("ul");
  for (const k of hubs) {
    const item = make("li");
    item.append(nameButton(k), make("span", String(degree[k]), "number"));
    list.append(item);
  }
  panel.append(list);
}
showHubs();

/* A column that was searched for: its neighbours come into view with it, and move closer if they are too far apart. */
function bringTogether(k) {
  if (alone !== null) { showAlone(k); fit(); return; }
  const box = size(), near = [k, ...around[k].map((e) => otherEnd(e, k))];
  const xs = near.map((i) => data.nodes[i].x), ys = near.map((i) => data.nodes[i].y), edge = 90;
  const x0 = Math.min(...xs) - edge, x1 = Math.max(...xs) + edge, y0 = Math.min(...ys) - edge, y1 = Math.max(...ys) + edge;
  const scale = Math.min(box.width / (x1 - x0), box.height / (y1 - y0), 1.2);
  if (scale < 0.45 && byId("alone")) { showAlone(k); fit(); return; }
  at.k = Math.max(scale, 0.3);
  at.x = box.width / 2 - at.k * (scale < 0.3 ? data.nodes[k].x : (x0 + x1) / 2);
  at.y = box.height / 2 - at.k * (scale < 0.3 ? data.nodes[k].y : (y0 + y1) / 2);
  place();
}
Object.assign(window.dagoptReport, { showStrongest, showAlone, nodesNow: data.nodes });
