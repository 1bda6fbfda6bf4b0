// Shows a typed password while the button beside it is pressed.
for (const button of document.querySelectorAll(".show")) {
  const field = button.previousElementSibling;
  button.onclick = () => { button.ariaPressed = (field.type = field.type === "text" ? "password" : "text") === "text"; };
  field.form.addEventListener("submit", () => { field.type = "password"; }); // so that browsers offer to save it
}
