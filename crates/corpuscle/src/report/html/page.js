(() => {
  "use strict";
  const make = (name, text, look) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (look) element.className = look;
    return element;
  };
  const data = figure => JSON.parse(figure.querySelector("script").textContent);

  // The confusion matrix: a cell shows its documents below the picture.
  document.querySelectorAll("figure.cells").forEach(figure => {
    const { classes, cells } = data(figure);
    const list = figure.appendChild(make("div", undefined, "cell-list"));
    list.setAttribute("aria-live", "polite");
    let chosen = null;
    const show = rect => {
      const key = rect.dataset.cell, cell = cells[key];
      if (!cell) return;
      if (chosen) chosen.classList.remove("chosen");
      (chosen = rect).classList.add("chosen");
      const [row, column] = key.split(",");
      const said = row === column ? " recognised" : " taken for " + classes[column];
      const count = cell.documents.length < cell.total
        ? "the " + cell.documents.length + " surest of " + cell.total + " documents"
        : cell.total === 1 ? "one document" : cell.total + " documents";
      const table = make("table"), body = make("tbody"), head = make("tr");
      ["Document", "Sure", "Text"].forEach(name => head.append(make("th", name)));
      table.append(make("thead"), body);
      table.firstChild.append(head);
      cell.documents.forEach(([id, , , sure, text]) => {
        const line = make("tr"), words = make("td", text);
        words.dir = "auto";
        line.append(make("th", id), make("td", sure), words);
        body.append(line);
      });
      list.replaceChildren(make("h3", classes[row] + said + ": " + count), table);
    };
    figure.querySelectorAll("[data-cell]").forEach(rect => {
      if (!cells[rect.dataset.cell]) return;
      rect.setAttribute("tabindex", "0");
      rect.setAttribute("role", "button");
      rect.addEventListener("click", () => show(rect));
      rect.addEventListener("keydown", event => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        show(rect);
      });
    });
    // #cell-3-4 opens a cell: a link to a kind of mistake can be sent along with the page.
    const open = () => {
      const asked = /^#cell-(\d+)-(\d+)$/.exec(location.hash);
      const rect = asked && figure.querySelector('[data-cell="' + asked[1] + "," + asked[2] + '"]');
      if (!rect) return;
      show(rect);
      figure.scrollIntoView();
    };
    addEventListener("hashchange", open);
    open();
  });

  // The map: the nearest point under the pointer shows its text; a name of the legend picks out its points.
  document.querySelectorAll("figure.map").forEach(figure => {
    const { classes, groups } = data(figure);
    const svg = figure.querySelector("svg"), paths = [...svg.querySelectorAll("[data-group]")];
    const points = [];
    paths.forEach((path, group) => {
      path.getAttribute("d").split("M").slice(1).forEach((part, at) => {
        const [x, y] = part.split(" ").map(parseFloat);
        points.push({ x, y, path, document: groups[group][at] });
      });
    });
    figure.dataset.points = points.length;
    const tip = document.body.appendChild(make("div", undefined, "tip"));
    const dot = svg.appendChild(document.createElementNS(svg.namespaceURI, "circle"));
    dot.setAttribute("class", "found");
    dot.setAttribute("r", "6");
    const hide = () => { tip.style.display = dot.style.display = "none"; };
    hide();
    const show = (point, left, top) => {
      const [id, label, said, sure, text] = point.document;
      const words = make("p", text), decided = label === said ? "recognised" : "taken for " + classes[said];
      words.dir = "auto";
      tip.replaceChildren(
        make("strong", label < 0 ? "" : classes[label]),
        make("span", (said < 0 ? " no class given" : " " + decided + (sure ? ", " + sure : "")) + " · " + id, "quiet"),
        words);
      tip.style.display = "block";
      const width = document.documentElement.clientWidth, height = document.documentElement.clientHeight;
      tip.style.left = Math.max(4, Math.min(left + 14, width - tip.offsetWidth - 8)) + "px";
      tip.style.top = (top + 18 + tip.offsetHeight > height ? Math.max(4, top - tip.offsetHeight - 12) : top + 18) + "px";
      dot.setAttribute("cx", point.x);
      dot.setAttribute("cy", point.y);
      dot.style.display = "";
    };
    svg.addEventListener("pointermove", event => {
      const frame = svg.getScreenCTM();
      if (!frame) return;
      const x = (event.clientX - frame.e) / frame.a, y = (event.clientY - frame.f) / frame.d;
      let best = null, least = 64;
      for (const point of points) {
        const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
        if (distance < least && !point.path.classList.contains("dim")) [best, least] = [point, distance];
      }
      if (best) show(best, event.clientX, event.clientY); else hide();
    });
    svg.addEventListener("pointerleave", hide);
    let picked = null;
    svg.querySelectorAll("[data-key]").forEach(key => {
      const name = key.nextElementSibling.classList.contains("hole")
        ? key.nextElementSibling.nextElementSibling : key.nextElementSibling;
      [key, name].forEach(part => {
        part.classList.add("pick");
        part.addEventListener("click", () => {
          picked = picked === key.dataset.key ? null : key.dataset.key;
          paths.forEach(path => {
            const dim = picked !== null && path.dataset.group !== picked;
            path.classList.toggle("dim", dim);
            const hole = path.nextElementSibling;
            if (hole && hole.classList.contains("hole")) hole.classList.toggle("dim", dim);
          });
        });
      });
    });
  });
  document.documentElement.dataset.ready = "yes";
})();
