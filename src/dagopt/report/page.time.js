/* ---- dynamic networks: past and present side by side, or one node per series; only on pages that have the button ---- */
const timeButton = byId("fold-time");
const unfolded = { places, paths, whole };
function foldTime(on) {
  if (alone !== null) showAlone(null);
  timeFolded = on;
  if (on) {
    const { series, width, height } = data.folded;
    places = data.names.map((_, k) => {
      const [x, y] = k < series ? data.folded.places[k] : [NaN, NaN];
      return { x, y };
    });
    paths = data.folded.paths.map(([line, rest, head]) => [line, line, rest, head]);
    whole = { width, height };
  } else ({ places, paths, whole } = unfolded);
  putBack();
  graph.classList.toggle("in-one", on);
  document.body.classList.toggle("time-folded", on);
  timeButton.setAttribute("aria-pressed", String(on));
  timeButton.textContent = on ? "Past and present" : "One node per series";
  graph.parentElement.style.setProperty("--tall", `${(1.5 * data.height + 72).toFixed(0)}px`);
  choose(chosen === null || chosen.node === undefined ? chosen : { node: standsFor(chosen.node) });
  byId("said").textContent = on ? "One node per series; numbers on edges are lags" : "Past and present side by side";
  fit();
}
function foldedDot() {
  const quote = (name) => '"' + name.replaceAll("\\", "\\\\").replaceAll('"', '\\"') + '"', { series } = data.folded;
  const line = ({ tail, head }, k) => `  ${quote(data.names[tail % series])} -> ${quote(data.names[head])} ` +
    `[label="${Math.floor(tail / series)}"${isUndirected(k) ? ", dir=none" : ""}];`;
  return ["digraph {", ...data.names.slice(0, series).map((name) => `  ${quote(name)};`), ...data.edges.map(line), "}", ""].join("\n");
}
if (timeButton) timeButton.addEventListener("click", () => foldTime(!timeFolded));
