// Virtual time: the bands of a sweep, and single runs.

const ENDS = [
  ["livelocks", "livelocks: it still writes at the horizon"],
  ["fails", "fails: reconciles still fail at the horizon"],
  ["heals", "heals: comes to rest after failures"],
  ["settles", "settles: comes to rest without a failure"],
];
const isBadVerdict = (verdict) => /livelock|fail/.test(verdict);
const seconds = (value) => `${Number(value.toFixed(3))} s`;
const spanOf = ({ first, last }) => (first === last ? seconds(first) : `${Number(first.toFixed(3))} to ${seconds(last)}`);

function timeView({ sweep, runs }) {
  return sweep ? sweepView(sweep) : runsView(runs);
}

function verdictChip(verdict, violations = []) {
  const bad = isBadVerdict(verdict) || violations.length > 0;
  return h("span", { class: `${bad ? "bad" : "good"} nowrap` }, `${bad ? "✘" : "✔"} ${verdict}`);
}

// Sweeps

function sweepView(sweep) {
  return [
    bandPlot(sweep),
    h("h3", null, "Bands"),
    table(
      [sweep.parameter, "verdict", "at rest after"],
      sweep.bands.map((band) => [
        h("span", { class: "nowrap" }, spanOf(band)),
        verdictChip(band.verdict, band.example?.violations || []),
        restOf(sweep, band),
      ]),
      { class: "bands" },
    ),
    sweep.bands.some((band) => band.example) && h("h3", null, "Runs that go wrong"),
    sweep.bands.filter((band) => band.example).map((band) => exampleOf(sweep, band)),
    h("h3", null, "Values"),
    h(
      "details",
      null,
      h("summary", null, `All ${plural(sweep.values.length, "value")}`),
      table(
        [sweep.parameter, "verdict", "livelocks", "fails", "heals", "settles", "at rest after", "violated"],
        sweep.values.map((value) => [
          seconds(value.value),
          verdictChip(value.verdict, value.violations),
          ...ENDS.map(([end]) => value[end]),
          value.rest === null ? "—" : seconds(value.rest),
          value.violations.join(", "),
        ]),
        { class: "cards" },
      ),
    ),
  ];
}

/** The longest median time at which the runs of a band came to rest. */
function restOf(sweep, { first, last }) {
  const rests = sweep.values.filter(({ value }) => value >= first && value <= last).map(({ rest }) => rest);
  const known = rests.filter((rest) => rest !== null);
  if (!known.length) return "never";
  const [least, most] = [Math.min(...known), Math.max(...known)];
  return least === most ? seconds(least) : `${Number(least.toFixed(3))} to ${seconds(most)}`;
}

function exampleOf(sweep, { example, example_value }) {
  return h(
    "details",
    null,
    h("summary", null, `${sweep.parameter} ${seconds(example_value)}, seed ${example.seed}: ${example.end}`),
    runView(example),
  );
}

/** A column for each value, with the shares of the ends of its runs; below them the bands. */
function bandPlot(sweep) {
  const { parameter, values, bands } = sweep;
  const [width, height, left, bottom] = [plotWidth(720), 230, 60, 74];
  const column = (width - left - 12) / values.length;
  const full = height - bottom - 16;
  const x = (at) => left + at * column;
  const base = height - bottom;
  const parts = values.map((value, at) => {
    const total = ENDS.reduce((sum, [end]) => sum + value[end], 0) || 1;
    let y = base;
    const tip = `${parameter} ${seconds(value.value)}: ${value.verdict} (${ENDS.filter(([end]) => value[end])
      .map(([end]) => `${value[end]} ${end}`)
      .join(", ")})`;
    const boxes = ENDS.map(([end]) => {
      const size = (value[end] / total) * full;
      if (!size) return null;
      y -= size;
      return svg("rect", { class: `end ${end}`, x: x(at) + column * 0.06, width: column * 0.88, y, height: size });
    });
    return svg("g", { class: "value" }, svg("title", null, tip), boxes, violated(value, x(at) + column / 2));
  });
  const indexOf = new Map(values.map(({ value }, at) => [value, at]));
  const strips = bands.map((band) => {
    const [from, to] = [indexOf.get(band.first), indexOf.get(band.last)];
    const [start, end] = [x(from) + 1, x(to + 1) - 1];
    const label = `${band.verdict}`;
    const fits = end - start > label.length * 6.6 + 6;
    return svg(
      "g",
      null,
      svg("title", null, `${parameter} ${spanOf(band)}: ${band.verdict}`),
      svg("rect", {
        class: `band ${isBadVerdict(band.verdict) ? "bad" : "good"}`,
        x: start,
        width: Math.max(1, end - start),
        y: base + 22,
        height: 20,
      }),
      fits && svg("text", { x: (start + end) / 2, y: base + 36, "text-anchor": "middle" }, label),
    );
  });
  const each = Math.max(1, Math.ceil(values.length / ((width - left) / 46)));
  const caption = `Time bands: the outcome for each value of ${parameter}`;
  return figure(
    caption,
    width,
    height,
    [
      svg("path", { class: "axis", d: `M${left} 10V${base}H${width - 8}` }),
      parts,
      values.map(
        ({ value }, at) =>
          at % each === 0 &&
          svg("text", { x: x(at) + column / 2, y: base + 15, "text-anchor": "middle" }, Number(value.toFixed(3))),
      ),
      svg("text", { x: left - 6, y: 20, "text-anchor": "end" }, "all runs"),
      svg("text", { x: left - 6, y: base, "text-anchor": "end" }, "none"),
      svg("text", { x: left - 6, y: base + 36, "text-anchor": "end" }, "band"),
      strips,
      svg(
        "text",
        { x: (left + width) / 2, y: height - 10, "text-anchor": "middle", class: "muted" },
        `${parameter}, in seconds`,
      ),
    ],
    h(
      "p",
      { class: "legend" },
      ENDS.filter(([end]) => values.some((value) => value[end])).map(([end, text]) => h("span", null, swatch(end), text)),
      values.some((value) => value.violations.length) && h("span", null, "◆ a property is violated"),
    ),
  );
}

const violated = (value, x) =>
  value.violations.length > 0 && svg("path", { class: "head culprit", d: `M${x} 2l4 4l-4 4l-4 -4Z` });

const swatch = (end) =>
  svg(
    "svg",
    { width: 16, height: 12, "aria-hidden": "true" },
    svg("rect", { class: `end ${end}`, x: 1, y: 1, width: 14, height: 10 }),
  );

// Runs

function runsView(runs) {
  return [
    table(
      ["seed", "end", "at rest after", "reconciles", "failed", "writes"],
      runs.map((run) => [
        run.seed,
        verdictChip(run.end, run.violations),
        isBadVerdict(run.end) ? "never" : seconds(run.seconds),
        run.reconciles,
        run.failed,
        run.writes,
      ]),
      { class: "cards" },
    ),
    runs
      .filter((run) => isBadVerdict(run.end) || run.violations.length)
      .map((run) => h("div", null, h("h3", null, `Seed ${run.seed}: ${run.end}`), runView(run))),
  ];
}

function runView(run) {
  const count = `${plural(run.reconciles, "reconcile")}, ${run.failed} failed, ${plural(run.writes, "write")}`;
  const repeated =
    run.last.length === 1 ? "This reconcile repeats forever:" : `These ${run.last.length} reconciles repeat forever:`;
  return [
    h("p", { class: "small" }, count),
    run.violations.map(({ property, seconds: at }) =>
      h("p", { class: "bad" }, `◆ violates ${property} at ${seconds(at)}`),
    ),
    run.last.length > 0 && h("p", null, run.repeats ? repeated : "The last reconciles:"),
    run.last.map((reconcile) =>
      h(
        "div",
        { class: "box" },
        h(
          "p",
          null,
          `${seconds(reconcile.begin)}: `,
          h("strong", null, reconcile.instance),
          ` reconciles ${reconcile.request}`,
          reconcile.end === null ? ", which does not end" : ` until ${seconds(reconcile.end)}`,
        ),
        reconcile.writes.length > 0 &&
          table(
            ["at", "call", "outcome"],
            reconcile.writes.map((write) => [
              h("span", { class: "nowrap" }, seconds(write.seconds)),
              h("code", null, write.call),
              /^\d+$/.test(write.outcome) ? `version ${write.outcome}` : write.outcome,
            ]),
            { class: "cards" },
          ),
        reconcile.error && h("p", { class: "bad" }, reconcile.error),
      ),
    ),
  ];
}
