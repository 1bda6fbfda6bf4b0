// Separates days, and groups messages of one author.
const GROUP = 300000; // milliseconds
const turns = document.querySelector(".turns");

const arrange = () => {
  for (const line of turns.querySelectorAll(".day")) line.remove();
  let before = {}, day = "";
  for (const turn of [...turns.children]) {
    const time = turn.querySelector("time"), at = time && new Date(time.dateTime);
    const on = at?.toLocaleDateString("sv", document.documentElement.dataset);
    if (on && on !== day) {
      day = on;
      const line = time.cloneNode();
      line.className = line.dataset.as = "day";
      line.removeAttribute("title");
      turn.before(line);
      before = {};
    }
    const author = turn.matches(".turn") && turn.classList[1] + turn.querySelector("bdi").textContent;
    turn.classList.toggle("same", Boolean(author) && before.author === author && at - before.at < GROUP);
    before = { author, at };
  }
};
turns.addEventListener("content", arrange); // the times are localized after this, in `times.js`
announce(turns);
