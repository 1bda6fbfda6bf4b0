// Updates the list and the number that waits.
const list = document.querySelector("[data-inbox]"), count = document.querySelector("[data-waiting]");
const address = new URL(list?.dataset.inbox ?? count.dataset.waiting, location);
const least = Number(list?.dataset.pace ?? 20), most = least > 5 ? 120 : 60; // seconds
const title = document.title.replace(/^\(\d+\+?\) /, "");
const isLive = document.querySelector("[data-live]"); // `live.js` shows its own problems
const mayNotify = () => window.Notification?.permission === "granted"; // the person allows it in the profile
let version = list?.dataset.version ?? count.textContent;
let active = Date.now(), failures = 0, wake = () => {};

// Returns the problem, if any.
const show = ({ status, response: page }) => {
  if (status === 204) return ""; // nothing has changed
  if (status !== 200) return "lost";
  const newer = page.querySelector("[data-waiting]"), newList = page.querySelector("[data-inbox]");
  if (!newer) return "expired"; // the sign-in page
  const isMore = parseInt(newer.textContent) > parseInt(count.textContent);
  active = Date.now();
  count.textContent = newer.textContent;
  count.hidden = newer.hidden;
  document.title = count.hidden ? title : `(${count.textContent}) ${title}`;
  version = newList?.dataset.version ?? count.textContent;
  const next = page.querySelector(".next"), link = document.querySelector(".next");
  if (next && next.href !== link?.href) link?.replaceWith(next);
  if (newList) replace(newList);
  renew(newer.dataset.form);
  if (isMore && mayNotify() && !document.hasFocus()) setTimeout(notify); // throws on Android
  return "";
};

// Tells a person elsewhere that more visitors wait. Tabs with one tag tell it once.
const notify = () => {
  const tag = `${count.title}: ${count.textContent}`;
  new Notification(tag, { tag }).onclick = () => focus();
};

// Keeps the focus, chosen rows and the open row's mark.
const replace = (newList) => {
  const key = (element) => element?.getAttribute("href") ?? element?.name;
  const focused = key(list.querySelector(":focus")), checked = [...list.querySelectorAll(":checked")].map(key);
  list.replaceChildren(...newList.childNodes);
  for (const element of list.querySelectorAll(".inbox a, .inbox input")) {
    if (element.pathname === location.pathname) element.ariaCurrent = "true";
    element.checked = checked.includes(key(element));
    if (focused && key(element) === focused) element.focus({ preventScroll: true });
  }
  announce(list);
};

const pace = () => Math.min(most, Math.max(least, (Date.now() - active) / 10000)) * 2 ** Math.min(failures, 2);
const resume = () => { active = Date.now(); wake(); };
const run = async () => {
  let seconds = version ? least : 0; // most pages without the list do not know the number
  for (;;) {
    do await new Promise((done) => { wake = done; setTimeout(done, seconds * 1000); });
    while (document.hidden && !mayNotify());
    address.searchParams.set("version", version);
    const detail = await load(address).then(show).catch(() => "lost"), isExpired = detail === "expired";
    failures = detail ? failures + 1 : 0;
    if (isExpired) version = ""; // asks for the new session's form token
    if (!isLive && (isExpired || failures !== 1)) tell(detail);
    seconds = isExpired ? 86400 : pace();
  }
};
document.addEventListener("visibilitychange", resume);
isLive?.addEventListener("content", resume); // after a reply, too
addEventListener("online", resume);
run();
