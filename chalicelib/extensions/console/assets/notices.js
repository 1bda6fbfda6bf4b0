// Asks the browser to allow notifications, and marks the answer.
const part = document.querySelector(".browser"), show = () => { part.dataset.is = Notification.permission; };
part.querySelector("button").onclick = () => Notification.requestPermission().then(show);
show();
