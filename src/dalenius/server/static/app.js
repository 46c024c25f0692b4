// An extra on top of pages that work without it: drag and drop, copy buttons, spoken updates of the preview,
// and a release button that waits while the preview is not of what is on the screen.
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

document.addEventListener("htmx:beforeSwap", (event) => {
  opened = [...document.querySelectorAll("details[id][open]")].map((element) => element.id);
  // A release that was not made answers with the builder itself, which says why.
  const { xhr, target } = event.detail;
  if (xhr.status >= 400 && target?.id === "builder" && xhr.responseText.includes('id="builder"')) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target?.id !== "builder") return;
  isUnderWay = false;
  pressed = [];
});

document.addEventListener("htmx:afterSettle", () => {
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
  const summary = document.getElementById("preview-summary");
  if (summary) say(summary.textContent.trim());
});

// The builder: a release sends what is on the screen, so its button waits while the preview is of something else.
const PATIENCE = 120;
let waiting = 0;
let pressed = [];
let isUnderWay = false;

const builderForm = () => document.getElementById("builder-form");

function differs(field) {
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  if (field.tagName !== "SELECT") return field.tagName === "INPUT" && field.value !== field.defaultValue;
  const given = [...field.options].findIndex((option) => option.defaultSelected);
  return field.selectedIndex !== Math.max(given, 0);
}

const isDirty = () => pressed.length > 0 || [...(builderForm()?.elements ?? [])].some(differs);

function show(state, text) {
  const builder = document.getElementById("builder");
  if (!builder) return;
  builder.dataset.state = state;
  builder.inert = state === "releasing";
  for (const note of builder.querySelectorAll("[data-says]")) {
    note.hidden = note.dataset.says !== state;
    if (!note.hidden && text) note.textContent = text;
  }
  const release = document.getElementById("release");
  if (release) release.disabled = state !== "" && (state !== "failed" || isDirty());
  const again = document.getElementById("try-again");
  if (again) again.hidden = state !== "offline" && state !== "failed";
}

function judge() {
  show(navigator.onLine === false ? "offline" : isDirty() ? "dirty" : "");
}

// A button that was pressed stays the form's last one while it has the focus; a refresh must not press it again.
function refresh() {
  clearTimeout(waiting);
  const form = builderForm();
  if (!form) return;
  if (document.activeElement?.matches("button")) document.activeElement.blur();
  htmx.trigger(form, "refresh");
}

document.addEventListener("input", (event) => {
  if (!event.target.form || event.target.form !== builderForm()) return;
  clearTimeout(waiting);
  // The answer under way would overwrite what is being typed.
  if (isUnderWay) htmx.trigger(builderForm(), "htmx:abort");
  judge();
});

document.addEventListener("change", (event) => {
  if (!event.target.form || event.target.form !== builderForm()) return;
  clearTimeout(waiting);
  waiting = setTimeout(refresh, PATIENCE);
});

document.addEventListener("focusout", (event) => {
  const form = builderForm();
  if (!form || event.target.form !== form || !event.target.matches("input, select")) return;
  if (!isUnderWay && isDirty()) {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, PATIENCE);
  }
});

document.addEventListener("submit", () => clearTimeout(waiting), true);

document.addEventListener("htmx:configRequest", (event) => {
  if (event.target !== builderForm()) return;
  const { verb, parameters, triggeringEvent } = event.detail;
  if (verb !== "get") {
    if (triggeringEvent?.type !== "submit") event.preventDefault();
    return;
  }
  // What was pressed before, and not answered yet, is sent again with what is pressed now.
  if (parameters.do !== undefined) pressed.push(parameters.do);
  if (pressed.length) parameters.do = [...pressed];
});

document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target !== builderForm()) return;
  isUnderWay = true;
  show(event.detail.requestConfig.verb === "get" ? "busy" : "releasing");
});

document.addEventListener("htmx:sendAbort", (event) => {
  if (event.target === builderForm()) isUnderWay = false;
});

for (const name of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(name, (event) => {
    if (event.target !== builderForm()) return;
    isUnderWay = false;
    show("offline");
  });
}

document.addEventListener("htmx:responseError", (event) => {
  if (event.target !== builderForm()) return;
  isUnderWay = false;
  const answer = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html");
  show("failed", answer.querySelector("main .note")?.textContent.trim());
});

document.addEventListener("click", (event) => {
  if (event.target.id === "try-again") refresh();
});

addEventListener("offline", () => builderForm() && show("offline"));
addEventListener("online", () => {
  if (!builderForm()) return;
  if (isDirty()) refresh();
  else judge();
});

// A browser that goes back to a page fills in what was typed there; the preview is of what the server sent.
addEventListener("pageshow", () => {
  isUnderWay = false;
  if (!builderForm()) return;
  judge();
  if (isDirty()) refresh();
});
