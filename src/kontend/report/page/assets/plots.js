// Plots of the search and of the trace: states by depth, reconciles and cache lag over time, the map of final states.

function explorationView(exploration, trace, { bounds, guards, untested, recorded }) {
  if (!exploration)
    return [
      h(
        "p",
        { class: "muted" },
        recorded
          ? "The steps are those of a recorded log; nothing was explored."
          : "This file does not say how the violation was found.",
      ),
      trace && timePlot(trace, recorded),
    ];
  const { states, steps, exhausted, stopped, seconds, coverage } = exploration;
  return [
    h(
      "p",
      null,
      exhausted
        ? h("span", { class: "chip good" }, "✔ exhausted")
        : h("span", { class: "chip unsure" }, "… not exhausted"),
      " ",
      `${plural(states, "state")}, ${plural(steps, "step")}${seconds ? `, ${seconds.toFixed(1)} s` : ""}`,
    ),
    !exhausted && stopped && h("p", null, `The search stopped because ${stopped}.`),
    coverage && h("p", null, "Covers: ", coverage),
    bounds &&
      bounded(bounds).length > 0 &&
      h(
        "p",
        { class: "small muted" },
        "Bounds: ",
        bounded(bounds)
          .map(([name, value]) => `${name} ${shown(value)}`)
          .join(", "),
      ),
    guards && guards.length > 0 && h("p", { class: "small muted" }, "Guards that are on: ", guards.join(", ")),
    (untested || []).length > 0 && h("p", { class: "unsure" }, "Never exercised: ", untested.join(", ")),
    exploration.depths.length > 1 && depthPlot(exploration.depths),
    exploration.final_states.length > 0 && finalStates(exploration.final_states),
    trace && timePlot(trace, recorded),
  ];
}

/** The bounds that say something: no empty maps, no options that are off. */
const bounded = (bounds) => Object.entries(bounds).filter(([, value]) => value !== false && shown(value) !== "{}");

/** The width of a plot: all of a phone's screen, so that its text keeps its size. */
const plotWidth = (most) => Math.max(280, Math.min(most, document.documentElement.clientWidth - 24));

function figure(caption, width, height, parts, ...rest) {
  return h(
    "figure",
    null,
    h("figcaption", null, caption),
    svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": caption }, parts),
    rest,
  );
}

function depthPlot(depths) {
  const [width, height, left, bottom] = [plotWidth(640), 180, 56, 34];
  const top = Math.max(...depths);
  const bar = (width - left - 10) / depths.length;
  const scale = (height - bottom - 14) / top;
  const each = Math.max(1, Math.ceil(depths.length / ((width - left) / 40)));
  return figure("States by depth", width, height, [
    svg("path", { class: "axis", d: `M${left} 8V${height - bottom}H${width - 6}` }),
    depths.map((count, depth) =>
      svg(
        "rect",
        {
          class: "bar",
          x: left + depth * bar + bar * 0.1,
          width: bar * 0.8,
          y: height - bottom - count * scale,
          height: count * scale,
        },
        svg("title", null, `depth ${depth}: ${plural(count, "state")}`),
      ),
    ),
    depths.map(
      (_, depth) =>
        depth % each === 0 &&
        svg("text", { x: left + (depth + 0.5) * bar, y: height - bottom + 15, "text-anchor": "middle" }, depth),
    ),
    svg("text", { x: left - 6, y: 16, "text-anchor": "end" }, top.toLocaleString("en")),
    svg("text", { x: left - 6, y: height - bottom, "text-anchor": "end" }, 0),
    svg(
      "text",
      { x: (left + width) / 2, y: height - 4, "text-anchor": "middle", class: "muted" },
      "steps from the initial state",
    ),
  ]);
}

/** Final states by their distance from the first unperturbed one: circles are reached without perturbations, diamonds are not. */
function finalStates(states) {
  const distance = (state) => state.difference.length;
  const [width, left] = [plotWidth(640), 70];
  const most = Math.max(1, ...states.map(distance));
  const columns = new Map();
  const placed = states
    .map((state, at) => {
      const column = columns.get(distance(state)) || 0;
      columns.set(distance(state), column + 1);
      return { state, at, x: left + (distance(state) / most) * (width - 2 * left), row: column };
    })
    .slice(0, 120);
  const height = 74 + Math.max(...placed.map((each) => each.row)) * 50 + 40;
  const radius = (state) => 11 + Math.min(9, 2 * Math.log2(1 + state.count));
  return [
    figure(
      "Map of the final states",
      width,
      height,
      [
        svg("path", { class: "axis", d: `M20 ${height - 34}H${width - 20}` }),
        placed.map(({ state, at, x, row }) => {
          const [y, r] = [height - 68 - row * 50, radius(state)];
          const shape = state.unperturbed
            ? svg("circle", { class: "state", cx: x, cy: y, r })
            : svg("path", { class: "state only", d: `M${x} ${y - r}L${x + r} ${y}L${x} ${y + r}L${x - r} ${y}Z` });
          return svg(
            "g",
            null,
            svg("title", null, `${nameOf(at)}: ${reached(state)}`),
            shape,
            svg("text", { x, y: y + 4, "text-anchor": "middle", "font-weight": 700 }, nameOf(at)),
          );
        }),
        svg("text", { x: left, y: height - 18, "text-anchor": "middle" }, "0"),
        most > 0 && svg("text", { x: width - left, y: height - 18, "text-anchor": "middle" }, most),
        svg(
          "text",
          { x: width / 2, y: height - 4, "text-anchor": "middle", class: "muted" },
          "fields that differ from the first unperturbed final state",
        ),
      ],
      h(
        "p",
        { class: "legend" },
        h("span", null, "○ reached by unperturbed runs"),
        h("span", null, "◇ reached only with perturbations"),
        h("span", null, "the larger, the more quiescent states of the search are this one"),
      ),
    ),
    table(
      ["state", "reached by", "reached", "how it differs from A"],
      states
        .slice(0, 200)
        .map((state, at) => [
          h("strong", null, nameOf(at)),
          plural(state.count, "quiescent state"),
          state.unperturbed
            ? h("span", { class: "good" }, "○ unperturbed")
            : h("span", { class: "bad" }, "◇ only perturbed"),
          state.difference.length ? differenceList(state.difference, { neutral: true }) : "—",
        ]),
      { class: "cards" },
    ),
  ];
}

const nameOf = (at) => (at < 26 ? String.fromCharCode(65 + at) : `S${at + 1}`);
const reached = (state) =>
  `${plural(state.count, "quiescent state")}, ${state.unperturbed ? "also without perturbations" : "only with perturbations"}`;

/** Differences as a list; ``neutral`` where neither of the two states is the wrong one. */
function differenceList(differences, { neutral = false } = {}) {
  const line = ({ object, path, got, expected }) => {
    if (path) {
      const values = [
        h("code", null, shown(got ?? undefined)),
        " instead of ",
        h("code", null, shown(expected ?? undefined)),
      ];
      return h("li", null, h("code", null, object), " ", h("code", null, path), ": ", values);
    }
    const content = h(
      "details",
      null,
      h("summary", { class: "small" }, "content"),
      h("pre", null, JSON.stringify(got ?? expected, null, 2)),
    );
    return h(
      "li",
      null,
      h("code", null, object),
      got === null ? " is missing" : neutral ? " is there" : " is there and should not be",
      content,
    );
  };
  const more = differences.length - 40;
  return h("ul", null, differences.slice(0, 40).map(line), more > 0 && h("li", { class: "muted" }, `and ${more} more`));
}

/** A band for each actor: its reconciles as bars, its crashes and failures as crosses, its cache's lag as the thickness of a line. */
function timePlot(trace, recorded) {
  const { steps } = trace;
  if (!steps.length) return null;
  const timed = steps.every((step) => typeof step.time === "number") && steps.at(-1).time > steps[0].time;
  const [width, left, band] = [plotWidth(720), plotWidth(720) < 480 ? 84 : 120, 46];
  const height = trace.instances.length * band + 34;
  const [from, to] = timed ? [steps[0].time, steps.at(-1).time] : [1, Math.max(2, steps.length)];
  const at = (position) =>
    left + 8 + (((timed ? steps[position].time : position + 1) - from) / (to - from)) * (width - left - 24);
  const x = (number) => at(trace.positions.get(number));
  const lag = trace.lag();
  const spans = reconciles(steps);
  const parts = trace.instances.map((name, row) => {
    const y = row * band + 8;
    const most = Math.floor((left - 8) / 7);
    const short = name.length > most ? `${name.slice(0, most - 1)}…` : name;
    const writes = steps.filter((step) => step.actor === name && step.writes.length);
    const crashes = steps.filter(
      (step) => step.actor === name && ["crash", "fail", "conflict", "timeout", "lose"].includes(step.action),
    );
    const area = steps
      .map((_, position) => `L${at(position)} ${y + 34 - Math.min(12, 3 * (lag[position].get(name) || 0))}`)
      .join("");
    return [
      svg("text", { x: left - 6, y: y + 16, "text-anchor": "end" }, svg("title", null, name), short),
      svg("path", { class: "behind", d: `M${at(0)} ${y + 34}${area}L${at(steps.length - 1)} ${y + 34}Z` }),
      spans
        .filter((span) => span.actor === name)
        .map((span) =>
          svg(
            "rect",
            {
              class: "bar reconcile",
              x: x(span.first) - 3,
              width: Math.max(6, x(span.last) - x(span.first) + 6),
              y: y + 2,
              height: 17,
              rx: 3,
            },
            svg("title", null, `reconcile of ${span.request}, steps ${span.first} to ${span.last}`),
          ),
        ),
      writes.map((step) =>
        svg(
          "path",
          { class: "head write", d: `M${x(step.number)} ${y + 2}l4 8.5l-4 8.5l-4 -8.5Z` },
          svg("title", null, step.text),
        ),
      ),
      crashes.map((step) => cross(x(step.number), y + 10)),
      svg("line", { class: "line", x1: left, x2: width - 10, y1: y + 36, y2: y + 36 }),
    ];
  });
  const clock = recorded ? "recorded" : "virtual";
  const axis = timed ? `${clock} time, ${seconds(from)} to ${seconds(to)}` : `steps 1 to ${steps.length}`;
  const cached = trace.instances.some((name) => trace.kinds.has(name));
  const what = cached ? "Reconciles and cache lag" : "Writes";
  return figure(
    timed ? `${what} over ${clock} time` : `${what}, step by step`,
    width,
    height,
    [parts, svg("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle", class: "muted" }, axis)],
    h(
      "p",
      { class: "legend" },
      cached && h("span", null, "▭ reconcile"),
      h("span", null, "◆ write"),
      h("span", null, "✕ crash or failed call"),
      cached && h("span", null, "▂ writes that the cache has not seen"),
    ),
  );
}
