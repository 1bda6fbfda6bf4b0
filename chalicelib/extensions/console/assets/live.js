// Updates an open conversation, and sends replies.
const live = document.querySelector("[data-live]");
const scroll = live.parentElement, form = document.querySelector("#reply"), { text, mid } = form.elements;
const shown = {}; // the HTML of each part as the server sent it
for (const { dataset, innerHTML } of document.querySelectorAll("[data-part]")) shown[dataset.part] = innerHTML;
const { live: address, ...position } = live.dataset; // the position is what this page shows
let isSending, isExpired, isEnded, failures = 0, earliest = 0, active = Date.now(), wake = () => {};

const pull = async () => {
  const isReply = isSending && !isExpired; // a retry with the same `mid` adds no second message
  const body = isReply ? new URLSearchParams(new FormData(form)) : null;
  const answer = await load(`${address}?${new URLSearchParams(position)}`, body), { status, response } = answer;
  earliest = Date.now() + (answer.getResponseHeader("Retry-After") * 1000 || 0);
  if (!status) return "lost";
  if (status >= 500 || (status === 429 && !response)) return "busy"; // the gateway's own errors are no pages
  if (status === 200 && !response.querySelector("[data-after]")) return "expired"; // the sign-in page
  if (status === 200) show(response, isReply);
  if (status < 300) return "";
  if (!isReply) return "gone";
  lock(false); // the browser sends the form instead, and shows the error
  isEnded = true;
  form.requestSubmit(form.querySelector("[value=reply]"));
  return "";
};

const show = ({ body }, isReply) => {
  const news = body.firstElementChild, { reset, mid: next, form: token, ...shows } = news.dataset;
  const box = (element) => element?.getBoundingClientRect(), isAtEnd = scroll.scrollTop > -8;
  const seen = [...live.querySelectorAll("[data-mark]")].find((turn) => box(turn).bottom > box(scroll).top);
  const before = box(seen);
  live.querySelector(".empty")?.remove();
  if (reset !== undefined) live.replaceChildren();
  for (const turn of [...news.firstElementChild.children]) if (!find(turn)) live.append(turn);
  announce(live);
  if (!isAtEnd) scroll.scrollBy(0, box(find(seen))?.top - before?.top || 0); // keeps what is read in place
  for (const part of news.querySelectorAll("[data-part]")) if (part.dataset.part in shown) showPart(part);
  if (isReply) {
    lock(false);
    text.value = "";
    text.dispatchEvent(new Event("input"));
    mid.value = next;
  }
  renew(token);
  active = Date.now();
  Object.assign(position, shows);
};
const find = (turn) => turn && live.querySelector(`[data-mark="${turn.dataset.mark}"]`);

// Replaces a part, unless the person is changing a field.
const showPart = (part) => {
  const name = part.dataset.part, old = document.querySelector(`[data-part="${name}"]`);
  const isFocused = old.contains(document.activeElement);
  const isEdited = [...old.querySelectorAll("input,textarea")].some(({ value, defaultValue }) => value !== defaultValue);
  if (shown[name] === part.innerHTML || isEdited) return;
  shown[name] = part.innerHTML;
  old.replaceWith(part);
  announce(part);
  if (isFocused) part.querySelector("button,summary,input")?.focus();
};

const lock = (value) => {
  isSending = text.readOnly = value;
  for (const element of form.elements) if (element.type === "submit") element.disabled = value;
};
const report = (detail) => {
  tell(detail);
  isExpired = detail === "expired";
  if (isExpired) position.version = ""; // asks for the new session's form token
  isEnded ||= detail === "gone";
  failures = detail ? failures + 1 : 0;
};

// Seconds until the next request.
const pace = () => Math.min(60, Math.max(1.6, (Date.now() - active) / 25000));
const backoff = () => Math.max((earliest - Date.now()) / 1000, Math.min(60, 2 ** failures)) * (1 + Math.random() / 2);
const resume = () => { active = Date.now(); if (!failures || active >= earliest) wake(); };
const sleep = (seconds) => new Promise((done) => { wake = done; setTimeout(done, seconds * 1000); });
const run = async () => {
  while (!isEnded) {
    await sleep(isExpired ? 86400 : failures ? backoff() : isSending ? 0 : pace());
    while (document.hidden && (isExpired || !isSending)) await sleep(86400);
    report(await pull().catch(() => "lost"));
  }
};
document.onvisibilitychange = resume;
window.ononline = resume;
document.oninput = () => { if (failures || pace() < 2) active = Date.now(); else resume(); };
form.onsubmit = (event) => {
  if (isEnded || event.submitter?.value !== "reply") return;
  event.preventDefault();
  lock(true);
  if (!failures) resume();
};
run();
