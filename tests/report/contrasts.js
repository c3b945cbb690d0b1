// The contrast of every visible text with its background, as [ratio, text]: the worst ones first.
() => {
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) =>
    [r, g, b]
      .map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
      .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || ["SCRIPT", "STYLE", "TITLE"].includes(element.tagName.toUpperCase()) || !element.checkVisibility())
      continue;
    const svg = element.closest("svg");
    if (svg && element.classList.contains("count")) continue;
    const style = getComputedStyle(element);
    const [one, other] = [light(numbers(svg ? style.fill : style.color)), light(background(svg || element))].sort(
      (a, b) => b - a,
    );
    found.push([(one + 0.05) / (other + 0.05), text.slice(0, 60)]);
  }
  return found.sort((a, b) => a[0] - b[0]).slice(0, 5);
};
