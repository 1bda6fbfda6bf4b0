// Adds a button to each password field that shows what was typed.
const { show } = document.querySelector("[data-show]").dataset;
for (const field of document.querySelectorAll("[type=password]")) {
  const button = document.createElement("button"), ariaLabel = `${show}: ${field.labels[0].textContent}`;
  Object.assign(button, { type: "button", className: "show", textContent: show, ariaLabel });
  button.onclick = () => { button.ariaPressed = (field.type = field.type === "text" ? "password" : "text") === "text"; };
  field.form.addEventListener("submit", () => { field.type = "password"; }); // so that browsers offer to save it
  field.after(button);
}
