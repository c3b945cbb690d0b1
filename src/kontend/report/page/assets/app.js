// The page: reads the data, keeps the selection in the URL, and handles the keyboard.

const TABS = { trace: "Trace", fields: "Who wrote this field?", compare: "Compare", explored: "What was explored", time: "Virtual time" };
const KEYS = [
  ["↓ ↑", "next, previous step"],
  ["Home End", "first, last step"],
  ["PageDown PageUp", "ten steps on, back"],
  ["c", "next step at fault"],
  ["Enter", "unfold the selected steps"],
  ["f", "fold or unfold the steps that do not matter"],
  ["n p", "next, previous violation"],
  ["1 2 3 4", "trace, fields, compare, explored"],
  ["1 2 … 9 u", "in an interactive page: take the first, second … step, undo the last one"],
  ["w", "who wrote the first field of this step?"],
  ["t", "light or dark"],
  ["?", "this list"],
];

class Page {
  constructor(data, root) {
    this.data = data;
    this.root = root;
    this.open = new Set();
    this.showAll = false;
    this.picture = false;
    this.explorer = data.interactive ? new Explorer(data.interactive) : null;
    this.items = data.scenarios.flatMap((scenario, at) => itemsOf(data, scenario, at));
    this.traces = new Map();
    this.#frame();
    addEventListener("hashchange", () => location.hash === this.hash || this.show());
    addEventListener("keydown", (event) => this.#key(event));
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth !== width) this.show(true);
      width = innerWidth;
    });
  }

  // The selection, as in the URL: #/v1/trace/7?object=…&field=…

  read() {
    const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
    const [id, tab, step] = path.split("/").map(decoded);
    const item =
      this.items.find((candidate) => candidate.id === id) ||
      this.items.find((candidate) => candidate.document) ||
      this.items[0];
    const parameters = new URLSearchParams(query || "");
    const tabs = this.#tabs(item);
    return {
      item,
      tab: tabs.includes(tab) ? tab : tabs[0],
      // Without a step in the URL the page opens at the one at fault.
      step: /^\d+$/.test(step || "") ? Number(step) : (item.document?.violation.culprits.at(-1) ?? null),
      object: parameters.get("object") || "",
      field: parameters.get("field") || "",
      take: item.interactive && /^\d+(\.\d+)*$/.test(parameters.get("take") || "") ? parameters.get("take") : "",
    };
  }

  go(change) {
    const { item, tab, step, object, field, take } = { ...this.selection, ...change };
    const parameters = new URLSearchParams();
    if (object && tab === "fields") parameters.set("object", object);
    if (field && tab === "fields") parameters.set("field", field);
    if (take && item.interactive) parameters.set("take", take);
    const query = String(parameters);
    const hash = `#/${item.id}/${tab}${step === null ? "" : `/${step}`}${query ? `?${query}` : ""}`;
    // A replaced entry, so that one press of Back leaves a trace that was stepped through.
    const current = this.selection;
    const stepped = current && item === current.item && tab === current.tab && take === current.take;
    if (stepped) location.replace(hash);
    else if (hash !== location.hash) location.hash = hash;
    this.show();
  }

  // Drawing

  #frame() {
    const bad = this.data.documents.length;
    const verdicts = new Set(this.data.scenarios.map((scenario) => scenario.verdict));
    this.theme = new Theme();
    this.help = h(
      "dialog",
      { id: "help", "aria-label": "Keys" },
      h("h3", null, "Keys"),
      table(
        ["key", ""],
        KEYS.map(([key, text]) => [key.split(" ").map((part) => [h("kbd", null, part), " "]), text]),
      ),
      h("form", { method: "dialog" }, h("button", null, "Close")),
    );
    this.nav = h("nav", { "aria-label": "Scenarios and violations" });
    this.main = h("main", { id: "main" });
    const chip = this.explorer
      ? ["unsure", "interactive"]
      : bad
        ? ["bad", `✘ ${plural(bad, "violation")}`]
        : verdicts.has("violated")
          ? ["bad", "✘ violated"]
          : verdicts.has("undecided")
            ? ["unsure", "… undecided"]
            : verdicts.has("settles")
              ? ["good", "✔ every run comes to rest"]
              : ["good", "✔ holds"];
    this.root.replaceChildren(
      h(
        "header",
        null,
        h("h1", null, this.data.title),
        h("span", { class: `chip ${chip[0]}` }, chip[1]),
        h("span", { class: "space" }),
        this.theme.button,
        h("button", { id: "keys", onclick: () => this.help.showModal() }, "Keys"),
      ),
      this.nav,
      this.main,
      this.help,
    );
    this.root.className = "ready";
  }

  show(redraw = false) {
    const before = this.selection;
    this.hash = location.hash;
    this.selection = this.read();
    const { item, tab, step, object, field, take } = this.selection;
    if (item.interactive && item.taken !== take) {
      this.explorer.load(item, take).then((changed) => {
        this.traces.delete(item);
        if (changed) this.show(true);
      });
    }
    const onlyStep =
      before &&
      !redraw &&
      before.item === item &&
      before.tab === tab &&
      before.object === object &&
      before.field === field;
    if (onlyStep && tab === "trace" && this.diagram) {
      if (this.diagram.isFold(step) && before.step !== step && !this.diagram.rowOf.has(before.step))
        this.open.add(step);
      this.#selectStep();
      return;
    }
    this.nav.replaceChildren(...navigationOf(this.data.scenarios, this.items, item, (chosen) => this.#open(chosen)));
    const goto = (number) => this.go({ tab: "trace", step: number });
    const verdict = item.interactive ? pathVerdict(item, goto) : verdictOf(item, goto);
    this.main.replaceChildren(...verdict, this.#tabBar(item, tab), this.#panel());
    if (tab === "trace" && this.diagram) this.#selectStep();
  }

  #open(item) {
    this.go({ item, tab: this.#tabs(item)[0], step: null, object: "", field: "", take: "" });
  }

  #tabs(item) {
    if (isTimed(item.scenario)) return ["time"];
    if (!item.document) return ["explored"];
    if (item.interactive) return ["trace", "fields"];
    return Object.keys(TABS).filter((tab) => tab !== "time" && (tab !== "compare" || item.document.baseline));
  }

  #tabBar(item, current) {
    return h(
      "div",
      { class: "tabs", role: "tablist" },
      this.#tabs(item).map((tab) =>
        h(
          "button",
          {
            role: "tab",
            id: `tab-${tab}`,
            "aria-selected": tab === current ? "true" : "false",
            onclick: () => this.go({ tab }),
          },
          TABS[tab],
        ),
      ),
    );
  }

  #trace(item) {
    if (!this.traces.has(item)) this.traces.set(item, new Trace(item.document.steps, item.document));
    return this.traces.get(item);
  }

  #panel() {
    const { item, tab, object, field } = this.selection;
    const failing = item.document;
    const goto = (number) => this.go({ tab: "trace", step: number });
    this.diagram = null;
    if (tab === "trace") return this.#tracePanel(item);
    const panel = (...content) => h("section", { role: "tabpanel", "aria-labelledby": `tab-${tab}` }, content);
    if (tab === "fields") {
      return panel(
        fieldView(this.#trace(item), {
          object,
          path: field,
          culprits: failing.violation.culprits,
          goto,
          choose: (chosen, path) => this.go({ tab, object: chosen, field: path }),
        }),
      );
    }
    if (tab === "time") return panel(timeView(item.scenario));
    if (tab === "compare")
      return panel(compareView(failing.steps, failing.baseline, { culprits: failing.violation.culprits, goto }));
    return panel(
      explorationView(item.scenario.exploration, failing && this.#trace(item), {
        bounds: failing && failing.bounds,
        guards: failing && failing.guards,
        untested: item.scenario.untested,
        recorded: failing?.violation.how === "recorded",
      }),
    );
  }

  #tracePanel(item) {
    const { violation, actors } = item.document;
    const trace = this.#trace(item);
    const width = this.#diagramWidth();
    const isNarrow = width < NARROW;
    const choose = (number) => this.go({ step: number });
    const essential = item.interactive ? null : essentialSteps(trace, violation);
    this.isHidden = (step) =>
      !this.showAll &&
      !violation.culprits.includes(step.number) &&
      (step.changes_nothing || Boolean(essential && !essential.has(step.number)));
    if (this.selection.step !== null) this.#unfoldAround(trace, this.selection.step);
    this.diagram = new Diagram(trace, {
      actors,
      culprits: violation.culprits,
      cycle: violation.cycle,
      open: this.open,
      isHidden: this.isHidden,
      idle: Boolean(item.interactive),
      plain: isNarrow && !this.picture,
      width,
      choose,
      caption: `Steps of ${violation.property}`,
      unfold: (number) => {
        this.open.add(number);
        this.go({ step: number });
        this.show(true);
      },
    });
    this.details = h("aside", {
      class: "details",
      "aria-labelledby": "details-title",
      "aria-live": "polite",
      tabindex: 0,
    });
    const folds = (step) => step.changes_nothing || Boolean(essential && !essential.has(step.number));
    const hidden = trace.steps.filter((step) => folds(step) && !violation.culprits.includes(step.number));
    const nothing = hidden.every((step) => step.changes_nothing);
    this.overview = trace.steps.length > SHORT ? this.#overviewOf(trace, violation, width) : null;
    return h(
      "section",
      { role: "tabpanel", "aria-labelledby": "tab-trace" },
      h(
        "div",
        { class: "toolbar" },
        hidden.length > 0 &&
          h(
            "label",
            null,
            h("input", { type: "checkbox", id: "show-all", checked: this.showAll, onchange: () => this.#fold() }),
            nothing
              ? `show ${plural(hidden.length, "step that changes nothing", "steps that change nothing")}`
              : `show all ${plural(trace.steps.length, "step")}`,
          ),
        isNarrow &&
          h("button", { id: "picture", onclick: () => this.#togglePicture() }, this.picture ? "List" : "Diagram"),
        h("span", { class: "muted" }, plural(trace.steps.length, "step"), ". Arrow keys move, ? lists all keys."),
      ),
      h(
        "div",
        { class: "split" },
        h("div", null, this.overview && this.overview.element, this.diagram.element, !this.diagram.plain && legend()),
        h("div", { class: "aside" }, this.#choices(item), this.details),
      ),
    );
  }

  /** The strip of all steps; a step that is folded is unfolded where it is chosen. */
  #overviewOf(trace, { culprits }, width) {
    const choose = (step) => {
      this.go({ step });
      this.show(true);
    };
    return new Overview(trace, { culprits, width, choose });
  }

  #togglePicture() {
    this.picture = !this.picture;
    this.show(true);
  }

  #choices(item) {
    if (!item.interactive) return null;
    return choicesView(item, this.selection.take, this.explorer.error, (take) => this.#choose(take));
  }

  #choose(take) {
    this.go({ tab: "trace", take, step: take ? take.split(".").length : null });
  }

  /** The space for the diagram: what the column of the details leaves, as in the style sheet. */
  #diagramWidth() {
    const style = getComputedStyle(this.main);
    const width = this.main.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return matchMedia("(max-width: 56rem)").matches ? width : width - 16 - Math.max(304, 0.34 * width);
  }

  #unfoldAround(trace, number) {
    const at = trace.positions.get(number);
    if (at === undefined || !this.isHidden(trace.steps[at])) return;
    let first = at;
    while (first > 0 && this.isHidden(trace.steps[first - 1])) first -= 1;
    if (first !== at) this.open.add(trace.steps[first].number);
  }

  #selectStep() {
    const { item, step } = this.selection;
    const trace = this.#trace(item);
    const current = trace.steps[trace.positions.get(step)];
    this.diagram.select(step);
    this.overview?.select(step);
    const folded = step !== null && this.diagram.isFold(step);
    this.details.replaceChildren(
      ...(folded
        ? [h("p", { id: "details-title" }, "These steps are folded. Press Enter to show them one by one.")]
        : flat(
            stepDetails(trace, current, {
              culprits: item.document.violation.culprits,
              sources: item.document.sources,
              follow: (object, field) => this.go({ tab: "fields", object, field }),
            }),
          )),
    );
    this.details.parentElement.scrollTop = 0;
  }

  #fold() {
    this.showAll = !this.showAll;
    if (!this.showAll) this.open.clear();
    this.show(true);
  }

  // The keyboard

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    const target = event.target;
    if (target.closest("input:not([type=checkbox]), select, textarea")) return;
    if (this.#moved(event, target) || this.#commanded(event.key)) event.preventDefault();
  }

  #moved({ key }, target) {
    if (!this.diagram || target.closest(".details, .diff, pre")) return false;
    const { step } = this.selection;
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 }[key];
    if (by !== undefined) {
      this.go({ step: this.diagram.neighbour(step, by) });
      return true;
    }
    if (
      ["Enter", "ArrowRight"].includes(key) &&
      step !== null &&
      this.diagram.isFold(step) &&
      !target.closest("button, a, summary")
    ) {
      this.open.add(step);
      this.show(true);
      return true;
    }
    return false;
  }

  #commanded(key) {
    const { item, step } = this.selection;
    const tab = this.#tabs(item)[Number(key) - 1];
    if (item.interactive && /^[1-9]$/.test(key)) {
      if (!item.choices[Number(key) - 1] || item.taken !== this.selection.take) return false;
      this.#choose(longer(item.taken, Number(key) - 1));
    } else if (item.interactive && key === "u" && this.selection.take) this.#choose(shorter(this.selection.take));
    else if (/^[1-4]$/.test(key) && tab) this.go({ tab });
    else if (key === "t") this.theme.toggle();
    else if (key === "?") this.help.showModal();
    else if (key === "f" && this.diagram) this.#fold();
    else if (key === "n" || key === "p") {
      const at = this.items.indexOf(item) + (key === "n" ? 1 : -1);
      const next = this.items[(at + this.items.length) % this.items.length];
      this.#open(next);
    } else if (key === "c" && item.document && item.document.violation.culprits.length) {
      const { culprits } = item.document.violation;
      this.go({ tab: "trace", step: culprits.find((number) => number > (step ?? 0)) ?? culprits[0] });
    } else if (key === "w" && item.document && step !== null) {
      const write = item.document.steps.find((each) => each.number === step)?.writes[0];
      if (write)
        this.go({
          tab: "fields",
          object: write.object,
          field: write.before && write.after && write.fields.length ? changesOf(write)[0].path : "",
        });
    } else return false;
    return true;
  }
}

/** What the list on the left leads to: violations, scenarios without one, scenarios that are explored by hand. */
function itemsOf(data, scenario, at) {
  if (data.interactive) return [exploredItem(scenario, at)];
  if (!scenario.violations.length) return [{ id: `s${at + 1}`, scenario, document: null }];
  return scenario.violations.map((number) => ({ id: `v${number + 1}`, scenario, document: data.documents[number] }));
}

const isTimed = (scenario) => Boolean(scenario.sweep) || (scenario.runs || []).length > 0;
const flat = (children) => h("div", null, children).childNodes;
// Reading a malformed escape must not take the page down.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
async function content() {
  const element = document.getElementById("data");
  if (element.dataset.encoding === "json") return JSON.parse(element.textContent);
  const bytes = Uint8Array.from(atob(element.textContent.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

content().then(
  (data) => {
    const page = new Page(data, document.getElementById("app"));
    page.show();
    document.documentElement.dataset.ready = "true";
  },
  // The summary stays as it is.
  (error) =>
    document.getElementById("app").append(h("p", null, `This browser cannot read the trace: ${error.message}`)),
);
