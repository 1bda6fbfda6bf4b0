// Chooses all rows, and counts the chosen rows.
const form = document.querySelector(".bulk"), all = form?.querySelector(".all"), box = all?.querySelector("input");
const boxes = () => [...form.querySelectorAll(".pick input")];
const show = () => {
  const chosen = boxes().filter(({ checked }) => checked).length;
  all.querySelector("output").textContent = chosen;
  box.checked = chosen === boxes().length;
};
if (all) {
  all.hidden = false;
  box.addEventListener("change", () => { for (const one of boxes()) one.checked = box.checked; });
  for (const name of ["change", "content"]) form.addEventListener(name, show);
  show();
}
