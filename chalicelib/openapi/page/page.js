// Shows the OpenAPI document of this deployment. The URL is relative to this file, so the page works below any stage of a
// gateway.
const documentUrl = new URL("../openapi.json", document.currentScript.src).href;

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const applyScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", applyScheme);
applyScheme();

SwaggerUIBundle({
  url: documentUrl,
  dom_id: "#interface",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  validatorUrl: null, // the badge would send the document to a third party
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
