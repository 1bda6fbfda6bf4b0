// Shows each time in the person's or browser's zone, and the exact time on hover.
const { lang, dataset } = document.documentElement;
const format = (style, of = lang) => new Intl.DateTimeFormat(of, { ...dataset, ...style }).format;
const hours = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }, days = { day: "numeric", month: "short" };
const date = format(days), weekday = format({ weekday: "long", ...days });
const exact = format({ dateStyle: "full", timeStyle: "long" });
const relative = new Intl.RelativeTimeFormat(lang, { numeric: "auto", style: "short" });
const iso = format({}, "sv");
// Today and yesterday have names. Days of other years have their year.
const day = (time) => {
  const today = iso(Date.now()), on = iso(time), age = (new Date(today) - new Date(on)) / 864e5;
  if ([0, 1].includes(age)) return relative.format(-age, "day").replace(/^./, (letter) => letter.toUpperCase());
  const year = on.slice(0, 4);
  return weekday(time) + (today.startsWith(year) ? "" : ` ${year}`);
};

// An age, such as 5 minutes ago, or a date after a week.
const ago = (time) => {
  let age = (Date.now() - time) / 6e4;
  if (age < 1) return dataset.now;
  for (const [unit, limit] of Object.entries({ minute: 60, hour: 24, day: 7 })) {
    if (age < limit) return relative.format(-Math.floor(age), unit);
    age /= limit;
  }
  return date(time);
};

const formats = { time: format(hours), day, ago, moment: format({ ...days, ...hours }),
  second: format({ ...days, ...hours, second: "2-digit" }) };
const show = () => {
  for (const element of document.querySelectorAll("time[data-as=ago], time:not([title])")) {
    const time = new Date(element.dateTime);
    element.textContent = formats[element.dataset.as ?? "moment"](time);
    element.title ||= exact(time);
  }
};
show();
setInterval(show, 3e4);
addEventListener("content", show);
