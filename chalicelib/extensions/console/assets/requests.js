// Reads a page as a document whose scripts do not run, or sends a form.
window.load = (address, body) => new Promise((done) => {
  const request = new XMLHttpRequest();
  request.open(body ? "POST" : "GET", address);
  Object.assign(request, { responseType: "document", timeout: 30000, onloadend: () => done(request) });
  request.send(body);
});
