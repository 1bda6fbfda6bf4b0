// Ctrl+Enter or Cmd+Enter sends. A slash in an empty reply opens the saved replies.
const form = document.querySelector("#reply"), { text, saved } = form.elements;
for (const field of form.querySelectorAll("textarea")) {
  const button = field.parentElement.querySelector(".send > button:not(.second)");
  field.onkeydown = (event) => {
    if (event.key === "/" && saved && field === text && !text.value) saved.showPicker();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !button.disabled) form.requestSubmit(button);
    else return;
    event.preventDefault();
  };
}
if (saved) saved.onchange = () => {
  text.focus();
  document.execCommand("insertText", false, saved.value); // the person can undo this
  saved.value = "";
};
