/* ---- the keyboard ---- */
function rove(k) { nodes.forEach((node, i) => node.setAttribute("tabindex", i === k ? "0" : "-1")); }
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
function nearest(k, [dx, dy]) {
  let best = null, least = Infinity;
  data.nodes.forEach((node, i) => {
    const ahead = (node.x - data.nodes[k].x) * dx + (node.y - data.nodes[k].y) * dy;
    const aside = Math.abs((node.x - data.nodes[k].x) * dy) + Math.abs((node.y - data.nodes[k].y) * dx);
    if (i !== k && ahead > 1 && ahead + 2.5 * aside < least) { best = i; least = ahead + 2.5 * aside; }
  });
  return best;
}
graph.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const here = under(event), arrow = ARROWS[event.key];
  if (arrow && here && here.node !== undefined) {
    const next = nearest(here.node, arrow);
    if (next !== null) { rove(next); nodes[next].focus({ preventScroll: true }); bringIntoView(next, false); }
  } else if (arrow) pan(-60 * arrow[0], -60 * arrow[1]);
  else if (event.key === "+" || event.key === "=") zoom(1.25);
  else if (event.key === "-") zoom(1 / 1.25);
  else if (event.key === "0") fit();
  else if (event.key === "Escape") choose(null);
  else if ((event.key === "Enter" || event.key === " ") && here) choose(here);
  else return;
  event.preventDefault();
});

/* ---- the switch ---- */
for (const input of document.querySelectorAll("input[name=mode]")) {
  input.addEventListener("change", () => {
    essential = input.value === "essential";
    graph.classList.toggle("essential", essential);
    choose(chosen);
  });
}

/* ---- light and dark: the style rule for readers who prefer dark is switched on or off for the screen ---- */
const dark = [...document.styleSheets[0].cssRules].find((rule) => rule.media && rule.media.mediaText.includes("dark"));
const theme = byId("theme");
let isDark = matchMedia("(prefers-color-scheme: dark)").matches;
const nameTheme = () => { theme.textContent = isDark ? "Light" : "Dark"; };
theme.addEventListener("click", () => {
  isDark = !isDark;
  dark.media.mediaText = isDark ? "screen" : "not all";
  document.documentElement.style.colorScheme = isDark ? "dark" : "light";
  nameTheme();
});
nameTheme();

/* ---- search ---- */
const search = byId("search");
let matches = [], turn = -1;
data.names.forEach((name) => { const option = make("option"); option.value = name; byId("names").append(option); });
search.addEventListener("input", () => {
  const wanted = search.value.trim().toLowerCase();
  matches = wanted ? data.names.flatMap((name, k) => name.toLowerCase().includes(wanted) ? [k] : []) : [];
  const same = matches.find((k) => data.names[k].toLowerCase() === wanted);
  if (same !== undefined) matches = [same, ...matches.filter((k) => k !== same)];
  turn = -1;
  nodes.forEach((node, k) => node.classList.toggle("match", matches.includes(k)));
});
search.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !matches.length) return;
  turn = (turn + 1) % matches.length;
  choose({ node: matches[turn] });
  bringTogether(matches[turn]);
});

/* ---- the table of edges ---- */
const body = document.querySelector("#edge-table tbody");
const rows = body ? [...body.rows] : [];
const natural = new Intl.Collator("en", { numeric: true });
document.querySelectorAll("#edge-table th button").forEach((button) => {
  button.addEventListener("click", () => {
    const head = button.closest("th"), column = head.cellIndex;
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentElement.cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
    const numbers = head.classList.contains("figure");
    const value = (row) => key(row) === "" ? -Infinity : Number(key(row));
    const sign = up ? 1 : -1;
    rows.sort((a, b) => sign * (numbers ? Math.sign(value(a) - value(b)) || 0 : natural.compare(key(a), key(b))));
    body.append(...rows);
  });
});
const filter = byId("filter");
if (filter) filter.addEventListener("input", () => {
  const wanted = filter.value.trim().toLowerCase();
  let left = 0;
  for (const row of rows) {
    row.hidden = !row.textContent.toLowerCase().includes(wanted);
    left += !row.hidden;
  }
  byId("count").textContent = `${left} of ${rows.length} shown`;
});
if (body) body.addEventListener("click", (event) => {
  const button = event.target.closest("button.name"), row = event.target.closest("tr");
  if (!row) return;
  const edge = data.edges[row.dataset.edge];
  choose(button ? { node: Number(button.dataset.node) } : { edge: Number(row.dataset.edge) });
  bringIntoView(button ? Number(button.dataset.node) : edge.tail, false);
  if (button) graph.scrollIntoView({ block: "nearest", behavior: "smooth" });
});

/* ---- downloads ---- */
function dot() {
  if (timeFolded && alone === null) return foldedDot();
  const quote = (name) => '"' + name.replaceAll("\\", "\\\\").replaceAll('"', '\\"') + '"';
  const line = (k) => `  ${quote(data.names[data.edges[k].tail])} -> ${quote(data.names[data.edges[k].head])}`;
  const all = data.edges.map((_, k) => k);
  return ["digraph {", ...data.names.map((name) => `  ${quote(name)};`),
    ...all.filter((k) => !isUndirected(k)).map((k) => `${line(k)};`),
    ...all.filter(isUndirected).map((k) => `${line(k)} [dir=none];`), "}", ""].join("\n");
}
const DRAWING = `svg{background:#fff}.node rect{fill:#eaf1f8;stroke:#7d93ab;stroke-width:1.2}
.node text{fill:#1a2430;font:13px system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.edge path{fill:none;stroke:#5a6877}.edge .head{fill:#5a6877;stroke:none}.lag circle{fill:#fff}
.lag text,.moment{fill:#44505d;font:12px system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}`;
function drawing() {
  const before = alone;
  if (before !== null) showAlone(null); // the picture is that of the whole graph
  const copy = graph.cloneNode(true), margin = 16;
  for (const extra of copy.querySelectorAll(".near, .more, " + (essential ? ".edge.undirected .head, .edge:not(.undirected) .rest" : ".rest") + ", .weak, .folded, " + (timeFolded ? ".past, .moment" : ".lag"))) extra.remove();
  for (const element of copy.querySelectorAll(".node, .edge")) {
    for (const name of ["tabindex", "role", "aria-pressed", "data-node", "data-edge"]) element.removeAttribute(name);
    element.setAttribute("class", element.classList.contains("node") ? "node" : "edge");
  }
  const wide = data.width + 2 * margin, high = data.height + 2 * margin;
  for (const name of ["class", "id", "tabindex", "style"]) copy.removeAttribute(name);
  copy.setAttribute("role", "img");
  copy.setAttribute("aria-label", document.title);
  copy.setAttribute("viewBox", `${-margin} ${-margin} ${wide} ${high}`);
  copy.setAttribute("width", wide);
  copy.setAttribute("height", high);
  copy.querySelector("#scene").removeAttribute("transform");
  const style = document.createElementNS(copy.namespaceURI, "style");
  style.textContent = DRAWING;
  copy.prepend(style);
  if (before !== null) showAlone(before);
  return { text: new XMLSerializer().serializeToString(copy), wide, high };
}
function save(blob, name) {
  const link = make("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 4000);
}
function png() {
  const { text, wide, high } = drawing();
  const scale = Math.min(3, 12000 / wide, 12000 / high, Math.sqrt(6e7 / (wide * high)));
  return new Promise((done, fail) => {
    const image = new Image();
    image.onload = () => {
      const canvas = make("canvas");
      canvas.width = Math.round(wide * scale);
      canvas.height = Math.round(high * scale);
      const pen = canvas.getContext("2d");
      pen.fillStyle = "#fff";
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => blob ? done(blob) : fail(new Error("the picture is too large")), "image/png");
    };
    image.onerror = () => fail(new Error("the picture could not be drawn"));
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  });
}
byId("save-dot").addEventListener("click", () => save(new Blob([dot()], { type: "text/vnd.graphviz" }), "graph.dot"));
byId("save-svg").addEventListener("click", () => save(new Blob([drawing().text], { type: "image/svg+xml" }), "graph.svg"));
byId("save-png").addEventListener("click", () =>
  png().then((blob) => save(blob, "graph.png"), (error) => { byId("caption").textContent = `No PNG: ${error.message}.`; }));
window.dagoptReport = { dot, drawing, png, at };

/* ---- begin ---- */
graph.removeAttribute("viewBox");
graph.parentElement.style.setProperty("--tall", `${(1.5 * data.height + 72).toFixed(0)}px`); // no higher than it needs
const tight = nodes.map((node) => ({ text: node.querySelector("text"), room: node.querySelector("rect").width.baseVal.value - 8 }))
  .filter(({ text, room }) => text.getComputedTextLength() > room); // all are measured before any is changed
for (const { text, room } of tight) { // text in a wider font than expected must stay in its box
  text.setAttribute("textLength", room);
  text.setAttribute("lengthAdjust", "spacingAndGlyphs");
}
fit();
let wide = size().width;
new ResizeObserver(() => { if (Math.abs(size().width - wide) > 1) { wide = size().width; fit(); } }).observe(graph);
