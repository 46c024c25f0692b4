// An extra on top of pages that work without it: drag and drop, copy buttons, and spoken updates of the preview.
"use strict";

document.documentElement.classList.remove("no-js");

function say(text) {
  const live = document.getElementById("live");
  if (live && text) live.textContent = text;
}

// Pressing an unseen button keeps one way into the server for mouse, keyboard and script alike.
function act(form, action) {
  const button = document.createElement("button");
  button.name = "do";
  button.value = action;
  button.hidden = true;
  form.append(button);
  button.click();
  setTimeout(() => button.remove(), 0);
}

document.addEventListener("dragstart", (event) => {
  const item = event.target.closest("[data-variable]");
  if (!item) return;
  event.dataTransfer.setData("text/x-variable", item.dataset.variable);
  event.dataTransfer.effectAllowed = "move";
});

function zoneOf(event) {
  return event.target instanceof Element ? event.target.closest("[data-place]") : null;
}

document.addEventListener("dragover", (event) => {
  const zone = zoneOf(event);
  if (!zone || !event.dataTransfer.types.includes("text/x-variable")) return;
  event.preventDefault();
  zone.classList.add("over");
});

document.addEventListener("dragleave", (event) => {
  const zone = zoneOf(event);
  if (zone && !zone.contains(event.relatedTarget)) zone.classList.remove("over");
});

document.addEventListener("drop", (event) => {
  const zone = zoneOf(event);
  const name = event.dataTransfer.getData("text/x-variable");
  if (!zone || !name) return;
  event.preventDefault();
  zone.classList.remove("over");
  const form = document.getElementById("builder-form");
  if (form) act(form, `${zone.dataset.place}:${name}`);
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  if (!source) return;
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    const range = document.createRange();
    range.selectNodeContents(source);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    document.execCommand("copy");
    selection.removeAllRanges();
  }
  button.textContent = button.dataset.copied;
  say(button.dataset.copied);
});

// What the reader opened stays open when a part of the page is replaced.
let opened = [];

document.addEventListener("htmx:beforeSwap", () => {
  opened = [...document.querySelectorAll("details[id][open]")].map((element) => element.id);
});

document.addEventListener("htmx:afterSettle", () => {
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
  const summary = document.getElementById("preview-summary");
  if (summary) say(summary.textContent.trim());
});

// A second press on a button that spends must not send a second request while the first is under way.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-once]")) return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "1";
  setTimeout(() => delete form.dataset.sent, 5000);
});
