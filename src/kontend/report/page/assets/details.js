// One step: its line of code, what it read and wrote, the objects before and after, and what each cache held.

function stepDetails(trace, step, { culprits, follow, sources }) {
  if (!step) return [h("p", { class: "muted" }, "Select a step: click on it, or use the arrow keys.")];
  const position = trace.positions.get(step.number);
  return [
    h("h3", { id: "details-title" }, `Step ${step.number} · ${step.actor}`),
    h(
      "p",
      null,
      culprits.includes(step.number) && h("span", { class: "chip bad" }, "◆ at fault"),
      " ",
      step.cost > 0 && h("span", { class: "chip unsure" }, `△ ${plural(step.cost, "perturbation")}`),
      " ",
      step.changes_nothing && h("span", { class: "chip muted" }, "changes nothing"),
    ),
    h("p", null, step.text),
    step.response && h("p", null, "Response: ", h("code", null, step.response)),
    step.failure && h("p", { class: "bad" }, "The reconcile failed: ", h("code", null, step.failure)),
    sourceLine(step.line, sources),
    readsOf(step),
    step.writes.map((write) => writeOf(trace, write, follow)),
    deliveriesOf(step),
    heldBy(trace, step, position),
    clusterAt(trace, position, follow),
  ];
}

/** A line of code with those around it, as far as they are recorded. */
function sourceLine(line, sources) {
  if (!line) return null;
  const lines = Object.entries((sources || {})[line.file] || {}).map(([number, text]) => [Number(number), text]);
  const near = lines.filter(([number]) => Math.abs(number - line.line) <= 3).sort(([one], [other]) => one - other);
  if (!near.some(([number]) => number === line.line)) near.splice(0, near.length, [line.line, line.text]);
  const place = h("p", { class: "small muted" }, `${line.file}:${line.line}${line.function ? `, in ${line.function}` : ""}`);
  // A line of a log has no text.
  if (near.every(([, text]) => !text)) return [h("h4", null, "Source"), place];
  // Lines of an inner block start near the margin; those of outer blocks keep what they have.
  const indent = Math.max(0, near.find(([number]) => number === line.line)[1].match(/^ */)[0].length - 4);
  return [
    h("h4", null, "Source"),
    place,
    h(
      "pre",
      { class: "source", tabindex: 0, "aria-label": "Source lines" },
      near.map(([number, text]) => {
        const current = number === line.line;
        const label = `${current ? "▸" : " "} ${String(number).padStart(4)}  ${text.slice(Math.min(indent, text.match(/^ */)[0].length))}`;
        return h("span", { class: current ? "current" : null }, label);
      }),
    ),
  ];
}

function readsOf(step) {
  const reads = step.reads;
  if (!reads.length) return null;
  return [
    h("h4", null, isCachedRead(step) ? "Read from the cache" : "Read"),
    table(
      ["object", "read", "server had"],
      reads.map((read) => [
        h("code", null, read.object),
        read.hash ? String(read.version ?? "") : "not found",
        isStale(read)
          ? h("strong", { class: "bad" }, `${read.latest ?? "nothing"} (stale)`)
          : String(read.latest ?? "nothing"),
      ]),
      { class: "cards" },
    ),
    step.reads_omitted > 0 && h("p", { class: "small muted" }, `and ${plural(step.reads_omitted, "object")} more`),
  ];
}

function writeOf(trace, write, follow) {
  const verb = !write.before ? "Created" : !write.after ? "Deleted" : "Wrote";
  const fields = changesOf(write);
  return [
    h("h4", null, `${verb} `, h("code", null, write.object), ` as version ${write.version}`),
    fields.length > 0 &&
      write.before &&
      write.after &&
      table(
        ["field", "before", "after"],
        fields.map((field) => [
          h(
            "button",
            { class: "link code", title: "Who wrote this field?", onclick: () => follow(write.object, field.path) },
            field.path,
          ),
          h("code", null, shown(field.before ?? undefined)),
          h("code", null, shown(field.after ?? undefined)),
        ]),
        { class: "cards" },
      ),
    objectDiff(trace.object(write.before), trace.object(write.after), (path) => follow(write.object, path)),
  ];
}

/** An object before and after, line by line; each line leads to the writers of its field. */
function objectDiff(before, after, follow) {
  const names = { "+": "added", "-": "removed", " ": "" };
  const lines = differences(before, after);
  if (!lines.length) return h("p", { class: "muted" }, "The content of this version was not recorded.");
  return h(
    "div",
    { class: "diff code", tabindex: 0, role: "group", "aria-label": "Object before and after" },
    lines.map((line) =>
      h(
        "div",
        { class: names[line.mark] },
        h("span", { class: "mark" }, line.mark),
        h(
          "button",
          {
            tabindex: -1,
            title: line.path ? `Who wrote ${line.path}?` : null,
            onclick: () => line.path && follow(line.path),
          },
          "  ".repeat(line.depth) + line.text,
        ),
      ),
    ),
  );
}

function deliveriesOf(step) {
  const events = step.delivered;
  if (!events.length) return null;
  return [
    h("h4", null, "Delivered"),
    table(
      ["cache of", "object", "version"],
      events.map((event) => [
        event.cache,
        h("code", null, event.object),
        event.hash ? String(event.version) : `${event.version} (deleted)`,
      ]),
      { class: "cards" },
    ),
  ];
}

/** What each cache held of the objects that a step touches. */
function heldBy(trace, step, position) {
  const touched = [...new Set([...step.reads, ...step.writes, ...step.delivered].map((each) => each.object))].slice(
    0,
    20,
  );
  const rows = [];
  for (const object of touched) {
    for (const cache of trace.kinds.keys()) {
      const held = trace.inCache(cache, object, position);
      if (!held) continue;
      const server = trace.onServer(object, position);
      rows.push([
        cache,
        h("code", null, object),
        [
          held.hash ? String(held.version ?? "as at the start") : "nothing",
          held.behind > 0 && h("strong", { class: "bad" }, ` (${held.behind} behind)`),
        ],
        server && server.hash ? String(server.version ?? "as at the start") : "nothing",
      ]);
    }
  }
  if (!rows.length) return null;
  return [h("h4", null, "Caches after this step"), table(["cache of", "object", "holds", "server has"], rows, { class: "cards" })];
}

/** All objects after a step, each opened on demand. */
function clusterAt(trace, position, follow) {
  const objects = trace.objectsUntil(position);
  if (!objects.length) return null;
  const entry = (object) => {
    const { version, hash } = trace.onServer(object, position);
    const title = [h("code", null, object), ` ${hash ? (version ?? "as at the start") : "(deleted)"}`];
    if (!hash) return h("p", { class: "small muted" }, title);
    const box = h(
      "details",
      {
        class: "small",
        ontoggle: () => {
          if (box.open && box.children.length === 1)
            box.append(objectDiff(trace.object(hash), trace.object(hash), (path) => follow(object, path)));
        },
      },
      h("summary", null, title),
    );
    return box;
  };
  const all = h(
    "details",
    {
      ontoggle: () => {
        if (all.open && all.children.length === 1) all.append(...objects.slice(0, 1000).map(entry));
      },
    },
    h("summary", null, h("strong", null, `All objects after this step (${objects.length})`)),
  );
  return all;
}
