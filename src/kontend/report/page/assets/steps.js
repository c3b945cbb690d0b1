// Steps in a few words: what is done, what comes of it, and which of them belong to one reconcile.

/** What a step does; the lane says who does it. */
function deedOf({ actor, text }) {
  const own = [`${actor}: `, `the ${actor} `, `${actor} `].find((start) => text.startsWith(start)) || "";
  return briefly(text.slice(own.length)).replace(/^sees (ADDED|MODIFIED) /, "sees ");
}

// A value in a few characters; null stands for a field that is absent.
function short(value) {
  const text = value === null ? "absent" : JSON.stringify(value);
  return text.length > 28 ? `${text.slice(0, 26)}…` : text;
}

// Kinds without their groups and versions, which are in the details.
const briefly = (text) => text.replace(/\b([A-Z]\w*)(\.[\w.-]+)?\/v\d\w* /g, "$1 ");

// The fields that a write changes, several of one element of a list as one.
const changesOf = (write) => write.changes || write.fields;

/** The outcome of a step in a few words. */
function effectOf(step) {
  if (step.failure) return step.failure;
  if (isRefused(step)) return step.response;
  const [write] = step.writes;
  if (write) {
    const more = step.writes.length > 1 ? `, and ${step.writes.length - 1} more` : "";
    if (!write.after) return `deletes ${briefly(write.object)}${more}`;
    if (!write.before) return `creates ${briefly(write.object)}, version ${write.version}${more}`;
    const changes = changesOf(write);
    const [field] = changes;
    if (!field) return `version ${write.version}${more}`;
    const others = changes.length > 1 ? `, and ${plural(changes.length - 1, "field")} more` : "";
    return `${field.path}: ${short(field.before)} → ${short(field.after)}${others}${more}`;
  }
  const stale = step.reads.find(isStale);
  const read = stale || step.reads[0];
  if (read) {
    const had = read.version === null ? "not found" : `version ${read.version}`;
    return stale ? `${had}; the server has ${read.latest === null ? "nothing" : `version ${read.latest}`}` : had;
  }
  const [event] = step.delivered;
  return event
    ? `version ${event.version}${step.delivered.length > 1 ? `, and ${step.delivered.length - 1} more` : ""}`
    : "";
}

const isRefused = (step) => /^[45]/.test(step.response || "") || ["fail", "conflict"].includes(step.action);
const isStale = (read) => read.version !== read.latest;

/** The reconciles of a trace, each from its start to its last call. */
function reconciles(steps) {
  const spans = [];
  const current = new Map();
  for (const step of steps) {
    const key = `${step.actor} ${step.request}`;
    if (step.action === "start") {
      const span = { actor: step.actor, request: step.request, first: step.number, last: step.number };
      current.set(key, span);
      spans.push(span);
    } else if (step.call && current.has(key)) current.get(key).last = step.number;
    else if (step.action === "crash") {
      for (const [name, span] of current) if (span.actor === step.actor) current.delete(name);
    }
  }
  return spans;
}
