// The reply field sends with Ctrl+Enter or Cmd+Enter, and grows with its text.
const form = document.querySelector(".reply"), text = form.elements.text, MOST_ROWS = 12;
const control = navigator.platform.startsWith("Mac") ? "⌘" : "Ctrl";
for (const hint of form.querySelectorAll("[data-script]")) hint.textContent = hint.dataset.script.replace("Ctrl", control);

const grow = () => {
  text.rows = 2;
  while (text.rows < MOST_ROWS && text.scrollHeight > text.clientHeight) text.rows += 1;
};
text.oninput = grow;
grow();

text.onkeydown = (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || text.readOnly) return;
  event.preventDefault();
  form.requestSubmit(form.querySelector("[value=reply]"));
};
