// The page to paste a text on: decision, words, neighbours.
"use strict";

let models = [];

async function start() {
  try {
    const answer = await ask("/v1/models");
    models = answer.models;
    fill(byId("model"), models.map((model) => make("option", { value: model.name }, model.name)));
    describe();
    await drift();
  } catch (error) {
    fail(error);
  }
}

/** Whether the texts that the model was asked about of late are like those it was trained on. */
async function drift() {
  const answer = await ask("/v1/drift");
  const told = answer.models.find((model) => model.name === byId("model").value);
  if (!told) return;
  byId("drift-card").hidden = false;
  const since = told.since ? ` Since ${new Date(told.since).toLocaleString()}.` : "";
  byId("drift").textContent = sentence(told.verdict) + since;
  byId("drift").className = told.drifted ? "notice" : "";
  const { novelty, unknown_words: unknown, classes } = told;
  const charts = [];
  if (told.documents > 0 && novelty) {
    charts.push(histogram("Texts by how usual they are", novelty.histogram, 0.05, "strange", "usual",
      `${percent(novelty.share)} are strange, 5 % are to be expected`));
  }
  if (told.documents > 0 && unknown && unknown.histogram.some((count) => count > 0)) {
    const expected = unknown.expected === null ? "" : `, about ${percent(unknown.expected)} are to be expected`;
    charts.push(histogram("Texts by their share of unknown words", unknown.histogram, null, "0 %", "100 %",
      `${percent(unknown.share)} of the words are unknown${expected}`));
  }
  if (classes.length) {
    charts.push(make("figure", {}, make("figcaption", {}, "Labels given"),
      make("ul.bars", {}, bars(classes.slice(0, 8).map((one) => [one.label, one.share, percent(one.share)])))));
  }
  fill(byId("drift-charts"), charts);
  byId("drift-about").textContent = `The last ${count(told.window)} texts sent to /v1/predict are counted, those of this page are not; no text is kept.`
    + (told.documents ? ` ${count(told.documents)} so far.` : "");
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + ".";

/** Shares of twenty classes between two ends; the line is the level to expect. */
function histogram(title, counts, level, first, last, about) {
  const [width, height, bottom] = [300, 110, 18];
  const all = Math.max(1, counts.reduce((sum, one) => sum + one, 0));
  const most = Math.max(...counts.map((one) => one / all), 2 * (level || 0.05));
  const y = (share) => 4 + (height - bottom - 4) * (1 - share / most);
  const step = width / counts.length;
  const columns = counts.map((one, at) => svg("rect", {
    class: level && at === 0 ? "column strange" : "column", x: (at * step + 1).toFixed(1), width: (step - 2).toFixed(1),
    y: y(one / all).toFixed(1), height: (height - bottom - y(one / all)).toFixed(1),
  }));
  const line = level ? [svg("line", { class: "level", x1: 0, x2: width, y1: y(level), y2: y(level) })] : [];
  return make("figure", {}, make("figcaption", {}, title),
    svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${about}` },
      svg("line", { class: "axis", x1: 0, x2: width, y1: height - bottom, y2: height - bottom }), ...columns, ...line,
      svg("text", { x: 0, y: height - 4 }, first), svg("text", { x: width, y: height - 4, "text-anchor": "end" }, last)),
    make("p.small.quiet", {}, about + "."));
}

function describe() {
  const model = models.find((model) => model.name === byId("model").value);
  if (model) byId("about").textContent = `${count(model.classes.length)} classes, ${count(model.documents)} documents, version ${model.version}`;
}

function fail(error) {
  byId("error").textContent = error.message;
  byId("error").hidden = false;
}

async function classify(event) {
  if (event) event.preventDefault();
  const text = byId("text").value;
  byId("error").hidden = true;
  const began = performance.now();
  try {
    const answer = await ask("/v1/explain", { text, model: byId("model").value, top: 40, near: 5 });
    show(text, answer.explanations[0]);
    byId("took").textContent = `${Math.max(1, Math.round(performance.now() - began))} ms`;
  } catch (error) {
    fail(error);
  }
}

function show(text, said) {
  byId("nothing").hidden = true;
  byId("decision").hidden = false;
  byId("label").textContent = said.label;
  const sure = said.probability !== null;
  const largest = Math.max(...said.classes.map((one) => Math.abs(one.score)), 1e-9);
  // Scores decide, and each class has a scale of its own: after the decision, what is shown is in order.
  const [first, ...others] = said.classes;
  if (sure) others.sort((a, b) => b.probability - a.probability);
  fill(byId("classes"), bars([first, ...others].filter(Boolean).map((one) => (sure
    ? [one.label, one.probability, percent(one.probability)]
    : [one.label, one.score / largest, one.score.toFixed(2)]))));
  byId("novelty").textContent = said.novelty === null ? "" : said.novelty <= 0.05
    ? `Unlike the documents it was trained on (p\u00a0=\u00a0${said.novelty.toPrecision(2)}): take the decision with care.`
    : `Like the documents it was trained on (p\u00a0=\u00a0${said.novelty.toPrecision(2)}).`;
  const terms = said.terms.filter((term) => term.amount !== 0);
  byId("words-card").hidden = terms.length === 0;
  const strongest = Math.max(...terms.map((term) => Math.abs(term.amount)), 1e-9);
  fill(byId("words"), bars(terms.slice(0, 12).map((term) => [term.term, term.amount / strongest, signed(term.amount)])));
  byId("read").hidden = false;
  fill(byId("marked"), highlighted(text, terms));
  byId("weighing").textContent = `Blue speaks for “${said.label}”, orange against it: what a word ${said.about}.`;
  byId("near-card").hidden = said.neighbours.length === 0;
  fill(byId("near"), said.neighbours.map((near) => (near.id === undefined
    ? make("li", {}, make("b", {}, near.labels.join(", ")), ` training document ${near.row}, ${near.nearness.toFixed(3)}`)
    : make("li", {}, make("b", {}, near.id), " ", make("span.quiet.small", {}, near.score.toFixed(2)), make("div", {}, near.snippet)))));
}

byId("form").addEventListener("submit", classify);
byId("model").addEventListener("change", () => {
  describe();
  drift().catch(fail);
  // What is shown is what the model chosen says.
  if (!byId("decision").hidden) classify();
});
setInterval(() => { if (!document.hidden) drift().catch(() => {}); }, 10000);
byId("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) classify(event);
});
start();
