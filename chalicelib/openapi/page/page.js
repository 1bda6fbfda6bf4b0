// Shows the document of this deployment. Everything is found from this file's own address, so that the page
// works below any stage of a gateway.
const document_address = new URL("../openapi.json", document.currentScript.src).href;

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

SwaggerUIBundle({
  url: document_address,
  dom_id: "#interface",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  validatorUrl: null, // the badge would send the document to somebody else
  persistAuthorization: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  deepLinking: true,
  filter: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 2,
  defaultModelRendering: "example",
});
