// Updates an open conversation: pulls what is new from the address in `data-live`, and sends replies there.
const rules = { createHTML: (text) => text }, policy = window.trustedTypes?.createPolicy("cams", rules) ?? rules;
const live = document.querySelector("[data-live]");
if (live) {
  const [notice, signIn] = document.querySelectorAll(".notice"), scroll = live.parentElement;
  const form = document.querySelector(".reply"), text = form.elements.text, to = document.querySelector("#to");
  const parts = [...document.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part.innerHTML]);
  const shown = new Map(parts); // the HTML of each part as the server sent it
  const position = { after: live.dataset.after, version: live.dataset.version };
  let isSending = false, isEnded = false, failures = 0, earliest = 0, active = Date.now(), wake = () => {};

  // Returns the name of the problem, or an empty string.
  const pull = async () => {
    const isReply = isSending && signIn.hidden; // a retry has the same `mid`, so that it adds no second message
    const options = { cache: "no-store", redirect: "manual", signal: AbortSignal.timeout?.(30000) };
    if (isReply) Object.assign(options, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    const answer = await fetch(`${live.dataset.live}?${new URLSearchParams(position)}`, options);
    earliest = Date.now() + (Number(answer.headers.get("Retry-After")) || 0) * 1000;
    if (answer.type === "opaqueredirect") return "expired"; // to the sign-in page
    const isPage = answer.headers.get("Content-Type")?.startsWith("text/html"); // not for the gateway's own errors
    if (answer.status >= 500 || (answer.status === 429 && !isPage)) return "busy";
    if (answer.status === 200) show(await answer.text(), isReply);
    if (answer.ok) return "";
    if (!isReply) return "gone";
    lock(false); // the browser sends the form instead, and shows the page that explains the error
    isEnded = true;
    form.requestSubmit(form.querySelector("[value=reply]"));
    return "";
  };

  const show = (html, isReply) => {
    const template = document.createElement("template");
    template.innerHTML = policy.createHTML(html);
    const news = template.content.firstElementChild, turns = news.firstElementChild, { dataset } = news;
    for (const name of turns.querySelectorAll("[data-by]")) name.textContent = live.dataset[name.dataset.by];
    keepInPlace(() => {
      live.querySelector(".empty")?.remove();
      if ("reset" in dataset) live.replaceChildren();
      else showTransfer(news);
      for (const turn of [...turns.children]) if (!find(turn)) live.append(turn);
      if ("reset" in dataset) showTransfer(news);
      live.dispatchEvent(new Event("content", { bubbles: true }));
    });
    for (const part of news.querySelectorAll("[data-part]")) showPart(part);
    showAssignee(dataset.assigned);
    if (isReply) {
      lock(false);
      text.value = "";
      text.dispatchEvent(new Event("input", { bubbles: true }));
      form.elements.mid.value = dataset.mid;
    }
    for (const field of document.querySelectorAll("[name=form]")) field.value = dataset.form; // after a new sign-in
    if (dataset.after !== position.after || dataset.version !== position.version) active = Date.now();
    Object.assign(position, { after: dataset.after, version: dataset.version });
  };
  const find = (turn) => turn.dataset.mark && live.querySelector(`[data-mark="${turn.dataset.mark}"]`);

  // Adds a line about a change of the state or the assignee, such as "Noor took over 16:32".
  const showTransfer = (news) => {
    const { state, assigned } = news.dataset, isSame = live.dataset.state === state && live.dataset.assigned === assigned;
    const line = document.createElement("p"), time = document.createElement("time"), name = nameOf(assigned);
    const taken = name ? live.dataset.took.replace("{name}", () => name) : live.dataset.somebody;
    const words = state === "human-chatting" ? taken : news.querySelector("[data-part=state]").textContent;
    live.dataset.state = state;
    if (isSame || !words) return;
    line.className = "event";
    time.dateTime = new Date().toISOString();
    time.dataset.as = "time";
    line.append(words, " ", time);
    live.append(line);
  };
  const nameOf = (id) => [...to.options].find((option) => id && option.value === id)?.text ?? "";

  const showAssignee = (assigned) => {
    const option = [...to.options].find(({ value }) => value === assigned);
    if (option && to.value === live.dataset.assigned) option.selected = true; // unless the person has chosen another
    document.querySelector("#assignee").textContent = nameOf(assigned);
    live.dataset.assigned = assigned;
  };

  // Replaces a part that has changed, such as the buttons, but not a field that the person is changing.
  const showPart = (part) => {
    const old = document.querySelector(`[data-part="${part.dataset.part}"]`), isFocused = old.contains(document.activeElement);
    const isEdited = [...old.querySelectorAll("input")].some((field) => field.value !== field.defaultValue);
    if (shown.get(part.dataset.part) === part.innerHTML || isEdited) return;
    shown.set(part.dataset.part, part.innerHTML);
    old.replaceWith(part);
    if (isFocused) part.querySelector("button, summary, input")?.focus();
  };

  // Scrolls so that what the person sees stays in its place: the newest message or, above it, another message.
  const keepInPlace = (change) => {
    const box = (element) => element.getBoundingClientRect(), isAtEnd = scroll.scrollTop > -8;
    const isVisible = (element) => box(element).bottom > box(scroll).top;
    const anchor = [...live.querySelectorAll("[data-mark]")].find(isVisible), top = anchor && box(anchor).top;
    change();
    const now = anchor?.isConnected ? anchor : anchor && find(anchor);
    if (isAtEnd) scroll.scrollTop = 0;
    else if (now) scroll.scrollBy(0, box(now).top - top);
  };

  const lock = (value) => {
    isSending = text.readOnly = value;
    for (const button of form.elements) if (button.localName === "button") button.disabled = value;
  };
  const report = (problem) => {
    const shown = problem ? notice.dataset[problem] : "";
    if (notice.textContent !== shown) notice.textContent = shown;
    signIn.hidden = problem !== "expired";
    if (problem === "expired") position.version = ""; // the next response then contains the new session's form token
    isEnded ||= problem === "gone";
    failures = problem ? failures + 1 : 0;
  };

  // Seconds until the next request: more after a longer silence, or after more failures.
  const pace = () => Math.min(60, Math.max(1.6, (Date.now() - active) / 25000));
  const backoff = () => Math.max((earliest - Date.now()) / 1000, Math.min(60, 2 ** failures)) * (1 + Math.random() / 2);
  const resume = () => { active = Date.now(); if (!failures || active >= earliest) wake(); };
  const sleep = (seconds) => new Promise((done) => {
    wake = done;
    if (seconds < Infinity) setTimeout(done, seconds * 1000);
  });
  const run = async () => {
    while (!isEnded) {
      await sleep(!signIn.hidden ? Infinity : failures ? backoff() : isSending ? 0 : pace());
      while (document.hidden && !(isSending && signIn.hidden)) await sleep(Infinity);
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
}
