// Presses the button of a group, such as the filters, when a field changes.
for (const group of document.querySelectorAll("[data-submit]")) {
  const button = group.querySelector("button"), submit = () => button.form.requestSubmit(button);
  button.hidden = true;
  group.onchange = submit;
  group.addEventListener("search", submit, true); // the field was cleared
}
