// Adds a button that copies each element with `data-copy`.
for (const text of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) break; // needs HTTPS or localhost
  const button = document.createElement("button"), { copy, copied } = text.dataset;
  Object.assign(button, { type: "button", className: "second copy", textContent: copy, ariaLive: "polite" });
  button.onclick = async () => {
    await navigator.clipboard.writeText(text.textContent);
    button.textContent = copied;
    setTimeout(() => { button.textContent = copy; }, 3000);
  };
  text.after(button);
}
