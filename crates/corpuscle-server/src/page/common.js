// What both pages need: the token, requests, elements, highlighted words.
"use strict";

/** The token of this start comes in the address once, and stays in this tab only. */
const token = (() => {
  const address = new URL(location.href);
  const given = address.searchParams.get("token");
  if (given) {
    sessionStorage.setItem("token", given);
    address.searchParams.delete("token");
    history.replaceState(null, "", address.pathname + address.search + address.hash);
  }
  return given || sessionStorage.getItem("token") || "";
})();

/** Asks the server; an answer that is no becomes an Error with its reason. */
async function ask(path, body, method) {
  const how = { method: method || (body === undefined ? "GET" : "POST"), headers: { Authorization: "Bearer " + token } };
  if (body !== undefined) {
    how.body = typeof body === "string" ? body : JSON.stringify(body);
    how.headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, how);
  } catch {
    throw new Error("The server does not answer. Is `corpuscle` still running?");
  }
  const kind = response.headers.get("Content-Type") || "";
  const answer = kind.includes("json") ? await response.json() : await response.text();
  if (response.ok) return answer;
  if (response.status === 401) throw new Error("This page has no valid token. Open the address that the command printed.");
  throw new Error((answer.error && answer.error.reason) || "The server answered " + response.status);
}

/** An element: tag with classes, attributes, children. Text is always text. */
function make(tag, attributes, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "width%") element.style.width = value + "%";
    else if (key === "colour") element.style.background = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) element.append(child);
  return element;
}

/** The same for pictures. */
function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const byId = (id) => document.getElementById(id);
const percent = (share, digits) => (share === null || share === undefined ? "–" : (100 * share).toFixed(digits === undefined ? 1 : digits) + " %");
const count = (number) => Number(number).toLocaleString("en").replaceAll(",", "\u202f");
const signed = (value) => (value >= 0 ? "+" : "−") + (Math.abs(value) < 0.1 ? Math.abs(value).toFixed(3) : Math.abs(value).toPrecision(2));

/** Puts children into an element instead of what it had. */
function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** The text with words that count for or against marked, however they are inflected: a word is marked where it begins as a term does. */
function highlighted(text, terms) {
  const weights = new Map();
  for (const { term, amount } of terms || []) {
    for (const word of term.split(" ")) if (!weights.has(word)) weights.set(word, amount);
  }
  const weightOf = (word) => {
    const plain = word.toLowerCase();
    if (weights.has(plain)) return weights.get(plain);
    if (plain.endsWith("y") && weights.has(plain.slice(0, -1) + "i")) return weights.get(plain.slice(0, -1) + "i");
    // Stems: at least four letters, and nearly the whole word.
    for (let length = plain.length - 1; length >= Math.max(4, plain.length - 4); length--) {
      const stem = weights.get(plain.slice(0, length));
      if (stem !== undefined) return stem;
    }
    return undefined;
  };
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(/[\p{L}\p{N}']+/gu)) {
    const weight = weightOf(match[0]);
    if (weight === undefined || weight === 0) continue;
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push(make(weight > 0 ? "mark.for" : "mark.against", { title: signed(weight) }, match[0]));
    end = match.index + match[0].length;
  }
  parts.push(text.slice(end));
  return parts;
}

/** Bars for a list of [name, share between 0 and 1, text]. */
function bars(list) {
  return list.map(([name, share, value]) =>
    make("li", {}, make("span.name", { title: name }, name),
      make("span.bar", { "aria-hidden": "true" }, make(share < 0 ? "i.minus" : "i", { "width%": Math.min(100, Math.abs(share) * 100) })),
      make("span.value", {}, value)));
}

let toastTimer;
/** A line that goes by itself; also read aloud. */
function toast(message) {
  const place = byId("toast");
  place.textContent = message;
  place.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { place.hidden = true; }, 4000);
}
