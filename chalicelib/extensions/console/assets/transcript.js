// Separates days, groups messages of one author, and leads to new messages.
const GROUP_SECONDS = 300, turns = document.querySelector(".turns"), scroll = turns.parentElement;
const jump = document.querySelector(".jump");

const separator = ({ dateTime }) => {
  const line = Object.assign(document.createElement("time"), { className: "day", dateTime });
  line.dataset.as = "day";
  return line;
};

const arrange = () => {
  for (const line of turns.querySelectorAll(".day")) line.remove();
  let before = {}, day = "";
  for (const turn of [...turns.children]) {
    const time = turn.querySelector("time"), at = time && new Date(time.dateTime);
    const on = at?.toLocaleDateString("sv", document.documentElement.dataset);
    if (on && on !== day) {
      day = on;
      turn.before(separator(time));
      before = {};
    }
    const author = turn.matches(".turn") && turn.classList[1] + turn.querySelector("bdi").textContent;
    turn.classList.toggle("same", Boolean(author) && before.author === author && at - before.at < GROUP_SECONDS * 1000);
    before = { author, at };
  }
};
turns.addEventListener("content", arrange); // the times are localized after this, in `times.js`
turns.dispatchEvent(new Event("content", { bubbles: true }));

const isAtEnd = () => scroll.scrollTop > -40;
turns.addEventListener("content", () => { jump.hidden = isAtEnd(); });
scroll.onscroll = () => { jump.hidden ||= isAtEnd(); };
jump.onclick = () => scroll.scrollTo({ top: 0 });
