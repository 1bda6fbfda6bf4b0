// The reply field sends with Ctrl+Enter or Cmd+Enter.
const form = document.querySelector("#reply"), text = form.elements.text;
const control = navigator.platform.startsWith("Mac") ? "⌘" : "Ctrl";
for (const hint of form.querySelectorAll("[data-script]")) hint.textContent = hint.dataset.script.replace("Ctrl", control);

text.onkeydown = (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || text.readOnly) return;
  event.preventDefault();
  form.requestSubmit(form.querySelector("[value=reply]"));
};
