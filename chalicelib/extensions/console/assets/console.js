// Updates an open transcript: pulls what is new from the address in `data-live`, and sends replies there.
"use strict";
const rules = { createHTML: (text) => text }, policy = window.trustedTypes?.createPolicy("cams", rules) ?? rules;
const live = document.querySelector("[data-live]");
if (live) {
  const [notice, signIn] = document.querySelectorAll(".notice"), state = document.querySelector("#state");
  const form = document.querySelector(".reply"), text = form.elements.text, to = document.querySelector("#to");
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
    const news = template.content.firstElementChild, [newState, turns] = news.children, { dataset } = news;
    for (const name of turns.querySelectorAll("[data-by]")) name.textContent = live.dataset[name.dataset.by];
    keepInPlace(() => {
      live.querySelector(".empty")?.remove();
      if ("reset" in dataset) live.replaceChildren();
      for (const turn of [...turns.children]) if (!find(turn)) live.append(turn);
      showState(newState, dataset.assigned);
    });
    if (isReply) {
      lock(false);
      text.value = "";
      form.elements.mid.value = dataset.mid;
    }
    for (const field of document.querySelectorAll("[name=form]")) field.value = dataset.form; // after a new sign-in
    if (dataset.after !== position.after || dataset.version !== position.version) active = Date.now();
    Object.assign(position, { after: dataset.after, version: dataset.version });
  };
  const find = (turn) => turn.dataset.mark && live.querySelector(`[data-mark="${turn.dataset.mark}"]`);

  const showState = (newState, assigned) => {
    const isOther = state.textContent !== newState.textContent || live.dataset.assigned !== assigned;
    const person = [...to.options].find((option) => option.value === assigned);
    if (person && to.value === live.dataset.assigned) person.selected = true; // unless the person has chosen another
    if (isOther && newState.textContent) {
      const line = document.createElement("p");
      line.className = "event";
      line.textContent = newState.textContent + (assigned && person ? `: ${person.text}` : "");
      live.append(line);
    }
    state.className = newState.className;
    state.hidden = newState.hidden;
    state.textContent = newState.textContent;
    live.dataset.assigned = assigned;
  };

  // Scrolls so that what the person sees stays in its place: the reply form or, above it, a message.
  const keepInPlace = (change) => {
    const box = (element) => element.getBoundingClientRect();
    const isVisible = (element) => box(element).bottom > 0 && box(element).top < window.innerHeight;
    const anchor = [form, ...live.querySelectorAll("[data-mark]")].find(isVisible), top = anchor && box(anchor).top;
    change();
    const now = anchor?.isConnected ? anchor : anchor && find(anchor);
    if (now) window.scrollBy(0, box(now).top - top);
  };

  const lock = (value) => {
    isSending = text.readOnly = value;
    for (const button of form.querySelectorAll("button")) button.disabled = value;
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
  document.addEventListener("visibilitychange", resume);
  window.addEventListener("online", resume);
  document.addEventListener("input", () => { if (failures || pace() < 2) active = Date.now(); else resume(); });
  form.addEventListener("submit", (event) => {
    if (isEnded || event.submitter?.value !== "reply") return;
    event.preventDefault();
    lock(true);
    if (!failures) resume();
  });
  run();
}
