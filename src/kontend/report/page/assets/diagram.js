// The sequence diagram: a lane for each instance, its cache, the API server and the user; a row for each step.

const ROW = 38;
const HEADER = 46;

/** Below this width the diagram is a list of steps, with the picture on demand. */
const NARROW = 480;

/** Lanes from left to right: those of actors that do something. An instance and its cache are a group with one heading. */
function lanesOf(trace, actors, { idle }) {
  const lanes = [];
  const acts = (name) =>
    idle || trace.steps.some((step) => step.actor === name && !["deliver", "relist"].includes(step.action));
  for (const name of trace.instances.filter(acts)) {
    lanes.push({ id: name, group: name, label: "code", type: "instance" });
    // A recorded log says nothing of caches.
    if (!trace.kinds.has(name)) continue;
    lanes.push({ id: `cache of ${name}`, group: name, label: "cache", type: "cache", cache: name });
  }
  lanes.push({ id: "server", group: "API", label: "server", type: "server" });
  const others = actors
    .filter((actor) => actor.type !== "instance" && actor.type !== "server")
    .map((actor) => actor.name)
    .filter(acts);
  for (const name of others) lanes.push({ id: name, group: name, label: "", type: "user" });
  return lanes;
}

class Diagram {
  constructor(trace, { actors, culprits, cycle, width, open, isHidden, idle, plain, choose, unfold, caption }) {
    this.trace = trace;
    this.culprits = new Set(culprits);
    this.cycle = cycle;
    this.choose = choose;
    this.unfold = unfold;
    this.lanes = lanesOf(trace, actors, { idle });
    this.plain = plain;
    const text = width < NARROW ? 160 : Math.max(250, Math.round(width / 2));
    this.lane = Math.max(
      width < NARROW ? 27 : 40,
      Math.min(88, Math.floor((width - (width < NARROW ? 52 : 70) - text) / this.lanes.length)),
    );
    this.rows = folded(trace.steps, (step) => isHidden(step) && !this.culprits.has(step.number), open);
    this.rowOf = new Map();
    this.rows.forEach((row, at) => row.steps.forEach((step) => this.rowOf.set(step.number, at)));
    this.element = this.#draw(caption);
  }

  #x(id) {
    const at = this.lanes.findIndex((lane) => lane.id === id);
    return (Math.max(at, 0) + 0.5) * this.lane;
  }

  #y(number) {
    return (this.rowOf.get(number) + 0.5) * ROW;
  }

  #draw(caption) {
    const width = this.lanes.length * this.lane;
    const height = this.rows.length * ROW;
    this.list = h(
      "ol",
      {
        class: "rows",
        role: "listbox",
        tabindex: 0,
        "aria-label": caption,
        onclick: (event) => this.#clicked(event),
      },
      this.rows.map((row) => this.#row(row)),
    );
    if (this.plain) return h("div", { class: "diagram plain" }, this.list);
    const picture = svg(
      "svg",
      { class: "picture", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
      this.#lines(height),
      this.#bars(),
      this.rows.map((row) => (row.fold ? null : this.#step(row.steps[0]))),
    );
    const canvas = h(
      "div",
      { class: "canvas" },
      h(
        "div",
        { class: "lanes", "aria-hidden": "true" },
        h("span"),
        this.#headings(width),
        h("span", { class: "text" }, "step"),
      ),
      this.list,
    );
    this.list.append(picture);
    canvas.style.setProperty("--lanes", `${width}px`);
    canvas.style.setProperty("--row", `${ROW}px`);
    return h("div", { class: "diagram" }, canvas);
  }

  #clicked(event) {
    const row = event.target.closest(".row");
    if (!row) return;
    if (row.dataset.fold) this.unfold(Number(row.dataset.fold));
    else this.choose(Number(row.dataset.step));
  }

  #row({ steps, fold }) {
    const [step] = steps;
    if (fold) {
      const range = `(${step.number}–${steps.at(-1).number})`;
      const text = steps.every((folded) => folded.changes_nothing)
        ? `${plural(steps.length, "step")} that change nothing ${range}`
        : `${plural(steps.length, "other step")} ${range}`;
      return h(
        "li",
        {
          class: "row fold",
          role: "option",
          id: `row-${step.number}`,
          "data-fold": step.number,
          "aria-selected": "false",
        },
        h("span", { class: "number" }, "⋯"),
        h("span", { class: "text" }, text),
      );
    }
    const culprit = this.culprits.has(step.number);
    const cycle = this.cycle && step.number >= this.cycle.first && step.number <= this.cycle.last;
    const notes = [culprit && "at fault: ", cycle && "in the cycle: ", step.cost > 0 && "perturbation: "]
      .filter(Boolean)
      .join("");
    return h(
      "li",
      {
        class: `row${culprit ? " culprit" : ""}${cycle ? " cycle" : ""}`,
        role: "option",
        id: `row-${step.number}`,
        "data-step": step.number,
        "aria-selected": "false",
        title: step.text,
      },
      h("span", { class: "number" }, culprit && "◆ ", cycle && "↻ ", step.cost > 0 && "△", step.number),
      h(
        "span",
        { class: "text" },
        h("span", { class: "sr" }, notes),
        this.plain && h("span", { class: "who" }, step.actor || "user", " "),
        h("span", { class: "main" }, deedOf(step)),
        h("span", { class: "effect" }, effectOf(step)),
      ),
    );
  }

  #headings(width) {
    const parts = [];
    this.lanes.forEach((lane, at) => {
      const first = at === 0 || this.lanes[at - 1].group !== lane.group;
      const size = this.lanes.filter((other) => other.group === lane.group).length;
      if (first) parts.push(this.#heading(lane.group, (at + size / 2) * this.lane, 18, size * this.lane, "600"));
      if (lane.label && this.lane >= 34)
        parts.push(this.#heading(lane.label, (at + 0.5) * this.lane, 36, this.lane, "400"));
    });
    return svg("svg", { width, height: HEADER }, parts);
  }

  #heading(text, x, y, space, weight) {
    const most = Math.max(
      3,
      Math.floor((space - (weight === "600" && space < 60 ? 2 : -4)) / (weight === "600" ? 7 : 6)),
    );
    const short = text.length > most ? `${text.slice(0, most - 1)}…` : text;
    return svg(
      "text",
      { x, y, "text-anchor": "middle", "font-weight": weight, class: weight === "400" ? "muted" : null },
      svg("title", null, text),
      short,
    );
  }

  #lines(height) {
    return this.lanes.map((lane, at) =>
      svg("line", {
        class: `line ${lane.type}`,
        x1: (at + 0.5) * this.lane,
        x2: (at + 0.5) * this.lane,
        y1: 0,
        y2: height,
      }),
    );
  }

  /** Reconciles in flight, and caches that are behind the server: the wider the bar, the more writes are missing. */
  #bars() {
    const parts = reconciles(this.trace.steps).map(({ actor, first, last }) =>
      svg("rect", {
        class: "busy",
        x: this.#x(actor) - 4,
        width: 8,
        y: this.#y(first) - 6,
        height: Math.max(12, this.#y(last) - this.#y(first) + 12),
        rx: 3,
      }),
    );
    const lag = this.trace.lag();
    for (const lane of this.lanes.filter((candidate) => candidate.type === "cache")) {
      const x = this.#x(lane.id);
      let start = null;
      let count = 0;
      const close = (row) => {
        if (!count) return;
        const width = Math.min(8 + 2 * (count - 1), this.lane - 12, 16);
        parts.push(
          svg("rect", {
            class: "behind",
            x: x - width / 2,
            width,
            y: start * ROW + ROW / 2,
            height: (row - start) * ROW,
          }),
        );
        parts.push(svg("text", { x, y: start * ROW + ROW / 2 + 14, "text-anchor": "middle", class: "count" }, count));
      };
      this.rows.forEach((row, at) => {
        const now = lag[this.trace.positions.get(row.steps.at(-1).number)].get(lane.cache) || 0;
        if (now === count) return;
        close(at);
        [start, count] = [at, now];
      });
      close(this.rows.length - 0.5);
    }
    return parts;
  }

  #step(step) {
    const y = this.#y(step.number);
    const parts = [];
    const type = this.culprits.has(step.number) ? " culprit" : "";
    const own = this.#x(step.actor);
    const server = this.#x("server");
    for (const event of step.delivered) parts.push(...this.#event(event, step, y));
    if (isCachedRead(step)) {
      const stale = step.reads.some(isStale);
      parts.push(...this.#arrow(this.#x(`cache of ${step.actor}`), y, own, y, `${stale ? "stale" : ""}${type}`, ""));
    } else if (step.action === "timeout") {
      const end = (own + server) / 2;
      parts.push(...this.#arrow(own, y, end, y, `refused${type}`, ""), cross(end, y));
    } else if (step.call || step.action === "act") {
      const refused = isRefused(step);
      const writes = step.writes.length > 0;
      const label = [
        step.call ? step.call.verb : "",
        refused ? (step.response || "").slice(0, 3) : "",
        writes ? `→ ${step.writes[0].version}` : "",
      ]
        .filter(Boolean)
        .join(" ");
      if (writes || refused || !step.reads.length) {
        parts.push(...this.#arrow(own, y, server, y, `${refused ? "refused" : writes ? "write" : ""}${type}`, label));
      } else parts.push(...this.#arrow(server, y, own, y, type, label));
      // The response is lost on its way back.
      if (step.action === "lose") parts.push(cross(own + (server - own) / 4, y));
    } else if (step.action === "crash") parts.push(cross(own, y));
    else if (!["deliver", "relist"].includes(step.action)) {
      parts.push(
        step.action === "start"
          ? svg("path", { class: `head${type}`, d: `M${own - 5} ${y - 6}L${own + 7} ${y}L${own - 5} ${y + 6}Z` })
          : svg("path", {
              class: `arrow${type}`,
              d: `M${own} ${y - 3}V${y}H${own + 3}M${own - 6} ${y}a6 6 0 1 1 12 0a6 6 0 1 1 -12 0`,
            }),
      );
    }
    return parts;
  }

  /** An event starts in the row in which the server made the version, so its slope is the lag. */
  #event(event, step, y) {
    const entry = (this.trace.histories.get(event.object) || []).find(
      (candidate) => candidate.step && candidate.version === event.version,
    );
    if (!this.lanes.some((lane) => lane.cache === event.cache)) return [];
    const from = entry && this.rowOf.has(entry.step.number) ? this.#y(entry.step.number) : y;
    const target = this.#x(`cache of ${event.cache}`);
    return this.#arrow(this.#x("server"), Math.min(from, y), target, y, "event", "");
  }

  #arrow(x1, y1, x2, y2, type, label) {
    const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
    const parts = [
      svg("line", { class: `arrow ${type}`, x1, y1, x2, y2 }),
      svg("path", {
        class: `head ${type}`,
        d: "M0 0L-9 -4.5L-9 4.5Z",
        transform: `translate(${x2} ${y2}) rotate(${angle})`,
      }),
    ];
    // A label that is longer than its arrow would cover other lanes.
    if (label && label.length * 6.2 < Math.abs(x2 - x1))
      parts.push(svg("text", { class: "label", x: (x1 + x2) / 2, y: y1 - 5, "text-anchor": "middle" }, label));
    return parts;
  }

  /** The rows that the keyboard moves over. */
  neighbour(number, by) {
    const at = this.rowOf.has(number) ? this.rowOf.get(number) : by > 0 ? -1 : this.rows.length;
    const target = this.rows[Math.max(0, Math.min(this.rows.length - 1, at + by))];
    return target && target.steps[0].number;
  }

  isFold(number) {
    const row = this.rows[this.rowOf.get(number)];
    return Boolean(row && row.fold);
  }

  select(number) {
    this.list.querySelector('[aria-selected="true"]')?.setAttribute("aria-selected", "false");
    const at = this.rowOf.get(number);
    const row = at === undefined ? null : this.list.children[at];
    if (!row) return;
    row.setAttribute("aria-selected", "true");
    this.list.setAttribute("aria-activedescendant", row.id);
    this.#reveal(at);
  }

  // scrollIntoView would also scroll the page.
  #reveal(at) {
    const box = this.element;
    if (this.plain) {
      const row = this.list.children[at];
      if (row.offsetTop < box.scrollTop || row.offsetTop + row.offsetHeight > box.scrollTop + box.clientHeight)
        box.scrollTop = row.offsetTop - box.clientHeight / 3;
      return;
    }
    if (at * ROW < box.scrollTop) box.scrollTop = at * ROW;
    else if ((at + 1) * ROW + HEADER > box.scrollTop + box.clientHeight)
      box.scrollTop = (at + 2) * ROW + HEADER - box.clientHeight;
  }
}

const cross = (x, y) =>
  svg("path", {
    class: "arrow culprit",
    d: `M${x - 6} ${y - 6}L${x + 6} ${y + 6}M${x + 6} ${y - 6}L${x - 6} ${y + 6}`,
  });
function legend() {
  const entry = (type, text) =>
    h(
      "span",
      null,
      svg(
        "svg",
        { width: 34, height: 10, "aria-hidden": "true" },
        svg("line", { class: `arrow ${type}`, x1: 1, x2: 26, y1: 5, y2: 5 }),
        svg("path", { class: `head ${type}`, d: "M33 5L24 .5L24 9.5Z" }),
      ),
      text,
    );
  return h(
    "p",
    { class: "legend" },
    entry("", "read"),
    entry("write", "write"),
    entry("refused", "refused or failed"),
    entry("event", "event, from the write to its delivery"),
    entry("stale", "stale read"),
    entry("culprit", "◆ at fault"),
    h("span", null, "△ perturbation"),
    h("span", null, "▶ start"),
    h("span", null, "✕ crash, or lost on the way"),
    h(
      "span",
      null,
      svg(
        "svg",
        { width: 14, height: 12, "aria-hidden": "true" },
        svg("rect", { class: "behind", width: 14, height: 12 }),
      ),
      "number of writes that the cache has not seen",
    ),
  );
}
