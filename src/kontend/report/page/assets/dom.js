// Elements are only ever made here, from text nodes and attributes: nothing of a document is parsed as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

const plural = (count, noun, nouns = `${noun}s`) => `${count.toLocaleString("en")} ${count === 1 ? noun : nouns}`;

function shown(value) {
  if (value === undefined) return "(absent)";
  const text = JSON.stringify(value);
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}

const same = (one, other) => one === other || canonical(one) === canonical(other);

function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value && typeof value === "object") {
    return `{${Object.keys(value)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
      .join()}}`;
  }
  return value === undefined ? "undefined" : JSON.stringify(value);
}

function table(head, rows, attributes) {
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      attributes,
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          head.map((text) => h("th", { scope: "col" }, text)),
        ),
      ),
      h(
        "tbody",
        null,
        rows.map((row) =>
          h(
            "tr",
            row.attributes,
            // The labels are for phones, on which a row is a block.
            (row.cells || row).map((cell, at) => h("td", { "data-label": head[at] || null }, cell)),
          ),
        ),
      ),
    ),
  );
}
