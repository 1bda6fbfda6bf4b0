// Shows both periods' values and dates at the pointer, or where the arrow keys lead.
for (const chart of document.querySelectorAll(".chart")) {
  const all = (selector) => [...chart.querySelectorAll(selector)];
  const [slider] = all("input"), [cross, dots] = all("path"), keys = all(".key"), rows = all("tbody tr");
  const points = all("polyline").flatMap((line) => [...line.points]);
  const show = () => {
    const { value, max } = slider, x = value * 100 / Math.max(1, max), near = points.filter((point) => Math.abs(point.x - x) < 0.02);
    cross.setAttribute("d", `M${x} 0V100`);
    dots.setAttribute("d", near.map(({ y }) => `M${x} ${y}h0`).join(""));
    const texts = [...rows[value].cells].map((cell) => cell.textContent);
    for (const key of keys) key.dataset.at = texts.splice(0, 2).join(": ");
    slider.ariaValueText = keys.map((key) => `${key.textContent}, ${key.dataset.at}`).join("; ");
    chart.classList.add("at");
  };
  slider.onpointermove = ({ offsetX }) => {
    slider.value = Math.round((offsetX - 8) * slider.max / (slider.clientWidth - 16));
    show();
  };
  slider.onpointerup = () => slider.focus(); // a finger leaves afterwards
  slider.oninput = slider.onfocus = show;
  slider.onblur = slider.onpointerleave = () => chart.classList.toggle("at", document.activeElement === slider);
  slider.hidden = false;
}
