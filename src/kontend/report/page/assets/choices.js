// The interactive page: the reader takes one of the enabled steps, and the server answers with the state after it.

class Explorer {
  constructor(url) {
    this.url = url;
    this.error = "";
  }

  /** Bring an item to the state after a path such as "0.2.1"; returns whether it has changed. */
  async load(item, take) {
    if (item.taken === take) return false;
    item.wanted = take;
    const path = take ? take.split(".").map(Number) : [];
    try {
      const response = await fetch(this.url, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ scenario: item.scenario.name, path }),
      });
      const answer = await response.json();
      this.error = answer.error || "";
      // A reader who is faster than the server has asked for another state since.
      if (item.wanted !== take) return false;
      item.taken = take;
      if (!answer.error) Object.assign(item, answer);
    } catch (error) {
      this.error = `The server does not answer: ${error.message}. Is kontend explore still running?`;
    }
    return true;
  }
}

const EMPTY = { steps: [], actors: [], objects: {}, initial: {}, sources: {}, baseline: null, bounds: {}, guards: [] };
const NOTHING = { property: "", sentence: "", culprits: [], perturbations: [], difference: [], also: [] };

/** A scenario that is explored by hand; it has a document before the server has answered, too. */
const exploredItem = (scenario, at) => ({
  id: `x${at + 1}`,
  scenario,
  interactive: true,
  taken: null,
  document: { ...EMPTY, violation: NOTHING },
  choices: [],
  quiescent: false,
  violations: [],
});

const longer = (take, choice) => (take ? `${take}.${choice}` : String(choice));
const shorter = (take) => take.split(".").slice(0, -1).join(".");

function choicesView(item, take, error, choose) {
  const steps = take ? take.split(".").length : 0;
  const choice = (each, at) =>
    h(
      "li",
      null,
      h(
        "button",
        { class: "choice", onclick: () => choose(longer(take, at)) },
        at < 9 && [h("kbd", null, at + 1), " "],
        each.text,
        each.cost > 0 && h("span", { class: "unsure" }, ` △ ${plural(each.cost, "perturbation")}`),
        each.returns_to !== null && h("span", { class: "muted" }, ` (back to the state after step ${each.returns_to})`),
        each.violates.length > 0 && h("strong", { class: "bad" }, ` ✘ violates ${each.violates.join(", ")}`),
      ),
    );
  return h(
    "section",
    { class: "box", id: "choices", "aria-label": "Next steps" },
    h("h3", null, `Next steps (${item.choices.length})`),
    error && h("p", { class: "bad", role: "alert" }, error),
    item.quiescent && h("p", { class: "good" }, "✔ Quiescent: nothing more is written."),
    h("ol", { class: "choices" }, item.choices.map(choice)),
    h(
      "p",
      null,
      h("button", { id: "undo", disabled: steps === 0, onclick: () => choose(shorter(take)) }, "Undo the last step"),
      " ",
      h("button", { id: "restart", disabled: steps === 0, onclick: () => choose("") }, "Start again"),
    ),
  );
}

/** The violations along the path, above the diagram. */
function pathVerdict({ scenario, violations, document: { violation } }, goto) {
  if (!violations.length) {
    return [h("h2", null, scenario.name), h("p", { class: "good" }, "✔ Nothing is violated on this path so far.")];
  }
  const others = violations.filter(({ property }) => property !== violation.property);
  return [
    ...verdictOf({ scenario, document: { violation } }, goto),
    ...others.map(({ property, sentence, step }) =>
      h("p", null, h("strong", { class: "bad" }, `✘ ${property}`), ` after step ${step}: ${sentence}`),
    ),
  ];
}
