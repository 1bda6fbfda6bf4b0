// Chooses all rows, and counts the chosen rows.
const form = document.querySelector(".bulk"), all = form?.querySelector(".all"), box = all?.querySelector("input");
const show = () => {
  form.querySelector("output").textContent = form.querySelectorAll(".pick :checked").length;
  box.checked = !form.querySelector(".pick input:not(:checked)");
};
if (all) {
  all.hidden = false;
  box.onchange = () => { for (const one of form.querySelectorAll(".pick input")) one.checked = box.checked; };
  for (const name of ["change", "content"]) form.addEventListener(name, show);
  show();
}
