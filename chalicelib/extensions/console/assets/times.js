// Shows each `<time datetime>` in the browser's time zone, and the exact time on hover. `data-as` is `time`, `day` or `ago`.
const language = document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang;
const hours = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }, days = { day: "numeric", month: "short" };
const styles = { time: hours, date: days, day: { weekday: "long", ...days }, moment: { ...days, ...hours } };
const formats = Object.fromEntries(Object.entries(styles).map(([as, style]) => [as, new Intl.DateTimeFormat(language, style)]));
const exact = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" });
const recent = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
const near = new Intl.RelativeTimeFormat(language, { numeric: "auto" });

// Today and yesterday have names. An older day of another year has its year.
const day = (date) => {
  const midnight = (time) => new Date(time).setHours(0, 0, 0, 0);
  const age = Math.round((midnight(Date.now()) - midnight(date)) / 86400000);
  if (age === 0 || age === 1) return near.format(-age, "day").replace(/^./, (letter) => letter.toUpperCase());
  const year = date.getFullYear() === new Date().getFullYear() ? "" : ` ${date.getFullYear()}`;
  return formats.day.format(date) + year;
};

// An age, such as 5 minutes ago. It is a date after a week.
const UNITS = [[60, "second", 60], [3600, "minute", 60], [86400, "hour", 3600], [604800, "day", 86400]];
const age = (date) => {
  const seconds = Math.max(0, (Date.now() - date) / 1000), unit = UNITS.find(([limit]) => seconds < limit);
  return unit ? recent.format(-Math.floor(seconds / unit[2]), unit[1]) : formats.date.format(date);
};

const localize = (root) => {
  for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
    const date = new Date(time.dateTime), as = time.dataset.as ?? "moment";
    if (isNaN(date)) continue;
    time.textContent = as === "day" ? day(date) : as === "ago" ? age(date) : formats[as].format(date);
    time.title = exact.format(date);
  }
};
localize(document);
setInterval(() => {
  for (const time of document.querySelectorAll("time[data-as=ago]")) time.textContent = age(new Date(time.dateTime));
}, 30000);
// A module that adds times dispatches this event.
document.addEventListener("content", (event) => localize(event.target));
