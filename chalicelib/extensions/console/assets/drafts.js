// Keeps a typed reply and note in this browser until the person sends it, empties it or signs out.
let storage;
try { storage = window.localStorage; } catch {} // the browser may forbid storage

const form = document.querySelector("form[data-draft]");
for (const field of (storage && form?.querySelectorAll("textarea")) ?? []) {
  const key = "cams-draft:" + form.dataset.draft + (field.name === "note" ? "/note" : "");
  const keep = () => {
    try {
      if (field.value.trim()) storage.setItem(key, field.value);
      else storage.removeItem(key);
    } catch {} // the storage may be full
  };
  if (form.dataset.sent === field.name) storage.removeItem(key);
  field.value ||= storage.getItem(key) ?? "";
  keep();
  field.oninput = keep;
  // Without the text, the server redirects, so that a reload repeats nothing.
  form.addEventListener("submit", ({ submitter }) => {
    field.disabled = !field.parentElement.contains(submitter) && storage.getItem(key) === field.value;
    setTimeout(() => { field.disabled = false; }); // the form's data is collected
  });
}

addEventListener("submit", ({ target }) => { if (target.matches("[action$='/sign-out']")) storage?.clear(); });

// Asks before unsaved changes are lost.
window.oninput = ({ target }) => target.form?.classList.add("changed");
window.onsubmit = window.onreset = ({ target }) => target.classList.remove("changed");
window.onbeforeunload = () => document.querySelector(".changed > .sticky:not(:has(a:focus))");

// A reload must not confirm an action again.
const address = new URL(location);
address.searchParams.delete("done");
history.replaceState(null, "", address);
