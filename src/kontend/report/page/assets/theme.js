// Light and dark: as the system says, until the reader chooses.

class Theme {
  constructor() {
    this.button = h("button", { id: "theme", onclick: () => this.toggle() });
    this.#set(remembered() || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  }

  toggle() {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    this.#set(theme);
    remember(theme);
  }

  #set(theme) {
    const other = theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    this.button.textContent = other === "light" ? "☀ Light" : "☾ Dark";
    this.button.setAttribute("aria-label", `Switch to ${other} colours`);
  }
}

// A page that is opened from disk or in a private window may have no storage.
function remembered() {
  try {
    return ["light", "dark"].find((theme) => theme === localStorage.getItem("kontend-theme"));
  } catch {
    return undefined;
  }
}
function remember(theme) {
  try {
    localStorage.setItem("kontend-theme", theme);
  } catch {
    /* the theme lasts as long as the page */
  }
}
