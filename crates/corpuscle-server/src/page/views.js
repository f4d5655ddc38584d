// Everything beside labelling: the curve, documents, map, people, files.
"use strict";

/** Accuracy against labels, with its interval. */
function curve(points) {
  if (!points || points.length < 2) return [];
  const [width, height, left, bottom] = [300, 130, 36, 20];
  const last = points[points.length - 1].labels;
  const x = (labels) => left + (width - left - 8) * labels / last;
  const y = (share) => 6 + (height - bottom - 6) * (1 - share);
  const place = (point, key) => `${x(point.labels).toFixed(1)},${y(point[key]).toFixed(1)}`;
  const band = points.map((point) => place(point, "high")).concat(points.slice().reverse().map((point) => place(point, "low")));
  const ticks = [0, 0.5, 0.9].map((share) => svg("g", {},
    svg("line", { class: "axis", x1: left, x2: width - 8, y1: y(share), y2: y(share) }),
    svg("text", { x: left - 4, y: y(share) + 4, "text-anchor": "end" }, `${Math.round(100 * share)} %`)));
  const value = percent(points[points.length - 1].accuracy, 0);
  return [svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Accuracy against labels: ${value} at ${last} labels` },
    ...ticks,
    svg("polygon", { class: "band", points: band.join(" ") }),
    svg("polyline", { class: "line", points: points.map((point) => place(point, "accuracy")).join(" ") }),
    svg("text", { x: left, y: height - 4 }, "0"),
    svg("text", { x: width - 8, y: height - 4, "text-anchor": "end" }, `${last} labels`))];
}

const PAGE = 50;
let offset = 0;
let asked = 0;

async function documents(from) {
  const number = ++asked;
  const query = new URLSearchParams({ show: byId("show").value, label: byId("of-label").value, q: byId("query").value, offset: from, limit: PAGE });
  let answer;
  try {
    answer = await ask("/v1/documents?" + query);
  } catch (error) {
    return fail(error);
  }
  // An answer that was overtaken is not shown.
  if (number !== asked) return;
  offset = from;
  const { total } = answer;
  byId("found").textContent = total === 0 ? "Nothing found." : `${count(from + 1)} to ${count(Math.min(total, from + PAGE))} of ${count(total)}`;
  byId("earlier").disabled = from === 0;
  byId("later").disabled = from + PAGE >= total;
  fill(byId("list"), answer.documents.map((one) => {
    const marks = [];
    if (one.labels) marks.push(make("span.tag", {}, one.labels.join(", ") || "none"));
    const said = one.out_of_fold && one.labels && !one.labels.includes(one.out_of_fold.label) ? one.out_of_fold : one.labels ? null : one.prediction;
    if (said) marks.push(make("span.quiet.small", {}, ` ${one.labels ? "model: " : ""}${said.label} ${percent(said.probability, 0)}`));
    if (one.disputed) marks.push(make("span.small", {}, " " + one.opinions.map((opinion) => `${opinion.author}: ${(opinion.labels || ["skipped"]).join(", ")}`).join("; ")));
    if (one.note) marks.push(make("span.small.quiet", {}, ` note: ${one.note}`));
    return make("li", {}, make("button.doc-row", { type: "button", onclick: () => openDocument(one.id) },
      make("span", {}, make("b", {}, one.id), " ", one.text), make("span", {}, marks)));
  }));
}

let typing;
byId("filter").addEventListener("submit", (event) => { event.preventDefault(); documents(0); });
byId("query").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => documents(0), 150); });
for (const id of ["show", "of-label"]) byId(id).addEventListener("change", () => documents(0));
byId("earlier").addEventListener("click", () => documents(Math.max(0, offset - PAGE)));
byId("later").addEventListener("click", () => documents(offset + PAGE));

// Colours that stay apart for most eyes, light and dark.
const COLOURS = ["#3b76c4", "#e08214", "#2ca25f", "#c0392b", "#8e6bbf", "#8c6d31", "#d65fa5", "#5f7f95", "#a5a52a", "#1aa6b7"];
const colourOf = (number) => (number < 0 ? "#9aa5b1" : COLOURS[number % COLOURS.length]);
let map = null;

async function drawMap(anew) {
  if (anew) {
    try {
      map = await ask("/v1/map");
    } catch (error) {
      return fail(error);
    }
  }
  if (!map || !map.ready) {
    byId("map-about").textContent = "The map is being drawn; it appears here in a moment.";
    setTimeout(() => { if (page.view === "map") drawMap(true); }, 1500);
    return;
  }
  byId("map-about").textContent = `${count(map.ids.length)} documents; near means alike. Click one to read it.`;
  const canvas = byId("canvas");
  const scale = window.devicePixelRatio || 1;
  const { width, height } = canvas.getBoundingClientRect();
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  const numbers = map[byId("colour").value];
  const radius = map.ids.length > 1500 ? 2 : map.ids.length > 400 ? 3 : 4;
  const at = position(width, height);
  // Those without a colour first, so that they do not hide the others.
  for (const coloured of [false, true]) {
    for (let one = 0; one < numbers.length; one++) {
      if ((numbers[one] >= 0) !== coloured) continue;
      const [x, y] = at(one);
      context.globalAlpha = coloured ? 0.85 : 0.4;
      context.fillStyle = colourOf(numbers[one]);
      context.beginPath();
      context.arc(x, y, coloured && byId("colour").value === "label" ? radius + 1.5 : radius, 0, 7);
      context.fill();
    }
  }
  fill(byId("legend"), map.classes.map((name, number) => make("li", {}, make("i", { colour: colourOf(number) }), name)),
    make("li", {}, make("i", { colour: colourOf(-1) }), byId("colour").value === "label" ? "no label yet" : "no prediction yet"));
}

function position(width, height) {
  const size = Math.min(width, height) - 20;
  const widest = Math.max(...map.x), tallest = Math.max(...map.y);
  const stretch = Math.min((width - 20) / Math.max(widest, 1e-9), (height - 20) / Math.max(tallest, 1e-9));
  const across = Number.isFinite(stretch) ? stretch : size;
  return (one) => [(width - widest * across) / 2 + map.x[one] * across, (height - tallest * across) / 2 + map.y[one] * across];
}

function under(event) {
  if (!map || !map.ready) return -1;
  const box = byId("canvas").getBoundingClientRect();
  const at = position(box.width, box.height);
  let best = -1, nearest = 144;
  for (let one = 0; one < map.ids.length; one++) {
    const [x, y] = at(one);
    const away = (x - event.clientX + box.left) ** 2 + (y - event.clientY + box.top) ** 2;
    if (away < nearest) [best, nearest] = [one, away];
  }
  return best;
}

byId("colour").addEventListener("change", () => drawMap(false));
byId("canvas").addEventListener("pointermove", (event) => {
  const one = under(event);
  if (one < 0) return;
  const name = (number) => (number < 0 ? "–" : map.classes[number]);
  byId("under").textContent = `${map.ids[one]}: label ${name(map.label[one])}, prediction ${name(map.prediction[one])}`;
});
byId("canvas").addEventListener("click", (event) => {
  const one = under(event);
  if (one >= 0) openDocument(map.ids[one]);
});
window.addEventListener("resize", () => { if (page.view === "map") drawMap(false); });

/** Who has labelled, and how much they agree. */
function people() {
  const { state } = page;
  fill(byId("authors"), state.authors.map((one) => make("tr", {}, make("td", {}, one.name), make("td.number", {}, count(one.labels)))));
  fill(byId("agreement"), state.agreement.map((one) => make("tr", {},
    make("td", {}, one.authors.join(" and ")), make("td.number", {}, count(one.documents)),
    make("td.number", {}, percent(one.agreement, 0)), make("td.number", {}, one.kappa === null ? "–" : one.kappa.toFixed(2)))));
  byId("agree-table").hidden = state.agreement.length === 0;
  byId("agree-head").hidden = state.agreement.length === 0;
  byId("agree-about").textContent = state.agreement.length === 0
    ? "Once two people have labelled the same documents, their agreement is shown here. Each document goes to one person first; open one under Documents to give it a second label."
    : "Kappa is agreement beyond chance: 0 none, 1 all. Documents people disagree on are listed under Documents.";
}

for (const button of document.querySelectorAll("[data-export]")) {
  button.addEventListener("click", () => act(async () => {
    const format = button.dataset.export;
    const response = await fetch("/v1/export?format=" + format, { headers: { Authorization: "Bearer " + token } });
    if (!response.ok) throw new Error("The export failed");
    const link = make("a", { href: URL.createObjectURL(await response.blob()), download: { jsonl: "labels.jsonl", csv: "labels.csv", labelstudio: "labels-labelstudio.json" }[format] });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }));
}

byId("import").addEventListener("change", () => act(async () => {
  const [file] = byId("import").files;
  if (!file) return;
  const answer = await ask("/v1/import", await file.text());
  byId("import").value = "";
  toast(`${count(answer.labels)} labels taken` + (answer.unknown ? `, ${count(answer.unknown)} of documents that are not in this pile` : ""));
  await refresh();
}));
