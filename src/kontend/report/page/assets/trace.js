// A trace and the questions about it: what the server and the caches held, who wrote a field, which steps belong together.

class Trace {
  constructor(steps, source) {
    this.steps = steps;
    this.objects = source.objects || {};
    this.initial = source.initial || {};
    this.positions = new Map(steps.map((step, at) => [step.number, at]));
    this.instances = actorsOf(steps, source.actors || []);
    this.kinds = this.#kindsOfCaches();
    this.histories = this.#histories();
  }

  object(hash) {
    return hash ? this.objects[hash] : undefined;
  }

  /** The kinds that each cache holds, as far as the trace shows. */
  #kindsOfCaches() {
    const kinds = new Map();
    const note = (cache, object) => {
      if (!kinds.has(cache)) kinds.set(cache, new Set());
      kinds.get(cache).add(kindOf(object));
    };
    for (const step of this.steps) {
      for (const event of step.delivered) note(event.cache, event.object);
      if (isCachedRead(step)) for (const read of step.reads) note(step.actor, read.object);
    }
    return kinds;
  }

  #versionOf(hash) {
    const version = Number(this.object(hash)?.metadata?.resourceVersion);
    return Number.isInteger(version) ? version : null;
  }

  /** For each object its versions, oldest first: {version, hash, write, step}; the first one may be older than the trace. */
  #histories() {
    const histories = new Map();
    const of = (object) => {
      if (!histories.has(object)) histories.set(object, []);
      return histories.get(object);
    };
    const first = (object, hash) => of(object).push({ version: this.#versionOf(hash), hash, write: null, step: null });
    for (const [object, hash] of Object.entries(this.initial)) first(object, hash);
    for (const step of this.steps) {
      for (const write of step.writes) {
        if (!of(write.object).length && write.before) first(write.object, write.before);
        of(write.object).push({ version: write.version, hash: write.after, write, step });
      }
    }
    return histories;
  }

  /** The version of an object on the server after the step at a position. */
  onServer(object, position) {
    let current;
    for (const entry of this.histories.get(object) || []) {
      if (entry.step && this.positions.get(entry.step.number) > position) break;
      current = entry;
    }
    return current;
  }

  /** The objects that existed at some time until the step at a position, in the order of their first appearance. */
  objectsUntil(position) {
    return [...this.histories.keys()].filter((object) => this.onServer(object, position));
  }

  /** What a cache held of an object after the step at a position: {version, hash, behind}, or undefined if unknown. */
  inCache(cache, object, position) {
    let held;
    for (let at = 0; at <= position; at += 1) {
      const step = this.steps[at];
      for (const event of step.delivered) if (event.cache === cache && event.object === object) held = event;
      if (step.actor === cache && isCachedRead(step)) {
        for (const read of step.reads) if (read.object === object) held = read;
      }
    }
    const versions = (this.histories.get(object) || []).filter(
      (entry) => !entry.step || this.positions.get(entry.step.number) <= position,
    );
    if (!held) {
      if (!this.kinds.get(cache)?.has(kindOf(object)) || !versions.length) return undefined;
      const first = versions[0];
      // Without an event since the start a cache holds what it listed at the start.
      held = first.step ? { version: null, hash: null } : first;
    }
    const behind = versions.filter(
      (entry) => entry.step && (held.version === null || entry.version > held.version),
    ).length;
    return { version: held.version, hash: held.hash, behind };
  }

  /** For each step and cache the number of writes that the cache had not seen after the step. */
  lag() {
    const caches = new Map(
      [...this.kinds].map(([name, kinds]) => [name, { kinds, held: new Map(), missing: new Map(), total: 0 }]),
    );
    const written = new Map();
    const count = (cache, object) => {
      const held = cache.held.get(object) ?? -Infinity;
      const missing = (written.get(object) || []).filter((version) => version > held).length;
      cache.total += missing - (cache.missing.get(object) || 0);
      cache.missing.set(object, missing);
    };
    return this.steps.map((step) => {
      for (const { object, version } of step.writes) {
        if (!written.has(object)) written.set(object, []);
        written.get(object).push(version);
        for (const cache of caches.values()) if (cache.kinds.has(kindOf(object))) count(cache, object);
      }
      for (const event of step.delivered) {
        const cache = caches.get(event.cache);
        cache.held.set(event.object, event.version);
        count(cache, event.object);
      }
      return new Map([...caches].map(([name, cache]) => [name, cache.total]));
    });
  }

  /** The writes that changed a field, oldest first. */
  writers(object, path) {
    const chain = [];
    const history = this.histories.get(object) || [];
    history.forEach((entry, at) => {
      if (!entry.write) return;
      let before = fieldOf(this.object(entry.write.before), path);
      let after = fieldOf(this.object(entry.write.after), path);
      if (same(before, after)) {
        // The writer of the document may know elements of lists by other keys.
        const field = [...entry.write.fields, ...changesOf(entry.write)].find((change) => change.path === path);
        if (!field) return;
        [before, after] = [field.before ?? undefined, field.after ?? undefined];
      }
      const { base, base_step: read } = entry.write;
      const over = at > 0 ? history[at - 1].version : null;
      const stale = base !== null && over !== null && base < over;
      chain.push({ step: entry.step, version: entry.version, before, after, base, read, over, stale });
    });
    return chain;
  }

  /** Every field of an object at any time of the trace, with the number of writes that changed it. */
  fields(object) {
    const counts = new Map();
    for (const { hash, write } of this.histories.get(object) || []) {
      const after = this.#leavesOf(hash);
      const before = write ? this.#leavesOf(write.before) : after;
      for (const path of new Set([...before.keys(), ...after.keys()])) {
        const changed = write && !same(before.get(path), after.get(path));
        counts.set(path, (counts.get(path) || 0) + (changed ? 1 : 0));
      }
    }
    return counts;
  }

  #leavesOf(hash) {
    const object = this.object(hash);
    return object === undefined ? new Map() : leaves(object);
  }
}

const kindOf = (object) => object.split(" ")[0];
const isCachedRead = (step) => Boolean(step.call && step.call.cached);

/** The part of an object at a path, as a value; a path inside of a list may name an element by its key. */
function fieldOf(object, path) {
  if (object === undefined) return undefined;
  if (!path) return object;
  // The walk goes down only where the path may lie, so that a large object costs little.
  const walk = (value, at) => {
    if (at === path) return value;
    for (const [name, part] of parts(value) || []) {
      const below = child(at, name);
      if (!inside(path, below)) continue;
      const found = walk(part, below);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return walk(object, "");
}

/** The actors that have lanes of their own and a cache. */
function actorsOf(steps, actors) {
  const named = actors.filter((actor) => actor.type === "instance").map((actor) => actor.name);
  const others = actors.map((actor) => actor.name);
  for (const step of steps)
    if (step.actor && !others.includes(step.actor) && !named.includes(step.actor)) named.push(step.actor);
  return named;
}

/** Rows of the diagram: single steps, and runs of hidden steps. */
function folded(steps, isHidden, open) {
  const rows = [];
  let run = [];
  const flush = () => {
    if (run.length > 1 && !open.has(run[0].number)) rows.push({ steps: run, fold: true });
    else rows.push(...run.map((step) => ({ steps: [step], fold: false })));
    run = [];
  };
  for (const step of steps) {
    if (isHidden(step)) run.push(step);
    else {
      flush();
      rows.push({ steps: [step], fold: false });
    }
  }
  flush();
  return rows;
}
