// The page to paste a text on: decision, words, neighbours.
"use strict";

let models = [];

async function start() {
  try {
    const answer = await ask("/v1/models");
    models = answer.models;
    fill(byId("model"), models.map((model) => make("option", { value: model.name }, model.name)));
    describe();
  } catch (error) {
    fail(error);
  }
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
  event.preventDefault();
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
    ? `Unlike the documents it was trained on (p = ${said.novelty.toPrecision(2)}): take the decision with care.`
    : `Like the documents it was trained on (p = ${said.novelty.toPrecision(2)}).`;
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
byId("model").addEventListener("change", describe);
byId("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) classify(event);
});
start();
