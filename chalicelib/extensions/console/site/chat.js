const STATES = {"requested_chat": "A person will join soon.", "human-chatting": "A person has joined.",
  "ai-chatting": "The assistant answers.", "ended_chat": "This chat has ended."};
class Problem extends Error {}

// Show a conversation inside `root`. `getSession` requests a session from your server, first and after each 401.
export async function chat(root, getSession) {
  const find = (selector) => root.querySelector(selector);
  const [list, state, problem, form] = [find("ul"), find("[role=status]"), find("[role=alert]"), find("form")];
  const bubbles = new Map(), unsent = new Map(); // by mid
  let session, after = "", version = "", isOpen = true;
  let failures = 0, earliest = 0, active = Date.now(), wake = () => {};

  async function call(messages) {
    session ??= await getSession();
    if (!session?.token) return {status: 401};
    const query = new URLSearchParams(messages.length ? {after} : {after, version});
    const headers = {"Authorization": `Bearer ${session.token}`, "Content-Type": "application/json"};
    const sent = messages.length ? {method: "POST", body: JSON.stringify({messages})} : {};
    return fetch(`${session.conversation}/messages?${query}`, {...sent, headers, signal: AbortSignal.timeout(30000)});
  }
  async function pull() {
    const messages = [...unsent.values()].slice(0, 50); // a repeated request has the same mids, and adds nothing twice
    let answer = await call(messages);
    if (answer.status === 401) session = null, answer = await call(messages); // with a new token
    isOpen = answer.status !== 401;
    if (!isOpen) throw new Problem("This chat has expired. Reload the page.");
    if (answer.status === 404 && !after && !messages.length) return; // the first message creates the conversation
    const body = await answer.json().catch(() => ({}));
    earliest = Date.now() + (Number(answer.headers.get("Retry-After")) || 0) * 1000;
    isOpen = answer.ok || answer.status >= 500 || ["THROTTLED", "STALE"].includes(body.code); // errors that pass
    if (!answer.ok) throw new Problem(isOpen ? "The chat is busy. Trying again …" : body.message);
    if (body.after !== after || body.version !== version) active = Date.now();
    show(body, messages);
    ({after, version} = body);
  }
  function show({data, reset, conversation}, sent) {
    const fromEnd = list.scrollHeight - list.scrollTop, isAtEnd = fromEnd < list.clientHeight + 40;
    if (reset) bubbles.clear(), list.replaceChildren(...list.querySelectorAll(".welcome"));
    for (const message of data) if (unsent.delete(message.mid) || !bubbles.has(message.mid)) append(message);
    for (const {mid} of sent) unsent.delete(mid);
    for (const message of unsent.values()) append(message); // below all others
    if (isAtEnd || reset) list.scrollTop = list.scrollHeight - (isAtEnd ? 0 : fromEnd);
    root.dataset.state = conversation.state ?? "ai-chatting";
    state.textContent = STATES[root.dataset.state] ?? "";
    if (sent.length) root.dispatchEvent(new Event("sent"));
  }
  function append({mid, from, type, item}) {
    bubbles.set(mid, bubbles.get(mid) ?? document.createElement("li"));
    const className = unsent.has(mid) ? "human unsent" : from;
    const textContent = item?.text ?? `[${type}]`; // as text, never as HTML: a message may contain a script
    list.append(Object.assign(bubbles.get(mid), {className, textContent}));
  }

  const pace = () => Math.min(60, Math.max(1.6, (Date.now() - active) / 25000)); // seconds; slower while silent
  const backoff = () => Math.max((earliest - Date.now()) / 1000, Math.min(60, 2 ** failures)) * (1 + Math.random() / 2);
  const resume = () => { active = Date.now(); if (!failures || active >= earliest) wake(); };
  form.oninput = () => { if (failures || pace() < 2) active = Date.now(); else resume(); };
  form.onsubmit = (event) => {
    event.preventDefault();
    const message = {mid: crypto.randomUUID(), type: "text", item: {text: form.elements[0].value}};
    append(unsent.set(message.mid, message).get(message.mid));
    list.scrollTop = list.scrollHeight;
    form.reset();
    if (!failures) resume();
  };
  document.addEventListener("visibilitychange", resume);
  window.addEventListener("online", resume);
  while (isOpen) {
    try {
      await pull();
      [failures, problem.textContent] = [0, ""];
    } catch (error) {
      failures += 1;
      problem.textContent = error instanceof Problem ? error.message : "The connection is lost. Trying again …";
    }
    const seconds = failures ? backoff() : unsent.size ? 0 : pace();
    await new Promise((done) => { wake = done; setTimeout(done, seconds * 1000); });
    while (document.hidden && !unsent.size) await new Promise((done) => { wake = done; });
  }
}
