// Adds a round button to a page. The button opens the chat in a frame, from the server of this script:
//     <script src="https://chat.example.com/embed.js" async></script>
// A page's Content-Security-Policy must allow this server in script-src and frame-src. It needs no 'unsafe-inline'.
(() => {
  const TITLE = "Chat", OPEN = "Open the chat", CLOSE = "Close the chat";
  const BUBBLE = "M4 4h16a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2h-8l-5 4v-4H4a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2z";
  const CROSS = "M6 6l12 12M18 6L6 18";
  const STYLE = `
    :host { all: initial }
    button, iframe { position: fixed; right: 20px; bottom: 20px; z-index: 2147483647; border: 0 }
    button { width: 56px; height: 56px; padding: 14px; border-radius: 28px; background: #1f5fa8; cursor: pointer }
    button { box-shadow: 0 2px 12px #0005 } button:focus-visible { outline: 3px solid #fff; outline-offset: -6px }
    button.unread::after { content: ""; position: absolute; right: 0; top: 0; width: 16px; height: 16px }
    button.unread::after { box-sizing: border-box; border: 2px solid #fff; border-radius: 8px; background: #c4291f }
    svg { display: block; fill: none; stroke: #fff; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round }
    iframe { bottom: 88px; width: 384px; height: min(600px, calc(100% - 108px)); background: #fff }
    iframe { border-radius: 12px; box-shadow: 0 4px 24px #0005 } [hidden] { display: none }
    @media (max-width: 480px) {
      iframe { inset: 0; width: 100%; height: 100%; border-radius: 0 }
      button[aria-expanded=true] { display: none } /* the page in the frame has a button, too */
    }
    @media (prefers-reduced-motion: no-preference) { iframe { animation: rise .15s ease-out } }
    @keyframes rise { from { opacity: 0; transform: translateY(8px) } }
    @media print { button, iframe { display: none } }`;
  const FRAMED = `
    html, body { height: 100%; margin: 0 } #chat { max-width: none; height: 100%; border: 0; border-radius: 0 }
    #chat h1 { padding-right: 3.5rem }
    #chat h1 + button { position: absolute; right: .4rem; top: .3rem; border: 0; background: #1f5fa8; color: #fff }`;
  const server = new URL(document.currentScript.src).origin;
  const make = (name, values) => Object.assign(document.createElement(name), values);

  // A policy without 'unsafe-inline' allows such a style sheet. It blocks style elements and attributes.
  function addStyle(root, text) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    root.adoptedStyleSheets = [sheet];
  }
  function addButton() {
    const host = make("cams-chat"), root = host.attachShadow({mode: "open"});
    const button = make("button", {type: "button"}), frame = make("iframe", {title: TITLE, hidden: true});
    const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const path = icon.appendChild(document.createElementNS(icon.namespaceURI, "path"));
    icon.setAttribute("viewBox", "0 0 24 24");
    addStyle(root, STYLE);
    button.append(icon);
    root.append(button, frame);

    const focus = () => { frame.focus(); frame.contentWindow.postMessage("focus", server); };
    function show(isOpen) {
      frame.hidden = !isOpen;
      Object.assign(button, {className: "", ariaExpanded: String(isOpen), ariaLabel: isOpen ? CLOSE : OPEN});
      path.setAttribute("d", isOpen ? CROSS : BUBBLE);
    }
    function open() {
      show(true);
      if (frame.src) focus(); else Object.assign(frame, {src: server, onload: () => frame.hidden || focus()});
    }
    function close() {
      show(false);
      button.focus();
    }
    button.onclick = () => { if (frame.hidden) open(); else close(); };
    host.onkeydown = ({key}) => { if (key === "Escape" && !frame.hidden) close(); };
    window.addEventListener("message", ({source, origin, data}) => {
      if (source !== frame.contentWindow || origin !== server) return;
      if (data === "close") close(); else if (data === "message" && frame.hidden) button.className = "unread";
    });
    show(false);
    document.body.append(host);
  }
  // Connect the page in the frame with the button. The messages contain nothing secret, so any site may read them.
  function connect(chat) {
    const tell = (text) => parent.postMessage(text, "*"), list = chat.querySelector("ul");
    addStyle(document, FRAMED);
    chat.querySelector("h1").after(
      make("button", {type: "button", textContent: "✕", ariaLabel: CLOSE, onclick: () => tell("close")}));
    onkeydown = ({key}) => { if (key === "Escape") tell("close"); };
    onmessage = ({source, data}) => { if (source === parent && data === "focus") chat.querySelector("input").focus(); };
    // The chat sets its state after each load. The messages of the first load, and the visitor's own, are not unread.
    const count = () => list.querySelectorAll("li:not(.human, .welcome)").length;
    let seen = Infinity;
    const observer = new MutationObserver(() => {
      if (count() > seen) tell("message");
      if (chat.dataset.state) seen = count();
    });
    observer.observe(chat, {attributeFilter: ["data-state"]});
  }
  function begin() {
    const chat = location.origin === server && document.querySelector("main#chat");
    if (chat && parent !== window) connect(chat);
    if (!chat && !document.querySelector("cams-chat")) addButton(); // once, if the page contains the script twice
  }
  if (document.body) begin(); else document.addEventListener("DOMContentLoaded", begin);
})();
