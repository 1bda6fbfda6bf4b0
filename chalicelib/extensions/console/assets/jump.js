// The link opens the search over the page.
const link = document.querySelector(".seek"), dialog = document.querySelector(".finder");
const field = dialog.querySelector("input"), part = dialog.querySelector(".results");
let timer;
const seek = async () => {
  const text = field.value, query = text.trim() && `?q=${encodeURIComponent(text)}`;
  const { response } = await load(link.href + query), rows = response?.querySelector("main .results");
  if (text !== field.value) return; // typed on
  part.replaceChildren(...rows?.childNodes ?? [part.dataset.lost]);
  announce(part);
};
field.oninput = () => {
  clearTimeout(timer);
  timer = setTimeout(seek, 200);
};
link.onclick = (event) => {
  event.preventDefault();
  dialog.showModal();
  field.select();
  seek();
};
