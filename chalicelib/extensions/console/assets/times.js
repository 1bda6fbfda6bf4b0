// Shows each `<time datetime>` in the browser's time zone, and the exact time on hover. `data-as` is `time` or `day`.
const language = document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang;
const hours = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }, days = { day: "numeric", month: "short" };
const styles = { time: hours, day: { weekday: "long", ...days }, moment: { ...days, ...hours } };
const formats = Object.fromEntries(Object.entries(styles).map(([as, style]) => [as, new Intl.DateTimeFormat(language, style)]));
const exact = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" });
const near = new Intl.RelativeTimeFormat(language, { numeric: "auto" });

// Today and yesterday have names. An older day of another year has its year.
const day = (date) => {
  const midnight = (time) => new Date(time).setHours(0, 0, 0, 0);
  const age = Math.round((midnight(Date.now()) - midnight(date)) / 86400000);
  if (age === 0 || age === 1) return near.format(-age, "day").replace(/^./, (letter) => letter.toUpperCase());
  const year = date.getFullYear() === new Date().getFullYear() ? "" : ` ${date.getFullYear()}`;
  return formats.day.format(date) + year;
};

const localize = (root) => {
  for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
    const date = new Date(time.dateTime), as = time.dataset.as ?? "moment";
    if (isNaN(date)) continue;
    time.textContent = as === "day" ? day(date) : formats[as].format(date);
    time.title = exact.format(date);
  }
};
localize(document);
// A module that adds times dispatches this event.
document.addEventListener("content", (event) => localize(event.target));
