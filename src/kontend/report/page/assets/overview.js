// The steps that matter for a violation, and the strip above a long trace that shows where they are.

/** Traces up to this length are shown whole. */
const SHORT = 25;

/**
 * The steps that explain a violation, or null for all: those at fault, the reconciles that they belong to, and every write
 * and delivery of the objects that they wrote. Where that is still long, only those since the first of these reconciles:
 * a counter that is written fifty times would hide the two writes that collide.
 */
function essentialSteps(trace, { culprits, cycle }) {
  const { steps } = trace;
  if (steps.length <= SHORT || !culprits.length) return null;
  const atFault = steps.filter((step) => culprits.includes(step.number));
  const objects = new Set(atFault.flatMap((step) => step.writes.map((write) => write.object)));
  const actors = new Set(atFault.map((step) => step.actor));
  const spans = reconciles(steps).filter((span) =>
    atFault.some((step) => step.actor === span.actor && step.number >= span.first && step.number <= span.last),
  );
  const matters = (since) => (step) =>
    culprits.includes(step.number) ||
    (cycle && step.number >= cycle.first && step.number <= cycle.last) ||
    (step.number >= since &&
      (step.writes.some((write) => objects.has(write.object)) ||
        step.delivered.some((event) => actors.has(event.cache) && objects.has(event.object)))) ||
    ["crash", "fail", "lose", "timeout"].includes(step.action) ||
    spans.some(
      ({ actor, request, first, last }) =>
        step.actor === actor && step.request === request && step.number >= first && step.number <= last,
    );
  const all = steps.filter(matters(0));
  const first = Math.min(...culprits, ...spans.map((span) => span.first));
  return new Set((all.length > SHORT ? steps.filter(matters(first)) : all).map((step) => step.number));
}

/** All steps of a long trace in one strip: a row for each actor, a tick for each step. A click goes there. */
class Overview {
  constructor(trace, { culprits, width, choose }) {
    this.trace = trace;
    this.step = width / trace.steps.length;
    const actors = [...new Set(trace.steps.map((step) => step.actor))];
    const row = 9;
    const height = actors.length * row + 4;
    const tick = (step, at) =>
      svg("rect", {
        class: `tick ${culprits.includes(step.number) ? "culprit" : isRefused(step) ? "refused" : step.writes.length ? "write" : ""}`,
        x: at * this.step,
        width: Math.max(1.5, this.step - 0.5),
        y: culprits.includes(step.number) ? 0 : actors.indexOf(step.actor) * row + 3,
        height: culprits.includes(step.number) ? height : row - 3,
      });
    this.cursor = svg("rect", { class: "cursor", y: 0, height, width: Math.max(2, this.step) });
    this.element = svg(
      "svg",
      {
        class: "overview",
        width,
        height,
        viewBox: `0 0 ${width} ${height}`,
        role: "img",
        "aria-label": `All ${trace.steps.length} steps: writes, and steps at fault`,
        onclick: (event) => {
          const at = Math.floor((event.clientX - this.element.getBoundingClientRect().left) / this.step);
          choose(trace.steps[Math.max(0, Math.min(trace.steps.length - 1, at))].number);
        },
      },
      trace.steps.map(tick),
      this.cursor,
    );
  }

  select(number) {
    const at = this.trace.positions.get(number);
    this.cursor.setAttribute("visibility", at === undefined ? "hidden" : "visible");
    this.cursor.setAttribute("x", (at || 0) * this.step);
  }
}
