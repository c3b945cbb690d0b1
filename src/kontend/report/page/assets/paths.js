// Fields of objects: paths such as data.next, metadata.labels["a.b/c"] and status.conditions[type=Ready].status.

const LIST_KEYS = ["type", "name", "uid", "key", "ip", "containerPort", "port"];

/** The field that tells the elements of these lists apart, or null: both versions of a list must have the same one. */
function listKey(...lists) {
  const items = lists.flat();
  if (!items.length || !items.every((item) => item && typeof item === "object")) return null;
  const usable = (name) =>
    items.every((item) => ["string", "number"].includes(typeof item[name])) &&
    lists.every((list) => new Set(list.map((item) => item[name])).size === list.length);
  return LIST_KEYS.find(usable) || null;
}

// Lists of different plain values, such as finalizers, are sets: an element is known by its value.
const isSet = (list) =>
  list.every((item) => item === null || typeof item !== "object") && new Set(list).size === list.length;

function joined(path, key) {
  if (!/^[\p{L}\p{N}_][\p{L}\p{N}_-]*$/u.test(key)) return `${path}["${key}"]`;
  return path ? `${path}.${key}` : key;
}

/** The parts of a value by name, or null for a leaf; ``other`` is the same value in another version. */
function parts(value, other) {
  if (Array.isArray(value)) {
    const others = Array.isArray(other) ? other : [];
    if (isSet(value) && isSet(others)) return new Map(value.map((item) => [`[${JSON.stringify(item)}]`, item]));
    const key = listKey(value, others);
    return new Map(value.map((item, at) => [key ? `[${key}=${item[key]}]` : `[${at}]`, item]));
  }
  if (value && typeof value === "object") return new Map(Object.entries(value));
  return null;
}

const child = (path, name) => (name.startsWith("[") ? path + name : joined(path, name));

/** The leaves of an object: a map of paths to values. */
function leaves(value, path = "", into = new Map()) {
  const inner = parts(value);
  if (!inner || (inner.size === 0 && path)) into.set(path, value);
  else for (const [name, part] of inner) if (name !== "managedFields") leaves(part, child(path, name), into);
  return into;
}

const inside = (path, of) => path === of || (path.startsWith(of) && /^[.[]/.test(path.slice(of.length)));

/** Lines of an object before and after a write: {mark, depth, text, path}. */
function differences(before, after) {
  const lines = [];
  const walk = (name, one, other, path, depth) => {
    const [left, right] = [parts(one, other), parts(other, one)];
    const both = left && right && Array.isArray(one) === Array.isArray(other);
    if (both && (left.size || right.size)) {
      if (name !== null) lines.push({ mark: " ", depth, text: `${name}:`, path });
      const order = [...new Set([...left.keys(), ...right.keys()])];
      for (const key of order) {
        if (key === "managedFields") continue;
        walk(key, left.get(key), right.get(key), child(path, key), name === null ? depth : depth + 1);
      }
    } else if (same(one, other)) {
      lines.push({ mark: " ", depth, text: labelled(name, one), path });
    } else {
      if (one !== undefined) whole("-", name, one, path, depth);
      if (other !== undefined) whole("+", name, other, path, depth);
    }
  };
  const whole = (mark, name, value, path, depth) => {
    const inner = parts(value);
    if (!inner || !inner.size) {
      lines.push({ mark, depth, text: name === null ? scalar(value) : labelled(name, value), path });
      return;
    }
    if (name !== null) lines.push({ mark, depth, text: `${name}:`, path });
    for (const [key, part] of inner) {
      if (key !== "managedFields") whole(mark, key, part, child(path, key), name === null ? depth : depth + 1);
    }
  };
  if (before === undefined && after === undefined) return lines;
  if (before === undefined) whole("+", null, after, "", 0);
  else if (after === undefined) whole("-", null, before, "", 0);
  else walk(null, before, after, "", 0);
  return lines;
}

// Plain elements of lists are shown as YAML shows them.
const labelled = (name, value) => (name.startsWith("[") ? `- ${scalar(value)}` : `${name}: ${scalar(value)}`);
const scalar = (value) => (value === undefined ? "(absent)" : JSON.stringify(value));
