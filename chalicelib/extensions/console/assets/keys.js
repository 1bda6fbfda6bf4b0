// Shortcuts for conversations.
const help = document.querySelector("#keys"), search = document.querySelector("[type=search]");

// Begins at the open conversation.
const move = (step) => {
  const rows = [...document.querySelectorAll(".inbox a")].filter((row) => row.checkVisibility());
  const current = rows.find((row) => row === document.activeElement) ?? rows.find((row) => row.ariaCurrent);
  (rows[rows.indexOf(current) + step] ?? current ?? rows[0])?.focus();
};
// Chooses the focused row if none is chosen.
const end = () => {
  document.querySelector(".bulk:not(:has(input:checked)) li:focus-within .pick input")?.click();
  const menu = document.querySelector(".menu");
  if (!menu?.checkVisibility()) return move(1);
  menu.open = true;
  menu.querySelector("button").focus();
};
const shortcuts = {
  j: () => move(1),
  k: () => move(-1),
  n: () => document.querySelector("a.next")?.click(),
  e: end,
  s: () => search?.focus(),
  "/": () => (document.querySelector("#text") ?? search)?.focus(),
  "?": () => help.showModal(),
};
document.onkeydown = (event) => {
  const isField = event.target.closest("input:not([type=checkbox]), textarea, select, dialog");
  if (event.key === "Escape") event.target.blur(); // a field or a notice
  if (isField || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(shortcuts, event.key)) return;
  event.preventDefault();
  shortcuts[event.key]();
};
