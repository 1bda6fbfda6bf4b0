// Shows the values at the pointer or the focus.
for (const chart of document.querySelectorAll(".chart")) {
  const all = (selector) => [...chart.querySelectorAll(selector)], keys = all(".key"), rows = all("tbody tr");
  const points = all("polyline").flatMap((line) => [...line.points]), [slider] = all("input"), [dots] = all("path");
  slider.oninput = slider.onfocus = () => {
    const near = points.filter((one) => Math.abs(one.x - slider.value) < 0.02);
    const texts = [...rows[slider.value].cells].map((cell) => cell.textContent);
    dots.setAttribute("d", near.map(({ x, y }) => `M${x} ${y}h0`).join(""));
    for (const key of keys) key.dataset.at = texts.splice(0, 2).join(": ");
    slider.ariaValueText = keys.map((key) => `${key.textContent}, ${key.dataset.at}`).join("; ");
  };
  slider.onpointermove = ({ offsetX }) => {
    slider.value = Math.round((offsetX - 8) * slider.max / (slider.clientWidth - 16));
    slider.oninput();
  };
  slider.onpointerup = () => slider.focus();
}
