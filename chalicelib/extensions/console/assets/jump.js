// The link opens the search over the page. Results appear while typing.
const link = document.querySelector(".seek"), dialog = document.querySelector(".finder");
const field = dialog.querySelector("input");
let timer;
const seek = async () => {
  const text = field.value, query = text.trim() && `?q=${encodeURIComponent(text)}`;
  const { response } = await load(link.href + query), results = response?.querySelector("main .results");
  if (!results || text !== field.value) return; // typed on
  dialog.querySelector(".results").replaceWith(results);
  announce(results);
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
