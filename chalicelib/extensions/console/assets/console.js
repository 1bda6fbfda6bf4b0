// Polls the URL in the attribute `data-live` of an element. The response is 304, or contains the element's new content.
"use strict";
const policy = window.trustedTypes?.createPolicy("cams", { createHTML: (text) => text }) ?? { createHTML: (text) => text };
const live = document.querySelector("[data-live]");
if (live) {
  // The seconds between two requests, and the number of such requests. The pace slows down while the page is idle.
  const pace = [[1.6, 56], [5, 30], [10, 15], [15, 15], [60, Infinity]];
  let asked = 0, tag = live.dataset.tag, timer, isAsking = false;
  const delay = () => {
    let left = asked;
    for (const [seconds, times] of pace) { if (left < times) return seconds * 1000; left -= times; }
  };
  const ask = async () => {
    if (isAsking) return; // the running request starts the next wait when it ends
    isAsking = true;
    asked += 1;
    try {
      const answer = await fetch(live.dataset.live, { headers: { "If-None-Match": tag }, cache: "no-store", redirect: "error" });
      if (answer.status === 200) {
        tag = answer.headers.get("ETag");
        const atEnd = window.innerHeight + window.scrollY > document.body.scrollHeight - 80;
        live.innerHTML = policy.createHTML(await answer.text());
        if (atEnd) window.scrollTo(0, document.body.scrollHeight);
        asked = 0;
      } else if (answer.status !== 304) return;
    } catch { /* offline: try again */ } finally { isAsking = false; }
    wait();
  };
  const wait = () => { clearTimeout(timer); if (!document.hidden && !isAsking) timer = setTimeout(ask, delay()); };
  const again = () => { asked = 0; wait(); };
  document.addEventListener("visibilitychange", () => { clearTimeout(timer); if (!document.hidden) { asked = 0; ask(); } });
  document.addEventListener("input", again);
  wait();
}
