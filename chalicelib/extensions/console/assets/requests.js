// Reads a page as a document whose scripts do not run, or sends a form.
window.load = (address, body) => new Promise((done) => {
  const request = new XMLHttpRequest();
  request.open(body ? "POST" : "GET", address);
  Object.assign(request, { responseType: "document", timeout: 30000, onloadend: () => done(request) });
  request.send(body);
});

// Tells the other scripts that a part of the page is new.
window.announce = (part) => part.dispatchEvent(new Event("content", { bubbles: true }));

// Shows a problem, or none, to the person. After a new sign-in, the forms need that session's token.
window.tell = (problem) => {
  const [notice, signIn] = document.querySelectorAll(".notice"), message = notice.dataset[problem] ?? "";
  if (notice.textContent !== message) notice.textContent = message;
  signIn.hidden = problem !== "expired";
};
window.renew = (token) => { for (const field of document.querySelectorAll("[name=form]")) field.value = token; };
