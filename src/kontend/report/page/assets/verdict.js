// Verdicts: the list of scenarios and violations, and the explanation of one of them.

/** The verdict of a scenario, or a violation with its cause and its fix. */
function verdictOf({ scenario, document: failing }, goto) {
  if (!failing) return [h("h2", null, scenario.name), h("p", null, scenario.sentence)];
  const { property, sentence, fix, difference, cycle, traceback, perturbations, culprits, also, verified } = failing.violation;
  const step = (number) => h("button", { class: "link", onclick: () => goto(number) }, `step ${number}`);
  return [
    h("h2", null, h("span", { class: "bad" }, "✘ "), property),
    scenario.sentence && h("p", { class: "small muted" }, scenario.sentence),
    h(
      "div",
      { class: "box fault" },
      h("p", { id: "sentence" }, h("strong", null, sentence)),
      culprits.length > 0 &&
        h(
          "p",
          null,
          "At fault: ",
          culprits.map((number, at) => [at ? " and " : "", step(number)]),
        ),
      perturbations.length > 0 && h("p", { class: "small" }, "Needs: ", perturbations.join(", ")),
      also.length > 0 && h("p", { class: "small" }, "The same cause violates: ", also.join(", ")),
      cycle &&
        h(
          "p",
          null,
          "From ",
          step(cycle.first),
          " to ",
          step(cycle.last),
          failing.violation.how === "recorded" ? " the same writes come round again." : " the run repeats forever.",
        ),
      cycle &&
        cycle.writes.length > 0 &&
        table(
          ["field", "before", "after"],
          cycle.writes.map((write) => [
            h("code", null, write.path),
            h("code", null, shown(write.before ?? undefined)),
            h("code", null, shown(write.after ?? undefined)),
          ]),
          { class: "cards" },
        ),
      difference.length > 0 && [
        h("p", null, "The final state differs from the nearest good one:"),
        differenceList(difference),
      ],
      traceback && h("details", null, h("summary", null, "Traceback"), h("pre", null, traceback)),
    ),
    fix &&
      h(
        "div",
        { class: "box fix" },
        h("p", null, h("strong", null, "Fix: "), fix.text),
        fix.line &&
          h(
            "p",
            { class: "small" },
            `${fix.line.file}:${fix.line.line} `,
            !fix.before?.length && !fix.after?.length && h("code", null, fix.line.text.trim()),
          ),
        linesOf(fix),
      ),
    verified &&
      h(
        "div",
        { class: "box fix" },
        h("p", null, h("strong", null, "Fix "), `(${verified.proof})`),
        verified.hunks.map((hunk) => [h("p", { class: "small" }, `${verified.file}:${hunk.line}`), linesOf(hunk)]),
      ),
  ].filter(Boolean);
}

/** The lines that a fix takes away and adds, as far to the left as they go together. */
function linesOf({ before = [], after = [] }) {
  const lines = [...before.map((line) => ["removed", "−", line]), ...after.map((line) => ["added", "+", line])];
  if (!lines.length) return null;
  const indents = lines.filter(([, , line]) => line.trim()).map(([, , line]) => line.length - line.trimStart().length);
  const cut = indents.length ? Math.min(...indents) : 0;
  return h(
    "div",
    { class: "diff code" },
    lines.map(([sort, mark, line]) => h("div", { class: sort }, h("span", { class: "mark" }, mark), line.slice(cut))),
  );
}

/** The list of scenarios, with their violations and properties. */
function navigationOf(scenarios, items, current, choose) {
  const entry = (item, type, mark, text) =>
    h(
      "li",
      null,
      h(
        "button",
        { "aria-current": item === current ? "true" : null, onclick: () => choose(item) },
        h("span", { class: type }, mark),
        ` ${text}`,
      ),
    );
  const shownItem = (item) => {
    if (item.interactive) return entry(item, "unsure", "▸", "explore by hand");
    if (item.document) {
      const { property, also } = item.document.violation;
      return entry(item, "bad", "✘", [property, ...also].join(", "));
    }
    if (isTimed(item.scenario)) {
      const name = item.scenario.sweep ? `time bands of ${item.scenario.sweep.parameter}` : "runs in virtual time";
      return item.scenario.verdict === "violated" ? entry(item, "bad", "✘", name) : entry(item, "good", "✔", name);
    }
    return item.scenario.verdict === "holds"
      ? entry(item, "good", "✔", "everything holds")
      : entry(item, "unsure", "…", "undecided");
  };
  return scenarios.map((scenario) =>
    h(
      "section",
      null,
      h("h3", null, scenario.name),
      h("ul", null, items.filter((item) => item.scenario === scenario).map(shownItem)),
      propertiesOf(scenario),
    ),
  );
}

function propertiesOf({ properties }) {
  const others = properties.filter((property) => property.state !== "violated");
  if (!others.length) return null;
  const line = ({ name, state }) => {
    const [type, mark] = state === "holds" ? ["good", "✔"] : ["unsure", "…"];
    const note = { untested: " (never exercised)", undecided: " (undecided)" }[state] || "";
    return h("li", null, h("span", { class: type }, mark), ` ${name}${note}`);
  };
  const title = `${plural(others.length, "property", "properties")} not violated`;
  const open = others.some((property) => property.state === "untested");
  return h("details", { class: "small muted", open }, h("summary", null, title), h("ul", null, others.map(line)));
}
