// Keeps a typed reply in this browser until the person sends it, empties it or signs out. Nothing else is stored.
const PREFIX = "cams-draft:";
let storage = null;
try {
  storage = window.localStorage;
} catch {} // the browser may forbid storage

const form = document.querySelector("form[data-draft]");
if (form && storage) {
  const key = PREFIX + form.dataset.draft, text = form.elements.text;
  const keep = () => {
    try {
      if (text.value.trim()) storage.setItem(key, text.value);
      else storage.removeItem(key);
    } catch {} // the storage may be full
  };
  if ("sent" in form.dataset) storage.removeItem(key);
  text.value ||= storage.getItem(key) ?? "";
  keep();
  text.addEventListener("input", keep);
}

document.querySelector(".who")?.addEventListener("submit", () => {
  for (const key of Object.keys(storage ?? {})) if (key.startsWith(PREFIX)) storage.removeItem(key);
});

// A reload must not confirm an action again.
const address = new URL(location.href);
if (address.searchParams.has("done")) {
  address.searchParams.delete("done");
  history.replaceState(null, "", address);
}
