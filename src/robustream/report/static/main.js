// What the page is without this script is complete; here it gets charts, sorting, searching and a change of theme.

function addThemeButton() {
  const root = document.documentElement;
  const dark = () => getComputedStyle(root).colorScheme === "dark" ||
    (root.dataset.theme === undefined && matchMedia("(prefers-color-scheme: dark)").matches);
  const button = html("button", { type: "button", class: "theme" });
  const label = () => (button.textContent = dark() ? "Light" : "Dark");
  button.setAttribute("aria-label", "Change between light and dark");
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    label();
  });
  label();
  document.querySelector("header").prepend(button);
}

function addContents() {
  const sections = [...document.querySelectorAll("main > section[id]")];
  const links = sections.map((section) => html("a", { href: `#${section.id}` }, section.querySelector("h2").textContent));
  document.querySelector(".top").append(html("nav", { "aria-label": "Sections" }, ...links));
}

function drawCharts(data) {
  const draw = {
    scree: (place) => drawScree(place, data.scree),
    coefficients: (place) => drawCoefficients(place, data.coefficients),
    batches: (place) => drawBatches(place, data.batches),
    convergence: (place) => drawConvergence(place, data.convergence, data.tolerance),
  };
  for (const place of document.querySelectorAll("[data-chart]")) draw[place.dataset.chart](place);
}

document.documentElement.classList.add("js");
document.body.append(tooltip);
addThemeButton();
addContents();
for (const table of document.querySelectorAll("main section:not(#settings) table:not(#table-variance)")) makeSortable(table);
for (const table of document.querySelectorAll("table[data-search]")) makeSearchable(table);
drawCharts(JSON.parse(document.getElementById("chart-data").textContent));
