const byId = (id) => document.getElementById(id);
const graph = byId("probe");
const data = { names: [], nodes: [], edges: [], sample: null, fewest: 5 };
const panel = null; // only the report has one
function make(tag, text, kind) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}
function button(text, act, kind) {
  const element = make("button", text, kind);
  element.type = "button";
  element.addEventListener("click", act);
  return element;
}
/* {{pictures}} */
let state = { version: 0, table: { columns: [], findings: [] }, choices: {}, knowledge: { required: [], forbidden: [], tiers: [] }, runs: [], progress: null };
const number = (value) => value === null || value === undefined ? "–" : value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/* ---- speaking with the server ---- */
function complain(text) {
  document.body.dataset.trouble = text ? "yes" : "no";
  byId("trouble").hidden = !text;
  byId("trouble").textContent = text || "";
}
async function send(path, given) {
  try {
    const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(given || {}) });
    const said = await answer.json();
    if (!answer.ok) { complain(said.error || "The server refused this."); return null; }
    complain("");
    return said;
  } catch {
    complain("The server does not answer. Start dagopt open again; nothing is lost.");
    return null;
  }
}
async function listen() {
  for (;;) {
    try {
      const answer = await fetch(`state?after=${state.version}`);
      if (!answer.ok) throw new Error(String(answer.status));
      const next = await answer.json();
      if (gone) { gone = false; complain(""); }
      if (next.version !== state.version) { state = next; render(); }
    } catch {
      gone = true;
      complain("The server does not answer. Start dagopt open again; nothing is lost.");
      document.body.dataset.gone = "yes";
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
}
let gone = false;

/* ---- tabs ---- */
const tabs = [...document.querySelectorAll("[role=tab]")];
function openTab(tab, focus) {
  for (const one of tabs) {
    const chosen = one === tab;
    one.setAttribute("aria-selected", String(chosen));
    one.tabIndex = chosen ? 0 : -1;
    byId(one.getAttribute("aria-controls")).hidden = !chosen;
  }
  if (focus) tab.focus();
  if (tab.id === "tab-argue") showGraph();
  if (tab.id === "tab-ask") askAll();
}
tabs.forEach((tab, k) => {
  tab.addEventListener("click", () => openTab(tab));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) { openTab(tabs[(k + step + tabs.length) % tabs.length], true); event.preventDefault(); }
  });
});

/* ---- small parts ---- */
function fill(select, options, value) { // options: [value, text]
  const before = value === undefined ? select.value : String(value);
  if (!same([...select.options].map((o) => [o.value, o.text]), options.map(([v, t]) => [String(v), t]))) {
    select.replaceChildren(...options.map(([v, text]) => { const one = make("option", text); one.value = v; return one; }));
  }
  if (options.some(([v]) => String(v) === before)) select.value = before;
  else if (options.length && value === undefined) select.value = options[0][0];
}
const done = () => state.runs.filter((run) => run.status !== "running");
const runOf = (select) => done().find((run) => String(run.number) === byId(select).value);
const knowledgeInWords = (known) => ["required", "forbidden"].filter((k) => known[k].length).map((k) => `${known[k].length} ${k}`)
  .concat(known.tiers.length ? [`${known.tiers.length} tiers`] : []).join(", ") || "none";
const arrow = ([a, b]) => `${a} → ${b}`;

/* What another question costs: between base.score - new.bound and base.bound - new.score. */
function costInWords(run) {
  const base = state.runs.find((one) => one.number === run.base);
  if (!base || base.score === null || base.score === undefined || run.score === null || !same(base.choices.score, run.choices.score)) return "";
  const lost = base.score - run.score, tiny = 5e-5;
  const exact = base.status === "optimal" && run.status === "optimal";
  if (Math.abs(lost) < tiny) return exact ? "It costs nothing: another graph is exactly as good, and that is proven." : "It costs nothing that was found.";
  if (lost < 0) return `It is ${number(-lost)} points better than run ${base.number}.`;
  const times = lost > 14 ? "more than a million" : Number(Math.exp(lost).toPrecision(2)).toLocaleString("en");
  const said = `It costs ${number(lost)} points against run ${base.number}: the best graph is ${times} times less probable.`;
  if (exact) return `${said} Both graphs are proven to be the best, so the cost is exact.`;
  if (base.bound !== null && run.bound !== null)
    return `${said} Proven: it costs between ${number(Math.max(base.score - run.bound, 0))} and ${number(base.bound - run.score)}.`;
  return `${said} This is not proven.`;
}

/* ---- the table ---- */
const KINDS = ["auto", "continuous", "discrete", "ordinal", "count"], HOW = ["", "log", "root", "rank", "auto"];
let drawnTable = "";
function renderTable() {
  const { table, choices, knowledge } = state;
  const key = JSON.stringify([table, choices.exclude, choices.kind, choices.transform, choices.missing, knowledge.tiers]);
  if (key === drawnTable) return;
  drawnTable = key;
  const box = byId("findings");
  box.replaceChildren();
  if (table.error) box.append(make("p", table.error, "failed"));
  if (table.kind) box.append(make("p", `${table.n_samples.toLocaleString("en")} rows, ${table.n_columns} ${table.kind} columns. ` +
    (table.findings.length ? "" : "The doctor found nothing wrong.")));
  for (const finding of table.findings) {
    const one = make("div", undefined, `finding ${finding.severity === "error" ? "error" : ""}`);
    one.append(make("p", finding.message[0].toUpperCase() + finding.message.slice(1) + "."), make("p", `If nothing is done: ${finding.consequence}. Remedy: ${finding.remedy}.`, "then"));
    for (const remedy of finding.remedies) one.append(button(remedy.text, () => send("choices", merged(remedy.adds)), "remedy"));
    box.append(one);
  }
  const body = byId("columns").tBodies[0], names = table.columns.map((one) => one.name);
  const all = [...names, ...choices.exclude.filter((name) => !names.includes(name))];
  data.names = all;
  data.nodes = all.map((name) => ({ picture: (table.columns.find((one) => one.name === name) || {}).picture || {} }));
  body.replaceChildren(...all.map((name, k) => {
    const row = document.createElement("tr"), cell = (content) => { const td = make("td"); if (content) td.append(content); row.append(td); };
    const use = make("input");
    use.type = "checkbox";
    use.checked = !choices.exclude.includes(name);
    use.setAttribute("aria-label", `Use ${name}`);
    use.addEventListener("change", () => send("choices", { exclude: use.checked ? choices.exclude.filter((one) => one !== name) : [...choices.exclude, name] }));
    cell(use);
    cell(make("span", name));
    cell(data.nodes[k].picture.kind ? columnPicture(k)[0] : null);
    const chosen = (which, values, texts) => {
      const select = make("select");
      select.setAttribute("aria-label", `${which === "kind" ? "Kind" : "Transformation"} of ${name}`);
      fill(select, values.map((value, i) => [value, texts[i]]), choices[which][name] || values[0]);
      select.addEventListener("change", () => {
        const own = { ...choices[which] };
        if (select.value === values[0]) delete own[name]; else own[name] = select.value;
        send("choices", { [which]: own });
      });
      return select;
    };
    cell(chosen("kind", KINDS, [`auto${table.kinds && table.kinds[name] ? ` (${table.kinds[name]})` : ""}`, ...KINDS.slice(1)]));
    cell(chosen("transform", HOW, ["none", "logarithm", "root", "ranks", "if it is skewed"]));
    const tier = make("input");
    tier.type = "number";
    tier.min = 1;
    tier.setAttribute("aria-label", `Tier of ${name}`);
    const at = knowledge.tiers.findIndex((group) => group.includes(name));
    if (at >= 0) tier.value = at + 1;
    tier.addEventListener("change", () => {
      const wanted = Math.round(Number(tier.value)), groups = knowledge.tiers.map((group) => group.filter((one) => one !== name));
      while (groups.length < wanted && wanted <= 50) groups.push([]);
      if (wanted >= 1 && wanted <= 50) groups[wanted - 1].push(name);
      while (groups.length && !groups.at(-1).length) groups.pop();
      know({ tiers: groups });
    });
    cell(tier);
    return row;
  }));
}
function merged(adds) {
  const found = {};
  for (const [name, value] of Object.entries(adds)) {
    const now = state.choices[name];
    found[name] = Array.isArray(now) ? [...new Set([...now, ...value])] : typeof now === "object" && now !== null ? { ...now, ...value } : value;
  }
  return found;
}
byId("upload").addEventListener("change", async () => {
  const [file] = byId("upload").files;
  if (!file) return;
  try {
    const answer = await fetch(`data?name=${encodeURIComponent(file.name)}`, { method: "POST", headers: { "content-type": "application/octet-stream" }, body: file });
    if (!answer.ok) complain(answer.status === 413 ? "The file is too large; use dagopt open FILE." : (await answer.json()).error);
  } catch { complain("The file could not be sent; it may be too large. Use dagopt open FILE."); }
});

/* ---- knowledge ---- */
const know = (given) => send("knowledge", given);
const without = (list, pair) => list.filter((one) => !same(one, pair));
function forbid(...pairs) {
  const { required, forbidden } = state.knowledge;
  return know({ required: pairs.reduce(without, required), forbidden: [...pairs.reduce(without, forbidden), ...pairs] });
}
function require(pair) {
  const { required, forbidden } = state.knowledge;
  return know({ required: [...without(without(required, pair), [pair[1], pair[0]]), pair], forbidden: without(forbidden, pair) });
}
const picked = () => [byId("from").value, byId("to").value];
const two = () => { const pair = picked(); if (!pair[0] || pair[0] === pair[1]) { complain("Choose two different columns."); return null; } return pair; };
byId("forbid").addEventListener("click", () => { const pair = two(); if (pair) forbid(pair); });
byId("require").addEventListener("click", () => { const pair = two(); if (pair) require(pair); });
byId("before").addEventListener("click", () => { const pair = two(); if (pair) forbid([pair[1], pair[0]]); });
function renderKnowledge() {
  const options = data.names.map((name) => [name, name]);
  for (const id of ["from", "to", "cause", "outcome"]) fill(byId(id), options);
  for (const which of ["required", "forbidden"]) {
    const pairs = state.knowledge[which];
    byId(which).replaceChildren(...(pairs.length ? pairs.map((pair) => {
      const item = make("li", arrow(pair)), drop = button("Remove", () => know({ [which]: without(pairs, pair) }));
      drop.setAttribute("aria-label", `Remove ${arrow(pair)}`);
      item.append(drop);
      return item;
    }) : [make("li", "none", "hint")]));
  }
  byId("tiers").replaceChildren(...state.knowledge.tiers.map((group) => make("li", group.join(", ") || "empty")));
}

/* ---- learning ---- */
const METHODS = ["auto", "exact", "branch-and-cut", "order", "cg-dca", "hc", "tabu", "mmhc", "pc"], SCORES = ["auto", "bic", "ebic", "aic", "bdeu", "bge", "basis"];
fill(byId("method"), METHODS.map((one) => [one, one]));
fill(byId("score"), SCORES.map((one) => [one, one]));
for (const id of ["method", "score"]) byId(id).addEventListener("change", () => send("choices", { [id]: byId(id).value }));
byId("time_limit").addEventListener("change", () => send("choices", { time_limit: Number(byId("time_limit").value) }));
byId("max_parents").addEventListener("change", () => send("choices", { max_parents: byId("max_parents").value === "" ? null : Math.round(Number(byId("max_parents").value)) }));
const begin = (base) => send("learn", { base: base === undefined ? null : base });
byId("go").addEventListener("click", () => begin(done().at(-1)?.number));
byId("stop").addEventListener("click", () => send("stop"));
const BADGES = { optimal: "proven", converged: "open", time_limit: "open", interrupted: "open" };
function badge(element, run) {
  element.textContent = run.status === "optimal" ? "Proven: no graph scores more" : run.bound !== null && run.gap !== null ? `At most ${number(run.gap)} points below the best` : "Nothing is proven";
  element.className = `badge ${run.status === "optimal" ? "proven" : run.bound !== null ? "bounded" : BADGES[run.status] || "open"}`;
}
function renderRuns() {
  const body = byId("runs").tBodies[0];
  body.replaceChildren(...[...done()].reverse().map((run) => {
    const row = document.createElement("tr");
    const cell = (content, kind) => { const td = make("td", undefined, kind); td.append(content); row.append(td); };
    const see = button(String(run.number), () => { byId("shown").value = run.number; openTab(byId("tab-argue"), true); });
    see.setAttribute("aria-label", `Show run ${run.number}`);
    cell(see);
    cell(number(run.score), "figure");
    cell(number(run.bound), "figure");
    const proof = make("span");
    badge(proof, run);
    cell(proof);
    cell(String(run.edges.length), "figure");
    cell(knowledgeInWords(run.knowledge));
    cell(costInWords(run));
    const drop = button("Forget", () => send(`runs/${run.number}/forget`));
    drop.setAttribute("aria-label", `Forget run ${run.number}`);
    cell(drop);
    return row;
  }));
  const options = [...done()].reverse().map((run) => [run.number, `${run.number}: ${run.edges.length} edges, ${number(run.score)}`]);
  const newest = options.length && options[0][0] !== lastRun;
  for (const id of ["shown", "asked", "exported", "one", "other"]) fill(byId(id), options, newest && id !== "other" ? options[0][0] : byId(id).value || undefined);
  if (newest) {
    if (options.length > 1) byId("other").value = options[1][0];
    const first = lastRun !== null;
    lastRun = options[0][0];
    if (first && watching) openTab(byId("tab-argue"));
    else if (!byId("argue").hidden) showGraph();
  }
  watching = state.progress !== null;
  renderLinks();
}
let lastRun = null, watching = false;
function renderProgress() {
  const run = state.progress;
  byId("running").hidden = run === null;
  byId("go").disabled = run !== null || !state.data;
  if (run === null) return;
  if (run.fraction === null || run.fraction === undefined) byId("bar").removeAttribute("value");
  else byId("bar").value = run.fraction;
  const facts = Object.entries(run.facts || {}).map(([name, value]) => `${name} ${typeof value === "number" ? number(value) : value}`).join(", ");
  byId("phase").textContent = `Run ${run.number}: ${run.phase}${facts ? `, ${facts}` : ""}.`;
  byId("sofar").textContent = run.graph ? `Graph so far: ${run.graph.length} edges, score ${number(run.score)}: ${run.graph.slice(0, 12).map(arrow).join(", ")}${run.graph.length > 12 ? " …" : ""}` : run.note || "";
}
byId("compare").addEventListener("click", async () => {
  const box = byId("compared");
  const answer = await fetch(`runs/${byId("one").value}/against/${byId("other").value}`);
  const found = await answer.json();
  if (!answer.ok) { complain(found.error); return; }
  const parts = [[`Only in run ${byId("one").value}`, found.first], [`Only in run ${byId("other").value}`, found.second],
    ["Turned around", found.turned], ["In both", found.both]]; // what differs comes first
  box.replaceChildren(...parts.map(([title, pairs]) => {
    const side = make("div"), list = make("ul");
    list.append(...pairs.map((pair) => make("li", arrow(pair))));
    side.append(make("h4", `${title}: ${pairs.length}`), list);
    return side;
  }));
  const numbers = [byId("one").value, byId("other").value];
  byId("drawn").replaceChildren(...found.pictures.map((picture, k) => { // an image: nothing in it can run
    const figure = make("figure"), image = make("img");
    image.src = `data:image/svg+xml,${encodeURIComponent(picture)}`;
    image.alt = `The graph of run ${numbers[k]}; the lists below say what differs`;
    figure.append(make("figcaption", `Run ${numbers[k]}`), image);
    return figure;
  }));
  byId("drawn-legend").hidden = found.pictures.length === 0;
});

/* ---- the graph: chosen edges and columns become knowledge ---- */
const frameOfGraph = byId("graph-frame");
let framed = null, first = null;
function showGraph() {
  const run = runOf("shown");
  byId("badge").textContent = "";
  byId("cost").textContent = "";
  if (!run) return;
  badge(byId("badge"), run);
  byId("cost").textContent = costInWords(run);
  if (framed !== run.number) {
    framed = run.number;
    frameOfGraph.src = `runs/${run.number}/view`;
    act({});
  }
}
byId("shown").addEventListener("change", showGraph);
addEventListener("message", (event) => {
  if (event.source !== frameOfGraph.contentWindow || !event.data || typeof event.data.dagopt !== "object") return;
  act(event.data.dagopt);
});
function act(chosen) {
  const box = byId("actions"), { from: a, to: b } = chosen;
  const again = (change) => async () => { if (await change()) begin(runOf("shown")?.number); };
  box.replaceChildren();
  if (typeof a === "string" && typeof b === "string") {
    box.append(make("strong", arrow([a, b])),
      button(`Forbid ${arrow([a, b])} and learn again`, again(() => forbid([a, b])), "danger"),
      button("Forbid both directions", again(() => forbid([a, b], [b, a]))),
      button(`Require ${arrow([a, b])}`, again(() => require([a, b]))),
      button(`Require ${arrow([b, a])}`, again(() => require([b, a]))));
    return;
  }
  if (typeof chosen.column !== "string") { first = null; box.append(make("span", "Choose an edge or a column in the graph.", "hint")); return; }
  if (first === null || first === chosen.column) {
    first = chosen.column;
    box.append(make("strong", first), make("span", "Choose a second column to draw an edge to it.", "hint"));
    return;
  }
  const pair = [first, chosen.column];
  first = chosen.column;
  box.append(make("strong", arrow(pair)), button(`Require ${arrow(pair)}`, again(() => require(pair))), button(`Forbid ${arrow(pair)}`, again(() => forbid(pair)), "danger"),
    button(`${pair[0]} comes first`, again(() => forbid([pair[1], pair[0]]))));
}

/* ---- questions ---- */
let evidence = {};
async function askAll() {
  const run = runOf("asked");
  byId("given").textContent = "";
  if (!run) { byId("answers").replaceChildren(make("p", "Learn a graph first.", "hint")); return; }
  const doing = byId("doing").checked;
  const answer = await send(`runs/${run.number}/ask`, doing ? { do: evidence } : { evidence });
  if (!answer) return;
  const known = Object.entries(evidence).map(([name, value]) => `${name} = ${value}`).join(", ");
  byId("given").textContent = known ? `${doing ? "Set from outside" : "Known"}: ${known}.` : "Nothing is known yet: choose a level, or enter a value.";
  if (answer.left_out) byId("given").textContent += ` ${answer.left_out} further columns are not shown.`;
  byId("answers").replaceChildren(...answer.columns.map((one) => {
    const box = make("div", undefined, "answer" + (one.given === undefined ? "" : " given"));
    box.append(make("h4", one.name));
    const tell = (value) => { if (value === null) delete evidence[one.name]; else evidence[one.name] = value; askAll(); };
    if (one.levels && one.levels.length) {
      one.levels.forEach((level, k) => {
        const share = one.given !== undefined ? Number(one.given === level) : one.shares[k];
        const line = button(undefined, () => tell(one.given === level ? null : level), "level");
        line.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
        line.setAttribute("aria-pressed", String(one.given === level));
        line.append(make("span", level), make("span", `${(100 * share).toFixed(1)}%`));
        box.append(line);
      });
      return box;
    }
    if (one.given === undefined) box.append(make("p", `mean ${number(one.mean)}, standard deviation ${number(one.sd)}`));
    const input = make("input");
    input.type = "number";
    input.step = "any";
    input.setAttribute("aria-label", `Value of ${one.name}`);
    if (one.given !== undefined) input.value = one.given;
    input.addEventListener("change", () => tell(input.value === "" ? null : Number(input.value)));
    box.append(input);
    return box;
  }));
}
byId("asked").addEventListener("change", askAll);
byId("doing").addEventListener("change", askAll);
byId("clear").addEventListener("click", () => { evidence = {}; askAll(); });
byId("effect").addEventListener("click", async () => {
  const run = runOf("asked");
  if (!run) { complain("Learn a graph first."); return; }
  const found = await send(`runs/${run.number}/effect`, { cause: byId("cause").value, outcome: byId("outcome").value });
  if (!found) return;
  const box = byId("effects");
  box.replaceChildren(make("p", found.identified ? "All graphs that explain the data equally well have this effect." : "Graphs that explain the data equally well have different effects: the range is over all of them."));
  const table = make("table"), head = table.createTHead().insertRow(), names = Object.keys(found.ranges[0] || {});
  for (const name of names) { const th = make("th", { lower: `lower end, ${100 * found.level} %`, upper: `upper end, ${100 * found.level} %` }[name] || name); th.scope = "col"; head.append(th); }
  const body = table.createTBody();
  for (const row of found.ranges) { const line = body.insertRow(); for (const name of names) line.insertCell().textContent = typeof row[name] === "number" ? Number(row[name].toPrecision(4)) : row[name] ?? "no end"; }
  box.append(table, ...found.assumptions.map((one) => make("p", `Assumed: ${one}.`, "hint")));
});

/* ---- export ---- */
function renderLinks() {
  const run = runOf("exported"), links = [["knowledge.toml", "Knowledge file"]];
  if (run) links.push([`runs/${run.number}/report.html`, "Report, without rows of the table"], [`runs/${run.number}/report.html?data=1`, "Report, with a sample of the rows"],
    [`runs/${run.number}/repeat.py`, "Python code that repeats the run"], ...["dot", "csv", "graphml", "json", "bnlearn", "bif"].map((one) => [`runs/${run.number}/graph.${one}`, `Graph, ${one}`]));
  byId("links").replaceChildren(...links.map(([href, text]) => {
    const item = make("li"), link = make("a", text);
    link.href = href;
    link.download = "";
    item.append(link);
    return item;
  }));
}
byId("exported").addEventListener("change", renderLinks);

/* ---- everything ---- */
function render() {
  document.title = state.data ? `${state.data} – dagopt studio` : "dagopt studio";
  byId("about").textContent = state.data ? `${state.data}${state.changed ? ". The file has changed since the session began: earlier runs are about other rows." : ""}` : "Choose a table to begin.";
  byId("folder").textContent = `Everything is kept in ${state.folder}; dagopt open goes on from there.`;
  if (state.error) complain(state.error);
  for (const id of ["method", "score", "time_limit", "max_parents"])
    if (document.activeElement !== byId(id)) byId(id).value = state.choices[id] ?? "";
  renderTable();
  renderKnowledge();
  renderProgress();
  renderRuns();
  document.body.dataset.version = state.version;
  document.body.dataset.runs = done().length;
  document.body.dataset.busy = state.progress === null ? "no" : "yes";
  document.body.dataset.gone = "no";
}
listen();
