// Shows this deployment's OpenAPI document. All URLs are relative to this file, so the page works under any API Gateway
// stage.
const root = new URL("..", document.currentScript.src).href;

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const applyScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", applyScheme);
applyScheme();

// Sort by method, then by path: the operation that creates a record comes before the operations that need the record.
const METHODS = ["post", "get", "patch", "delete"];
const place = (operation) => METHODS.indexOf(operation.get("method")) + operation.get("path");

async function show() {
  const spec = await (await fetch(root + "openapi.json")).json();
  // The document's server is a relative URL. Show the absolute URL to the reader.
  spec.servers = [{ url: root.replace(/\/$/, "") }];
  SwaggerUIBundle({
    spec,
    dom_id: "#interface",
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    validatorUrl: null, // the validator's badge would send the document to a third party
    persistAuthorization: true,
    tryItOutEnabled: true,
    displayRequestDuration: true,
    deepLinking: true,
    docExpansion: "list",
    defaultModelsExpandDepth: -1, // each operation shows its own schemas
    defaultModelExpandDepth: 2,
    defaultModelRendering: "example",
    operationsSorter: (one, other) => (place(one) < place(other) ? -1 : 1),
  });
}
show();
