/* ---- the panel beside the graph: what is known about the selected column or edge ---- */
function make(tag, text, kind) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}
function shown(value) {
  const size = Math.abs(value);
  if (size > 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(2);
  return value.toLocaleString("en",
    size >= 1 || size === 0 ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { maximumSignificantDigits: 3 });
}
const plural = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
function nameButton(k) {
  const button = make("button", data.names[k], "name");
  button.type = "button";
  button.title = data.names[k];
  button.addEventListener("click", () => { choose({ node: k }); bringIntoView(k, false); });
  return button;
}
const largest = Math.max(...data.edges.map((edge) => edge.strength ?? 0), 0);
function strengthBar(value) {
  const bar = make("span", undefined, "bar");
  bar.style.width = `${(100 * Math.max(value, 0) / largest).toFixed(1)}%`;
  return bar;
}
function listOf(title, items) {
  const head = make("h3", title);
  panel.append(head);
  if (!items.length) { panel.append(make("p", "none", "hint")); return; }
  if (items.some(([, k]) => data.edges[k].strength !== null)) head.append(make("span", "score gained", "aside"));
  const list = make("ul");
  for (const [node, k] of items) {
    const item = make("li"), strength = data.edges[k].strength;
    item.append(nameButton(node));
    if (strength !== null) item.append(make("span", shown(strength), "number"), strengthBar(strength));
    list.append(item);
  }
  panel.append(list);
}
function figures(pairs) {
  if (!pairs.length) return;
  const list = make("dl");
  for (const [name, value] of pairs) list.append(make("dt", name), make("dd", shown(value), "number"));
  panel.append(list);
}
function tableOf(label, heads, rows) { // heads: [text or element, whether a figure]; cells: text or element
  const table = make("table"), head = table.createTHead().insertRow(), body = table.createTBody();
  for (const [content, figure] of heads) {
    const cell = make("th", undefined, figure ? "figure" : "");
    cell.scope = "col";
    cell.append(content);
    head.append(cell);
  }
  for (const cells of rows) {
    const row = body.insertRow();
    cells.forEach((content, c) => {
      const cell = make("td", undefined, heads[c][1] ? "figure" : "");
      cell.append(content);
      row.append(cell);
    });
  }
  const frame = make("div", undefined, "scroll");
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", label);
  frame.append(table);
  panel.append(frame);
}
const inDag = () => essential ? ", in the DAG" : "";
function equations(fit) {
  const p = (value) => value === null ? "–" : value < 0.001 ? "<0.001" : value.toFixed(3);
  const pair = (estimate, error) => { // both to two digits of the error
    if (!error) return [shown(estimate), "–"];
    const decimals = 1 - Math.floor(Math.log10(error));
    if (decimals > 6 || decimals < -2) return [shown(estimate), shown(error)];
    const places = Math.max(decimals, 0), format = { minimumFractionDigits: places, maximumFractionDigits: places };
    return [estimate.toLocaleString("en", format), error.toLocaleString("en", format)];
  };
  const named = (parent, level) => {
    if (parent === null) return "intercept";
    if (level === null) return nameButton(parent);
    const both = make("span");
    both.append(nameButton(parent), ` = ${level}`);
    return both;
  };
  for (const [own, terms] of fit.equations) {
    const title = own === null ? "Equation" : `Log odds of ${own} against ${fit.against}`;
    panel.append(make("h3", title + inDag()));
    tableOf(own === null ? "Coefficients" : title, [["Term", false], ["Estimate", true], ["Std. error", true], ["p", true]],
      terms.map(([parent, level, estimate, error, chance]) => [named(parent, level), ...pair(estimate, error), p(chance)]));
  }
  if (fit.equations.length + 1 < fit.allLevels)
    panel.append(make("p", `${fit.equations.length} of ${plural(fit.allLevels - 1, "level", "levels")} shown.`, "hint"));
  figures(fit.against === null ? [["noise variance", fit.variance], ["share explained, R²", fit.explained]]
    : [["share of the log-likelihood explained", fit.explained]]);
}
function probabilities(fit) {
  panel.append(make("h3", "Probabilities" + inDag()));
  const cell = (p, error) => {
    const both = make("span", p.toFixed(3));
    if (error !== null) both.append(make("small", "±" + error.toFixed(3)));
    return both;
  };
  tableOf("Probabilities", [...fit.given.map((i) => [nameButton(i), false]), ["Rows", true], ...fit.levels.map((l) => [l, true])],
    fit.rows.map(([labels, count, chances, errors]) =>
      [...labels, count.toLocaleString("en"), ...chances.map((p, k) => cell(p, errors[k]))]));
  const said = [];
  if (fit.rows.length < fit.configurations)
    said.push(`${fit.rows.length} of ${plural(fit.configurations, "row", "rows")} shown: those with the most data.`);
  if (fit.levels.length < fit.allLevels)
    said.push(`${fit.levels.length} of ${plural(fit.allLevels, "level", "levels")} shown: the most frequent ones.`);
  if (fit.unseen)
    said.push(`${plural(fit.unseen, "configuration", "configurations")} of the parents not seen in the data: uniform probabilities.`);
  if (said.length) panel.append(make("p", said.join(" "), "hint"));
}
function equationInWords(k, fit) { // what a unit, or a level, of each parent changes
  const said = [], rounded = (value) => Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
  for (const [own, terms] of fit.equations.slice(0, 1)) {
    for (const [parent, level, estimate] of terms) {
      if (parent === null) continue;
      const moves = own === null ? `${estimate < 0 ? "falls" : "rises"} by ${rounded(Math.abs(estimate))}`
        : `: the log odds of ${own} ${estimate < 0 ? "fall" : "rise"} by ${rounded(Math.abs(estimate))}`;
      const when = level === null ? `if ${data.names[parent]} rises by 1` : `if ${data.names[parent]} is ${level}`;
      said.push(`${data.names[k]}${own === null ? " " : ""}${moves} ${when}`);
    }
  }
  if (!said.length) return "It has no parents.";
  return said.join("; ") + (said.length > 1 ? "; each with the other parents fixed." : ".");
}
function tableInWords(k, fit) { // where the level that varies most is most and least probable
  const rows = fit.rows.filter(([, count]) => count >= data.fewest);
  if (!fit.given.length || rows.length < 2) return fit.given.length ? "" : "It has no parents.";
  const spread = (l) => Math.max(...rows.map((row) => row[2][l])) - Math.min(...rows.map((row) => row[2][l]));
  const level = fit.levels.map((_, l) => l).sort((a, b) => spread(b) - spread(a))[0];
  const by = [...rows].sort((a, b) => b[2][level] - a[2][level]);
  const where = (row) => row[0].map((value, i) => `${data.names[fit.given[i]]} = ${value}`).join(", ");
  return `${data.names[k]} = ${fit.levels[level]} is most probable (${by[0][2][level].toFixed(2)}) with ${where(by[0])}` +
    `, and least (${by.at(-1)[2][level].toFixed(2)}) with ${where(by.at(-1))}.`;
}
function warn(words) { if (words) panel.append(make("p", `Check failed: ${words}.`, "failed")); }
function showNode(k) {
  panel.append(make("h3", "Column"), make("strong", data.names[k]));
  if (data.nodes[k].picture.kind) showPicture(columnPicture(k));
  warn(data.nodes[k].failed);
  const of = (wanted) => sameSeries(k).flatMap((i) => around[i].filter((e) => side(e, i) === wanted).map((e) => [otherEnd(e, i), e]));
  const lists = [["Parents", of("up")], ["Children", of("down")]];
  if (essential) lists.push(["Undirected", of("side")]);
  for (const [title, items] of lists) listOf(title, items);
  const { fit, figures: known } = data.nodes[k];
  const words = fit.equations ? equationInWords(k, fit) : fit.rows ? tableInWords(k, fit) : "";
  if (words) panel.append(make("h3", "In words" + inDag()), make("p", words));
  if (fit.equations) equations(fit);
  if (fit.rows) probabilities(fit);
  const pairs = Object.entries(known);
  if (pairs.length) panel.append(make("h3", "Score" + inDag()));
  figures(pairs);
  return `${data.names[k]}: ` + lists.map(([title, items]) => `${title.toLowerCase()} ${items.length}`).join(", ");
}
function weightInWords(edge) {
  const size = edge.worth > 14 ? "more than a million" : Number(Math.exp(edge.worth).toPrecision(2)).toLocaleString("en");
  const word = `${edge.weight[0].toUpperCase()}${edge.weight.slice(1)} evidence`;
  const times = edge.worth > 0 ? `, so it is ${size} times less probable` : "";
  return edge.kept ? `${word}: without it, and with the other edges as they are, the graph loses ${shown(edge.worth)} points${times}.`
    : `${word}: the best graph found without it loses ${shown(edge.worth)} points${times}.`;
}
function leaningInWords(edge) {
  const reversed = edge.figures["lost if reversed"], without = edge.figures["lost if left out"];
  const loses = (what, points) => `Leaning: the best graph ${what} loses only ${shown(Math.max(points, 0))} points.`;
  if (without !== undefined && without < data.heavy[0]) return loses("without this edge", without);
  if (reversed !== undefined && reversed < data.heavy[0]) return loses("with this edge reversed", reversed);
  return "Leaning: a graph with this edge reversed loses only because it has more parameters.";
}
function showEdge(k) {
  const edge = data.edges[k];
  panel.append(make("h3", isUndirected(k) ? "Undirected edge" : "Edge"));
  const line = make("p");
  line.append(nameButton(edge.tail), isUndirected(k) ? " — " : " → ", nameButton(edge.head));
  panel.append(line, make("p", {
    open: "Open: graphs with either direction explain the data equally well.",
    leaning: leaningInWords(edge),
    directed: "Directed: the best graph with this edge reversed explains the data clearly worse.",
    unchecked: "The graphs equivalent to this one have it in this direction; how much a reversal loses was not checked.",
  }[edge.direction], "hint"));
  if (edge.weight !== null) panel.append(make("p", weightInWords(edge), `weight is-${edge.weight}`));
  warn(edge.failed);
  const draw = PICTURES[edge.picture.kind];
  if (draw) showPicture(draw(edge.picture, edge.tail, edge.head));
  const strength = edge.strength === null ? [] : [["score gained", edge.strength]];
  figures([...strength, ...Object.entries(edge.figures)]);
  if (strength.length) panel.append(make("p", "Score gained: what the score loses if only this edge is removed.", "hint"));
  return line.textContent;
}
