// The fields for a reply and a note send with Ctrl+Enter or Cmd+Enter.
const form = document.querySelector("#reply");
for (const field of form.querySelectorAll("textarea")) {
  const button = field.parentElement.querySelector("button");
  field.onkeydown = (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || button.disabled) return;
    event.preventDefault();
    form.requestSubmit(button);
  };
}
