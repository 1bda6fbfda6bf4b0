// Chooses all rows, and counts the chosen rows.
const form = document.querySelector(".bulk"), box = form?.querySelector(".all input");
const show = () => {
  form.querySelector("output").textContent = form.querySelectorAll(".pick :checked").length;
  box.checked = !form.querySelector(".pick input:not(:checked)");
};
if (box) {
  box.onchange = () => { for (const one of form.querySelectorAll(".pick input")) one.checked = box.checked; };
  for (const name of ["change", "content"]) form.addEventListener(name, show);
  show();
}
