// Ctrl+K or Cmd+K opens the search for pages and records.
window.onkeydown = (event) => {
  if (event.key !== "k" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  document.querySelector(".seek").click();
};
