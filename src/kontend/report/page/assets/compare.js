// The failing trace beside the nearest good one, aligned, with the first step that differs.

const MOST_ALIGNED = 1500;

function compareView(failing, good, { culprits, goto }) {
  if (!good) return [h("p", { class: "muted" }, "No good run is recorded for this violation.")];
  const pairs = aligned(failing, good);
  const first = pairs.findIndex(([left, right]) => !left || !right || signature(left) !== signature(right));
  const cell = (step, differs, isFirst, clickable) => {
    if (!step) return h("div", { class: `none${differs ? " differs" : ""}${isFirst ? " first" : ""}` }, "—");
    const culprit = clickable && culprits.includes(step.number);
    const number = clickable
      ? h("button", { class: "link", onclick: () => goto(step.number) }, step.number)
      : step.number;
    return h(
      "div",
      { class: `${differs ? "differs" : ""}${isFirst ? " first" : ""}${culprit ? " culprit" : ""}` },
      number,
      " ",
      culprit && h("strong", { class: "bad" }, "◆ "),
      step.text,
      valuesOf(step),
    );
  };
  return [
    h(
      "p",
      { id: "first-difference" },
      first < 0
        ? "Both runs take the same steps."
        : [h("strong", null, "First difference: "), differenceOf(pairs, first)],
    ),
    h(
      "div",
      { class: "pair" },
      h("div", { class: "head" }, `Failing run (${plural(failing.length, "step")})`),
      h("div", { class: "head" }, `Nearest good run (${plural(good.length, "step")})`),
      pairs.map(([one, other], at) => {
        const differs = !one || !other || signature(one) !== signature(other);
        return [cell(one, differs, at === first, true), cell(other, differs, at === first, false)];
      }),
    ),
  ];
}

function differenceOf(pairs, first) {
  const [left, right] = pairs[first];
  if (!right) return `the failing run takes step ${left.number}, “${left.text}”, which the good run does not take.`;
  if (!left) {
    const before = first ? pairs[first - 1][0] : null;
    return `${before ? `after step ${before.number}` : "at the start"} the good run takes “${right.text}”, which the failing run does not take.`;
  }
  if (left.text === right.text) return `step ${left.number}, “${left.text}”, has another outcome.`;
  return `step ${left.number} of the failing run is “${left.text}”; the good run takes “${right.text}” instead.`;
}

/** What a step does, without what comes out of it: two runs differ in versions and values soon. */
function deed(step) {
  const { call } = step;
  const objects = step.delivered.map((event) => `${event.cache} ${event.object}`);
  if (!call) return [step.actor, step.action, step.request, ...objects].join("\n") || step.text;
  return [step.actor, step.action, call.verb, call.kind, call.namespace, call.name, call.subresource, call.cached].join(
    "\n",
  );
}

const signature = (step) => [step.text, step.response, ...step.writes.map((write) => write.after)].join("\n");

function valuesOf(step) {
  const fields = step.writes
    .filter((write) => write.before && write.after)
    .flatMap(changesOf)
    .slice(0, 3);
  if (!fields.length) return null;
  return h(
    "div",
    { class: "small muted" },
    fields
      .map((field) => `${field.path}: ${shown(field.before ?? undefined)} → ${shown(field.after ?? undefined)}`)
      .join("; "),
  );
}

/** Pairs of steps by the heaviest common subsequence; of long traces only the common start and end. */
function aligned(one, other) {
  let start = 0;
  while (start < one.length && start < other.length && signature(one[start]) === signature(other[start])) start += 1;
  let end = 0;
  while (
    end < Math.min(one.length, other.length) - start &&
    signature(one[one.length - 1 - end]) === signature(other[other.length - 1 - end])
  )
    end += 1;
  const left = one.slice(start, one.length - end);
  const right = other.slice(start, other.length - end);
  const middle = Math.max(left.length, right.length) <= MOST_ALIGNED ? subsequence(left, right) : zipped(left, right);
  return [
    ...zipped(one.slice(0, start), other.slice(0, start)),
    ...middle,
    ...zipped(one.slice(one.length - end), other.slice(other.length - end)),
  ];
}

function zipped(left, right) {
  return Array.from({ length: Math.max(left.length, right.length) }, (_, at) => [left[at], right[at]]);
}

// Writes matter most in a comparison, steps without an effect least.
function weightOf(one, other) {
  if (one.changes_nothing || other.changes_nothing) return 1;
  return one.writes.length && other.writes.length ? 9 : one.call ? 3 : 2;
}

function subsequence(left, right) {
  const [ours, theirs] = [left, right].map((steps) => steps.map(deed));
  const width = right.length + 1;
  const weights = new Uint32Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      const matched = ours[i] === theirs[j] ? weights[(i + 1) * width + j + 1] + weightOf(left[i], right[j]) : 0;
      weights[i * width + j] = Math.max(matched, weights[(i + 1) * width + j], weights[i * width + j + 1]);
    }
  }
  const pairs = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const weight = weights[i * width + j];
    const matches =
      i < left.length &&
      j < right.length &&
      ours[i] === theirs[j] &&
      weight === weights[(i + 1) * width + j + 1] + weightOf(left[i], right[j]);
    if (matches) pairs.push([left[i++], right[j++]]);
    else if (j < right.length && (i >= left.length || weight === weights[i * width + j + 1]))
      pairs.push([undefined, right[j++]]);
    else pairs.push([left[i++], undefined]);
  }
  return pairs;
}
