// Labelling: the document, its classes, the keys.
"use strict";

const KEYS = "1234567890";
const page = { document: null, state: null, several: false, chosen: new Set(), author: localStorage.getItem("author") || "", busy: false, line: Promise.resolve(), view: "label" };

const who = () => page.author || (page.state && page.state.author) || undefined;

function fail(error) {
  byId("error").textContent = error.message;
  byId("error").hidden = false;
}

/** Does one thing after the other, in the order they were asked for; what fails is said, and nothing is lost. */
function act(work) {
  page.line = page.line.then(async () => {
    page.busy = true;
    try {
      await work();
      byId("error").hidden = true;
    } catch (error) {
      fail(error);
    } finally {
      page.busy = false;
    }
  });
  return page.line;
}

/** The same for the document that is shown, while it still is when its turn comes: a key pressed twice does not label the next one unseen. */
function actOnShown(work) {
  const shown = page.document;
  if (!shown || shown.id === null) return undefined;
  return act(() => page.document === shown && work(shown));
}

const withAuthor = (path) => path + (path.includes("?") ? "&" : "?") + "author=" + encodeURIComponent(who() || "");

async function next() {
  show(await ask(who() ? withAuthor("/v1/next") : "/v1/next"));
}

/** Goes on after an answer, which mostly brings the next document: what was written is written, whether it does or not. */
async function goOn(answer) {
  if (answer.next) show(answer.next);
  else await next();
  refresh();
}

function show(document) {
  page.document = document;
  page.chosen = new Set(document.mine || []);
  page.several = page.several || (document.mine || []).length > 1;
  const done = document.id === null;
  byId("doc-id").textContent = done ? "" : document.id;
  const predictions = document.predictions || [];
  fill(byId("doc-text"), done ? "Every document has been looked at. Look at those to check under Documents, or export the labels under Files." : highlighted(document.text, document.terms));
  byId("doc-text").scrollTop = 0;
  byId("doc-legend").hidden = !(document.terms && document.terms.length);
  if (predictions.length) byId("doc-legend").textContent = `Blue words speak for “${predictions[0].label}”, orange ones against it.`;
  byId("doc-why").hidden = !document.about || done;
  byId("doc-why").textContent = document.about || "";
  const mine = document.mine ? `labelled ${document.mine.join(", ") || "none"}` : document.skipped ? "skipped" : "";
  byId("doc-mine").hidden = !mine;
  byId("doc-mine").textContent = mine;
  byId("note").value = document.note || "";
  byId("note").disabled = done;
  classes();
}

/** Classes in the order of the keys; that order never changes while one labels. */
function classes() {
  const known = page.state ? page.state.classes : [];
  const predictions = new Map((page.document && page.document.predictions || []).map((one, at) => [one.label, { ...one, at }]));
  byId("no-classes").hidden = known.length > 0;
  const done = !page.document || page.document.id === null;
  fill(byId("classes"), known.map((one, at) => {
    const said = predictions.get(one.name);
    const key = at < KEYS.length ? make("kbd", {}, KEYS[at]) : make("span", {});
    const likely = said ? percent(said.probability, 0) : "";
    return make(said && said.at === 0 ? "button.best" : "button", {
      type: "button", title: one.about || one.name, disabled: done,
      "aria-pressed": page.several || page.chosen.has(one.name) ? String(page.chosen.has(one.name)) : undefined,
      "aria-label": one.name + (likely ? `, ${likely} likely` : "") + (at < KEYS.length ? `, key ${KEYS[at]}` : ""),
      onclick: () => choose(one.name),
    }, key, make("span.name", {}, one.name), make("span.value", {}, likely), said ? make("i", { "width%": 100 * said.probability }) : null);
  }));
  byId("several-on").hidden = !page.several;
  byId("do-several").setAttribute("aria-pressed", String(page.several));
  const first = page.document && page.document.predictions && page.document.predictions[0];
  byId("confirm-text").textContent = page.several ? "keep these labels" : first ? `take “${first.label}”` : "take the first";
  byId("do-confirm").disabled = done || (!page.several && !first);
  for (const id of ["do-new", "do-skip", "do-note"]) byId(id).disabled = done;
}

function choose(name) {
  if (!page.document || page.document.id === null) return;
  if (!page.several) return give([name]);
  if (page.chosen.has(name)) page.chosen.delete(name);
  else page.chosen.add(name);
  classes();
}

/** Labels the document; the next one comes with the answer. */
function give(labels) {
  const note = byId("note").value;
  return actOnShown(async (shown) => {
    const body = { id: shown.id, labels, author: who(), next: true };
    if (note !== (shown.note || "")) body.note = note;
    const answer = await ask("/v1/labels", body);
    toast(`${labels.join(", ") || "no label"}`);
    await goOn(answer);
  });
}

function confirm() {
  if (!page.document || page.document.id === null) return;
  if (page.several) return give([...page.chosen]);
  const first = page.document.predictions && page.document.predictions[0];
  if (first) give([first.label]);
}

const skip = () => actOnShown(async ({ id }) => {
  const answer = await ask("/v1/skip", { id, author: who(), next: true });
  toast("skipped");
  await goOn(answer);
});

const undo = () => act(async () => {
  const answer = await ask("/v1/undo", { author: who() });
  toast("taken back");
  if (answer.document) show(answer.document);
  refresh();
});

function keepNote() {
  const note = byId("note").value;
  return actOnShown(async (shown) => {
    if (note === (shown.note || "")) return;
    await ask("/v1/notes", { id: shown.id, note, author: who() });
    shown.note = note;
    toast("note kept");
    refresh();
  });
}

function several() {
  page.several = !page.several;
  if (!page.several) page.chosen = new Set();
  classes();
}

/** Asks for a name; null when it was not given. */
function askName(head, about, value, names) {
  const dialog = byId("name-dialog");
  byId("name-head").textContent = head;
  byId("name-about").textContent = about;
  byId("name").value = value || "";
  fill(byId("names"), (names || []).map((name) => make("option", { value: name })));
  dialog.returnValue = "cancel";
  dialog.showModal();
  byId("name").select();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "ok" ? byId("name").value.trim() : null), { once: true });
  });
}

async function newClass() {
  if (!page.document || page.document.id === null) return;
  const name = await askName("New class", "Its name; this document gets it");
  if (!name) return;
  if (page.several) {
    await act(async () => {
      await ask("/v1/classes", { name, author: who() });
      page.chosen.add(name);
    });
    await refresh();
  } else {
    give([name]);
  }
}

async function findClass() {
  const names = page.state.classes.map((one) => one.name);
  const name = await askName("Find a class", "Its name", "", names);
  if (!name) return;
  const close = names.find((known) => known === name) || names.find((known) => known.toLowerCase().startsWith(name.toLowerCase()));
  if (close) choose(close);
  else toast(`There is no class “${name}”; n makes one`);
}

async function changeAuthor() {
  const name = await askName("Who labels?", "Your name, kept with each label", who(), (page.state ? page.state.authors : []).map((one) => one.name));
  if (!name) return;
  page.author = name;
  localStorage.setItem("author", name);
  await refresh();
  act(next);
}

/** How things stand, shown everywhere. */
async function refresh() {
  try {
    page.state = await ask("/v1/state");
  } catch (error) {
    fail(error);
    return;
  }
  const state = page.state;
  byId("who").textContent = who();
  byId("who").setAttribute("aria-label", "Who labels: " + who());
  byId("progress").textContent = `${count(state.labelled)} of ${count(state.documents)} labelled`;
  const learning = state.learning;
  byId("learning").textContent = learning === "waiting for labels" ? (state.accuracy ? `Learnt from ${count(state.accuracy.labels)} labels.` : "") : learning + " …";
  if (state.accuracy) {
    const { value, low, high, of, drawn } = state.accuracy;
    byId("accuracy").textContent = percent(value, 0);
    byId("accuracy-about").textContent = `${percent(low, 0)} to ${percent(high, 0)}, by ${count(of)} labels held out` +
      (drawn ? ", drawn at random." : "; chosen ones, so rather a low guess.");
  }
  byId("needed").textContent = state.accuracy && state.accuracy.value >= 0.9 ? "90 % is reached."
    : !state.labels_for_90 ? ""
    : state.labels_for_90 > state.documents ? "As it goes, 90 % takes more labels than there are documents."
    : `About ${count(Math.max(1, state.labels_for_90 - state.labelled))} labels more for 90 %.`;
  fill(byId("curve"), curve(state.curve));
  const most = Math.max(1, ...state.classes.map((one) => one.count));
  fill(byId("counts"), bars(state.classes.map((one) => [one.name, one.count / most, count(one.count)])));
  byId("check-link").textContent = state.labelled ? "" : "None yet.";
  const chosen = byId("of-label").value;
  fill(byId("of-label"), make("option", { value: "" }, "any"), state.classes.map((one) => make("option", { value: one.name }, one.name)));
  byId("of-label").value = chosen;
  classes();
  people();
}

function open(view) {
  page.view = view;
  for (const name of ["label", "documents", "map", "people", "files"]) byId("view-" + name).hidden = name !== view;
  for (const button of document.querySelectorAll("nav.tabs button")) {
    if (button.dataset.view === view) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  if (view === "documents") documents(0);
  if (view === "map") drawMap(true);
}

async function openDocument(id) {
  open("label");
  await act(async () => show(await ask(withAuthor("/v1/document?id=" + encodeURIComponent(id)))));
  byId("doc-text").focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const writing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key === "Escape") {
    event.target.blur();
    open("label");
    return;
  }
  if (event.target.id === "note" && event.key === "Enter") {
    event.target.blur();
    keepNote();
    return;
  }
  if (writing) return;
  if (event.key === "/") {
    event.preventDefault();
    open("documents");
    byId("query").focus();
    return;
  }
  if (event.key === "?") return byId("help").showModal();
  if (page.view !== "label") return;
  // Enter on a button is that button's.
  if (event.key === "Enter" && event.target.tagName === "BUTTON") return;
  const at = KEYS.indexOf(event.key);
  const keys = { s: skip, u: undo, n: newClass, f: findClass, m: several, Enter: confirm, t: () => byId("note").focus() };
  const work = at >= 0 ? () => page.state && page.state.classes[at] && choose(page.state.classes[at].name) : keys[event.key];
  if (!work) return;
  event.preventDefault();
  work();
});

byId("do-new").addEventListener("click", newClass);
byId("do-skip").addEventListener("click", skip);
byId("do-undo").addEventListener("click", undo);
byId("do-several").addEventListener("click", several);
byId("do-confirm").addEventListener("click", confirm);
byId("do-note").addEventListener("click", () => byId("note").focus());
byId("do-search").addEventListener("click", () => { open("documents"); byId("query").focus(); });
byId("do-help").addEventListener("click", () => byId("help").showModal());
byId("note").addEventListener("change", keepNote);
byId("who").addEventListener("click", changeAuthor);
for (const button of document.querySelectorAll("nav.tabs button")) button.addEventListener("click", () => open(button.dataset.view));

refresh().then(() => act(next));
// The model learns meanwhile, and others label.
setInterval(() => { if (!page.busy && !document.hidden) refresh(); }, 3000);
