"use strict";
const form = document.getElementById("form"), shown = document.getElementById("answer");
let last = 0;
function query() {
  const values = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "") values.set(name, value);
  return values;
}
async function update() {
  const values = query(), mine = ++last;
  for (const part of document.querySelectorAll("[data-load]")) part.hidden = part.dataset.load !== values.get("load");
  history.replaceState(null, "", "?" + values);
  for (const side of ["A", "B"]) {
    const there = side === "A" || values.has("gpu2");
    for (const what of ["scenario", "report"]) {
      const link = document.getElementById(what + "-" + side);
      link.hidden = !there;
      link.href = (what === "scenario" ? "/scenario.yaml?" : "/report.html?") + values + "&side=" + side;
    }
  }
  shown.setAttribute("aria-busy", "true");
  let text, good = false;
  try {
    const reply = await fetch("/answer?" + values);
    text = await reply.text();
    good = reply.ok;
  } catch (e) {
    text = "The server has ended: start `servegrid ui` again.";
  }
  if (mine !== last) return;
  if (good) {
    shown.innerHTML = text;
  } else {
    shown.replaceChildren(Object.assign(document.createElement("p"), {className: "error", textContent: text}));
  }
  shown.setAttribute("aria-busy", "false");
}
let timer;
form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(update, 250); });
form.addEventListener("submit", (e) => { e.preventDefault(); update(); });
update();
