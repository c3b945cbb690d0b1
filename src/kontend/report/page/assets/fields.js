// "Who wrote this field?": the chain of writes of one field, each with the version that its writer had read.

function fieldView(trace, { object, path, culprits, choose, goto }) {
  const objects = [...trace.histories.keys()];
  if (!objects.length) return [h("p", { class: "muted" }, "This trace has no objects.")];
  const current = objects.includes(object) ? object : objects[0];
  const counts = trace.fields(current);
  const paths = [...counts.keys()].sort();
  const listing = h(
    "datalist",
    { id: "paths" },
    paths.map((each) => h("option", { value: each })),
  );
  const select = h(
    "select",
    { id: "field-object", onchange: () => choose(select.value, "") },
    objects.map((each) => h("option", { value: each, selected: each === current }, each)),
  );
  const input = h("input", {
    id: "field-path",
    list: "paths",
    value: path || "",
    placeholder: "status.phase",
    spellcheck: "false",
    autocomplete: "off",
    onchange: () => choose(current, input.value.trim()),
  });
  return [
    h("div", { class: "form" }, h("label", null, "Object", select), h("label", null, "Field", input, listing)),
    path ? chainOf(trace, current, path, culprits, goto) : fieldList(current, counts, choose),
  ];
}

function fieldList(object, counts, choose) {
  const written = [...counts].filter(([, count]) => count);
  written.sort((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1));
  return [
    h(
      "p",
      null,
      written.length
        ? "Fields that this trace changes, the most often written first:"
        : "No step of this trace changes this object.",
    ),
    h(
      "ul",
      null,
      written
        .slice(0, 200)
        .map(([path, count]) =>
          h(
            "li",
            null,
            h("button", { class: "link code", onclick: () => choose(object, path) }, path),
            ` ${plural(count, "write")}`,
          ),
        ),
    ),
  ];
}

function chainOf(trace, object, path, culprits, goto) {
  const chain = trace.writers(object, path);
  const initial = trace.histories.get(object).find((entry) => !entry.write);
  return [
    h("h3", null, h("code", null, path), " of ", h("code", null, object)),
    h(
      "ol",
      { class: "chain", id: "chain" },
      initial &&
        h(
          "li",
          null,
          h("strong", null, "At the start"),
          ": ",
          h("code", null, shown(fieldOf(trace.object(initial.hash), path))),
        ),
      chain.map((entry) =>
        h(
          "li",
          { class: entry.stale ? "stale" : "" },
          h("button", { class: "link", onclick: () => goto(entry.step.number) }, `Step ${entry.step.number}`),
          ` ${entry.step.actor} `,
          culprits.includes(entry.step.number) && h("span", { class: "chip bad" }, "◆ at fault"),
          h(
            "div",
            null,
            h("code", null, shown(entry.before)),
            " → ",
            h("code", null, shown(entry.after)),
            ` as version ${entry.version}`,
          ),
          h("div", { class: entry.stale ? "bad" : "muted" }, basisText(entry)),
          entry.step.line &&
            h(
              "div",
              { class: "small muted" },
              `${entry.step.line.file}:${entry.step.line.line}`,
              entry.step.line.text && [" ", h("code", null, entry.step.line.text.trim())],
            ),
        ),
      ),
    ),
    !chain.length && h("p", null, "No step of this trace writes this field."),
  ];
}

function basisText({ base, read, over, stale }) {
  if (base === null) return over === null ? "The object did not exist before." : "The writer had not read the object.";
  const had = `The writer had version ${base}${read === null ? "" : `, from step ${read}`}`;
  return stale
    ? `${had}, and wrote over version ${over}: it did not know the changes in between.`
    : `${had}: the latest one.`;
}
