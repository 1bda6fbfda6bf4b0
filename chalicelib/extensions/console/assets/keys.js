// Keyboard shortcuts.
const find = (selector) => document.querySelector(selector);
const help = find("#keys"), search = find("[type=search]");

// Begins at the open row.
const move = (step, list = "[data-row]") => {
  const rows = [...document.querySelectorAll(list)].filter((row) => row.checkVisibility());
  const current = rows.find((row) => row.matches(":focus")) ?? find("[data-row][aria-current]");
  (rows[rows.indexOf(current) + step] ?? current ?? rows[0])?.focus();
};
// Leads to the button that ends what is open, chosen or focused.
const end = () => {
  find(".bulk:not(:has(input:checked)) li:focus-within .pick input")?.click();
  const button = find(".head [value=end]"), menu = find(".menu:has([value=end])");
  if (button?.checkVisibility()) return button.focus();
  if (!menu?.checkVisibility()) return menu && move(1);
  menu.open = true;
  menu.querySelector("button").focus();
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
  const { key, target } = event, isCommand = event.ctrlKey || event.metaKey;
  const isField = target.closest("input:not([type=checkbox]), textarea, select, dialog");
  const step = target.closest(".finder") && { ArrowDown: 1, ArrowUp: -1 }[key];
  if (key === "Escape") target.blur(); // a field or a notice
  if (key === "k" && isCommand) find(".seek").click();
  else if (step) move(step, ".finder :is(input, a)");
  else if (help && !isField && !isCommand && !event.altKey && shortcuts[key]) shortcuts[key]();
  else return;
  event.preventDefault();
};
