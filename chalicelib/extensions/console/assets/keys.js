// Shortcuts for conversations.
const find = (selector) => document.querySelector(selector);
const help = find("#keys"), search = find("[type=search]");

// Begins at the open conversation.
const move = (step) => {
  const rows = [...document.querySelectorAll(".inbox a")].filter((row) => row.checkVisibility());
  const current = find(".inbox a:focus") ?? find(".inbox a[aria-current]");
  (rows[rows.indexOf(current) + step] ?? current ?? rows[0])?.focus();
};
// Leads to the button that ends what is open, chosen or focused.
const end = () => {
  find(".bulk:not(:has(input:checked)) li:focus-within .pick input")?.click();
  const button = find(".head [value=end]"), menu = find(".menu");
  if (button?.checkVisibility()) return button.focus();
  if (!menu?.checkVisibility()) return move(1);
  menu.open = true;
  find(".menu button").focus();
};
const shortcuts = {
  j: () => move(1),
  k: () => move(-1),
  n: () => find("a.next")?.click(),
  e: end,
  s: () => search?.focus(),
  "/": () => (find("#text") ?? search)?.focus(),
  "?": () => help.showModal(),
};
document.onkeydown = (event) => {
  const isField = event.target.closest("input:not([type=checkbox]), textarea, select, dialog");
  if (event.key === "Escape") event.target.blur(); // a field or a notice
  if (isField || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(shortcuts, event.key)) return;
  event.preventDefault();
  shortcuts[event.key]();
};
