const data = JSON.parse(document.getElementById("payload").textContent);
const byId = (id) => document.getElementById(id);
const graph = byId("graph"), scene = byId("scene"), panel = byId("panel");
const nodes = [...graph.querySelectorAll(".node")], edges = [...graph.querySelectorAll(".edge")];
const around = data.names.map(() => []);
data.edges.forEach((edge, k) => { around[edge.tail].push(k); around[edge.head].push(k); });
let essential = !data.startsWithDag;
let chosen = null; // {node: k} or {edge: k}
let alone = null; // the column that is shown with its neighbours only

/* ---- moving and zooming: place = t + k * point ---- */
const at = { x: 0, y: 0, k: 1 };
let asked = false;
function place() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    scene.setAttribute("transform", `translate(${at.x.toFixed(2)} ${at.y.toFixed(2)}) scale(${at.k.toFixed(4)})`);
    nameLandmarks();
  });
}
const size = () => graph.getBoundingClientRect();
function fitted() {
  const box = size();
  return Math.min((box.width - 24) / data.width, (box.height - 24) / data.height, 1.5);
}
function fit() {
  const wide = graph.getBoundingClientRect().width - 24; // on a phone the canvas is as high as the drawing needs
  const needed = Math.min(Math.max(Math.min(wide / data.width, 1.5) * data.height + 24, 200), 0.66 * innerHeight);
  graph.style.setProperty("--needed", `${needed.toFixed(0)}px`);
  const box = size();
  at.k = Math.max(fitted(), 0.01);
  at.x = (box.width - at.k * data.width) / 2;
  at.y = (box.height - at.k * data.height) / 2;
  place();
}
function zoom(factor, x, y) {
  const box = size(), least = Math.min(fitted(), 1) * 0.6;
  const k = Math.min(Math.max(at.k * factor, least), 4);
  const px = x === undefined ? box.width / 2 : x - box.left, py = y === undefined ? box.height / 2 : y - box.top;
  at.x = px - (px - at.x) * k / at.k;
  at.y = py - (py - at.y) * k / at.k;
  at.k = k;
  place();
}
function pan(dx, dy) {
  const box = size(), keep = 60; // pixels of the drawing that stay in sight
  at.x = Math.min(Math.max(at.x + dx, keep - at.k * data.width), box.width - keep);
  at.y = Math.min(Math.max(at.y + dy, keep - at.k * data.height), box.height - keep);
  place();
}
function bringIntoView(k, centre) {
  const box = size(), node = data.nodes[standsFor(k)];
  const x = at.x + at.k * node.x, y = at.y + at.k * node.y, edge = 50;
  if (centre || x < edge || y < edge || x > box.width - edge || y > box.height - edge) {
    if (at.k < 0.7) at.k = 0.9;
    at.x = box.width / 2 - at.k * node.x;
    at.y = box.height / 2 - at.k * node.y;
    place();
  }
}
const fingers = new Map();
let moved = 0;
graph.addEventListener("pointerdown", (event) => {
  if (event.button > 0) return;
  fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  if (fingers.size === 1) moved = 0;
});
graph.addEventListener("pointermove", (event) => {
  const finger = fingers.get(event.pointerId);
  if (!finger) return;
  const dx = event.clientX - finger.x, dy = event.clientY - finger.y;
  moved += Math.abs(dx) + Math.abs(dy);
  if (moved < 5) return; // still a click
  if (!graph.hasPointerCapture(event.pointerId)) graph.setPointerCapture(event.pointerId);
  graph.classList.add("moving");
  if (fingers.size === 1) {
    pan(dx, dy);
  } else {
    const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
    const before = Math.hypot(finger.x - other.x, finger.y - other.y);
    const now = Math.hypot(event.clientX - other.x, event.clientY - other.y);
    if (before > 0) zoom(now / before, (event.clientX + other.x) / 2, (event.clientY + other.y) / 2);
    pan(dx / 2, dy / 2);
  }
  finger.x = event.clientX;
  finger.y = event.clientY;
});
const lift = (event) => { fingers.delete(event.pointerId); if (!fingers.size) graph.classList.remove("moving"); };
graph.addEventListener("pointerup", lift);
graph.addEventListener("pointercancel", lift);
graph.addEventListener("wheel", (event) => {
  event.preventDefault();
  const step = event.deltaY * (event.deltaMode === 1 ? 30 : 1) * (event.ctrlKey ? 4 : 1);
  zoom(Math.exp(-Math.max(-240, Math.min(240, step)) * 0.0018), event.clientX, event.clientY);
}, { passive: false });
byId("zoom-in").addEventListener("click", () => zoom(1.35));
byId("zoom-out").addEventListener("click", () => zoom(1 / 1.35));
byId("fit").addEventListener("click", fit);
/* On paper the whole drawing is shown, as wide as the page but not larger than life. */
addEventListener("beforeprint", () => {
  scene.removeAttribute("transform");
  graph.setAttribute("viewBox", `-16 -16 ${data.width + 32} ${data.height + 32}`);
  graph.style.maxWidth = `${1.1 * data.width}px`;
});
addEventListener("afterprint", () => {
  graph.removeAttribute("viewBox");
  graph.style.maxWidth = "";
  place();
});

/* ---- what is joined to what, in the graph that is shown ---- */
const isUndirected = (k) => essential && data.edges[k].undirected;
function side(k, node) { // how the other end of edge k is related to the node
  return isUndirected(k) ? "side" : data.edges[k].head === node ? "up" : "down";
}
/* If time is folded, the present of a series stands for its past. */
let timeFolded = false;
const standsFor = (k) => timeFolded && alone === null ? k % data.folded.series : k;
const sameSeries = (k) => !timeFolded || alone !== null ? [k]
  : data.names.flatMap((_, i) => i % data.folded.series === k % data.folded.series ? [i] : []);
const otherEnd = (k, node) => data.edges[k].tail === node ? data.edges[k].head : data.edges[k].tail;
function light(what) {
  for (const element of graph.querySelectorAll(".node, .edge")) element.classList.remove("pick", "up", "down", "side");
  graph.classList.toggle("lit", what !== null);
  if (what === null) return;
  if (what.node !== undefined) {
    const node = standsFor(what.node);
    nodes[node].classList.add("pick");
    enlarge(node);
    for (const i of sameSeries(node)) for (const k of around[i]) {
      edges[k].classList.add(side(k, i));
      nodes[standsFor(otherEnd(k, i))].classList.add(side(k, i));
    }
  } else {
    const edge = data.edges[what.edge];
    edges[what.edge].classList.add("pick");
    nodes[standsFor(edge.tail)].classList.add(isUndirected(what.edge) ? "side" : "up");
    nodes[standsFor(edge.head)].classList.add(isUndirected(what.edge) ? "side" : "down");
  }
}

/* ---- choosing ---- */
function choose(what) {
  chosen = what;
  light(what);
  nodes.forEach((node, k) => {
    const pressed = what !== null && what.node !== undefined && standsFor(what.node) === k;
    node.setAttribute("aria-pressed", String(pressed));
    if (pressed) rove(k);
  });
  for (const row of rows) {
    const edge = data.edges[row.dataset.edge];
    row.classList.toggle("chosen", what !== null &&
      (what.node === undefined ? what.edge === Number(row.dataset.edge)
        : [edge.tail, edge.head].some((k) => standsFor(k) === standsFor(what.node))));
  }
  panel.replaceChildren();
  panel.scrollTop = 0;
  if (what === null) { panel.append(make("p", hint, "hint")); showHubs(); }
  const said = what === null ? "" : what.node !== undefined ? showNode(what.node) : showEdge(what.edge);
  byId("said").textContent = said;
  offerAlone();
  if (parent !== window) { // in a frame: the page around it is told what is chosen
    const edge = what === null || what.edge === undefined ? null : data.edges[what.edge];
    parent.postMessage({ dagopt: what === null ? {} : edge === null ? { column: data.names[what.node] }
      : { from: data.names[edge.tail], to: data.names[edge.head], direction: edge.direction } }, "*");
  }
}
const hint = panel.textContent.trim();
const under = (event) => {
  const found = event.target.closest && event.target.closest(".node, .edge");
  return !found ? null : found.dataset.node !== undefined
    ? { node: Number(found.dataset.node) } : { edge: Number(found.dataset.edge) };
};
graph.addEventListener("click", (event) => { if (moved < 5) choose(under(event)); });
graph.addEventListener("pointerover", (event) => {
  if (event.pointerType === "mouse" && !fingers.size) light(under(event) || chosen);
});
graph.addEventListener("pointerleave", () => light(chosen));
