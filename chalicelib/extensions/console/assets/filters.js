// Submits a form of filters when a field changes.
for (const form of document.querySelectorAll("form[data-submit]")) {
  form.querySelector("button").hidden = true;
  form.onchange = () => form.requestSubmit();
  form.addEventListener("search", () => form.requestSubmit(), true); // the field was cleared
}
