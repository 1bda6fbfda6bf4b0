// Keyboard shortcuts for the conversations: j, k, e, / and ?. No key works in a field, in a dialog, or with Ctrl or Alt.
const help = document.querySelector("#keys"), search = document.querySelector("#q");
const rows = () => [...document.querySelectorAll(".inbox a")].filter((row) => row.checkVisibility());

// Moves the focus to the next row. Without a focused row, it begins at the open conversation.
const move = (step) => {
  const all = rows(), focused = all.indexOf(document.activeElement);
  const open = all.findIndex((row) => row.hasAttribute("aria-current"));
  const at = focused >= 0 ? focused : open >= 0 ? open : step > 0 ? -1 : all.length;
  all[Math.min(all.length - 1, Math.max(0, at + step))]?.focus();
};
// Opens the question whether to end the open conversation.
const end = () => {
  const menu = document.querySelector(".menu");
  if (!menu) return;
  menu.open = true;
  menu.querySelector("button").focus();
};
const shortcuts = {
  j: () => move(1),
  k: () => move(-1),
  e: end,
  "/": () => (search ?? document.querySelector("#text")).focus(),
  "?": () => help.showModal(),
};
document.onkeydown = (event) => {
  const isField = event.target.closest?.("input, textarea, select, dialog, [contenteditable]");
  if (isField || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(shortcuts, event.key)) return;
  event.preventDefault();
  shortcuts[event.key]();
};
for (const button of document.querySelectorAll(".open-keys")) {
  button.hidden = false;
  button.onclick = () => help.showModal();
}
