// Updates the list of conversations and the number of those that wait, less often after a longer silence.
const list = document.querySelector("[data-inbox]"), count = document.querySelector("[data-waiting]");
const address = list?.dataset.inbox ?? count?.closest("a").href;
if (count) {
  const title = document.title.replace(/^\(\d+\+?\) /, "");
  let active = Date.now(), failures = 0, isEnded = false, shown = "", wake = () => {};

  // A request for a document parses HTML without running scripts.
  const load = () => new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    Object.assign(request, { responseType: "document", timeout: 30000, onerror: fail, ontimeout: fail });
    request.onload = () => (request.status === 200 ? done(request.response) : fail());
    request.send();
  });

  const show = (page) => {
    const newer = page?.querySelector("[data-waiting]"), newList = page?.querySelector("[data-inbox]");
    isEnded = !newer; // for example, the session has expired
    if (isEnded) return;
    if (newer.textContent !== count.textContent) active = Date.now();
    count.textContent = newer.textContent;
    count.hidden = newer.hidden;
    document.title = count.hidden ? title : `(${count.textContent}) ${title}`;
    if (!list || !newList || newList.innerHTML === shown) return;
    shown = newList.innerHTML;
    active = Date.now();
    replace(newList);
  };

  // Keeps the keyboard focus, the scroll position, and the mark of the open conversation.
  const replace = (newList) => {
    const focused = list.contains(document.activeElement) && document.activeElement.getAttribute("href");
    const top = list.parentElement.scrollTop;
    list.replaceChildren(...newList.childNodes);
    for (const link of list.querySelectorAll(".inbox a")) {
      if (link.pathname === location.pathname) link.setAttribute("aria-current", "true");
      if (focused && link.getAttribute("href") === focused) link.focus();
    }
    list.parentElement.scrollTop = top;
    list.dispatchEvent(new Event("content", { bubbles: true }));
  };

  const pace = () => Math.min(60, Math.max(5, (Date.now() - active) / 10000)) * 2 ** Math.min(failures, 4);
  const run = async () => {
    while (!isEnded) {
      await new Promise((done) => { wake = done; setTimeout(done, pace() * 1000); });
      while (document.hidden) await new Promise((done) => { wake = done; });
      await load().then((page) => { failures = 0; show(page); }, () => { failures += 1; });
    }
  };
  document.addEventListener("visibilitychange", () => { active = Date.now(); wake(); });
  run();
}
