// Comfort for the pages, which work without it: auto-complete, copies with citation, keys for answers, selection of spans.
"use strict";

// Auto-complete: a combobox with a list box, as in the ARIA Authoring Practices Guide.
for (const input of document.querySelectorAll("input[data-suggest]")) {
  const list = document.createElement("ul");
  list.id = input.id + "-suggestions";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  input.after(list);
  for (const [name, value] of Object.entries({
    role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id,
  })) {
    input.setAttribute(name, value);
  }
  const flag = input.form.elements.namedItem("suggested");
  const mark = (isSuggested) => {
    if (flag) flag.disabled = !isSuggested;
  };
  let active = -1;
  let typed = input.value;
  let timer = 0;
  let request = null;

  const close = () => {
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const activate = (next) => {
    const options = list.children;
    if (active >= 0 && options[active]) options[active].setAttribute("aria-selected", "false");
    active = next;
    mark(false);
    if (active < 0) {
      input.removeAttribute("aria-activedescendant");
      input.value = typed;
      return;
    }
    options[active].setAttribute("aria-selected", "true");
    options[active].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", options[active].id);
    // Another text than a continuation replaces what was typed when it is chosen, not before.
    const { text } = options[active].dataset;
    const continues = text.toLowerCase().startsWith(typed.trim().toLowerCase());
    mark(continues);
    input.value = continues ? text : typed;
  };
  const choose = (text) => {
    input.value = text;
    mark(true);
    close();
    input.form.requestSubmit();
  };
  const show = (suggestions) => {
    list.replaceChildren(...suggestions.map(({ value: text, generated }, number) => {
      const option = document.createElement("li");
      option.id = list.id + "-" + number;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.dataset.text = text;
      option.textContent = generated ? text + " (generated)" : text;
      // The input keeps the focus.
      option.addEventListener("pointerdown", (event) => event.preventDefault());
      option.addEventListener("click", () => choose(text));
      return option;
    }));
    active = -1;
    list.hidden = suggestions.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
    input.removeAttribute("aria-activedescendant");
  };
  const suggest = async () => {
    if (request) request.abort();
    request = new AbortController();
    const { signal } = request;
    try {
      const response = await fetch(input.dataset.suggest + "?q=" + encodeURIComponent(typed), { signal });
      const suggestions = response.ok ? await response.json() : [];
      if (!signal.aborted && document.activeElement === input) show(suggestions);
    } catch {
      // Without suggestions the form still works.
    }
  };
  input.addEventListener("input", () => {
    typed = input.value;
    mark(false);
    clearTimeout(timer);
    if (typed.trim() === "") {
      if (request) request.abort();
      close();
      return;
    }
    timer = setTimeout(suggest, 60);
  });
  input.addEventListener("keydown", (event) => {
    const count = list.children.length;
    if (list.hidden || event.isComposing) return;
    if (event.key === "ArrowDown") {
      activate(active + 1 < count ? active + 1 : -1);
    } else if (event.key === "ArrowUp") {
      activate(active < 0 ? count - 1 : active - 1);
    } else if (event.key === "Enter" && active >= 0) {
      choose(list.children[active].dataset.text);
    } else if (event.key === "Escape") {
      input.value = typed;
      mark(false);
      close();
    } else {
      return;
    }
    event.preventDefault();
  });
  input.addEventListener("blur", close);
}

// Sentences with their citation and permanent link, for the clipboard.
for (const button of navigator.clipboard ? document.querySelectorAll("button[data-copy]") : []) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const link = button.parentElement.querySelector("a[data-sentence]");
    const label = button.firstChild;
    const text = label.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy + (link ? "\n" + link.href : ""));
      label.textContent = "Copied";
    } catch {
      label.textContent = "Not copied";
    }
    setTimeout(() => { label.textContent = text; }, 2000);
  });
}

// Files of papers, dropped or chosen, are sent one after the other.
const drop = document.querySelector("[data-drop]");
if (drop) {
  drop.hidden = false;
  const list = drop.querySelector("[data-added]");
  const input = drop.querySelector("input[type=file]");
  const add = async (files) => {
    for (const file of files) {
      const item = document.createElement("li");
      item.textContent = file.name + ": …";
      list.append(item);
      try {
        const url = drop.dataset.drop + "?name=" + encodeURIComponent(file.name);
        const response = await fetch(url, { method: "POST", body: file });
        const { doc_ids: added, replaced, error } = await response.json();
        const done = replaced ? "replaces the paper with its name" : "added";
        item.textContent = file.name + ": " + (added ? done : error.message);
        if (added) drop.querySelector("form").hidden = false;
      } catch {
        item.textContent = file.name + ": not added";
      }
    }
    input.value = "";
  };
  input.addEventListener("change", () => add([...input.files]));
  for (const name of ["dragover", "drop"]) {
    drop.addEventListener(name, (event) => event.preventDefault());
  }
  drop.addEventListener("drop", (event) => add([...event.dataTransfer.files]));
}

// Answers of a document: next and previous without loading the page, and the keys n and p while the
// focus is in the text or the links (WCAG 2.1.4). A click into the text sets the focus.
const step = document.querySelector(".step[data-answers]");
if (step) {
  const answers = [...document.querySelectorAll("mark[id^=answer-]")];
  // By score, answers without a rank are last.
  const rank = (answer) => Number(answer.dataset.rank ?? Infinity);
  if (step.dataset.order === "score") answers.sort((a, b) => rank(a) - rank(b));
  const label = step.querySelector("[data-current]");
  let current = Math.max(0, answers.findIndex((answer) => answer.classList.contains("current")));
  const go = (next) => {
    if (answers.length === 0) return;
    const of = (answer) => document.querySelectorAll('mark[data-answer="' + answer.dataset.answer + '"]');
    of(answers[current]).forEach((part) => part.classList.remove("current"));
    current = (next + answers.length) % answers.length;
    of(answers[current]).forEach((part) => part.classList.add("current"));
    label.textContent = String(current + 1);
    answers[current].scrollIntoView({ block: "center" });
    answers[current].focus({ preventScroll: true });
  };
  for (const link of step.querySelectorAll("a[data-step]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      go(current + Number(link.dataset.step));
    });
  }
  const texts = [...document.querySelectorAll("article.document, h1.text")];
  texts.forEach((text) => { text.tabIndex = -1; });
  document.addEventListener("keydown", (event) => {
    const isActive = [step, ...texts].some((part) => part.contains(event.target));
    if (!isActive || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "n") go(current + 1);
    else if (event.key === "p") go(current - 1);
    else return;
    event.preventDefault();
  });
  if (answers.length > 0) {
    const focus = () => answers[current].focus({ preventScroll: true });
    answers[current].scrollIntoView({ block: "center", behavior: "instant" });
    focus();
    // The fragment of the address may take the focus away while the page is loaded.
    addEventListener("load", () => requestAnimationFrame(() => setTimeout(() => {
      if (document.activeElement === document.body) focus();
    })));
  }
}

// Selection of a span: fills the form of annotations. Offsets are code points.
const panel = document.querySelector("#annotate");
if (panel) {
  const length = (text) => [...text].length;
  const offset = (chunk, node, at) => {
    const range = document.createRange();
    range.setStart(chunk, 0);
    range.setEnd(node, at);
    return length(range.toString());
  };
  const chunkOf = (node) => (node.nodeType === Node.TEXT_NODE ? node.parentElement : node)?.closest("[data-chunk]");
  const fields = panel.elements;
  const read = () => {
    const selection = document.getSelection();
    if (!selection || selection.isCollapsed || selection.rangeCount === 0) return;
    const range = selection.getRangeAt(0);
    const chunk = chunkOf(range.startContainer);
    if (!chunk) return;
    // A selection that ends after its chunk is cut.
    if (!chunk.contains(range.endContainer)) range.setEnd(chunk, chunk.childNodes.length);
    const text = range.toString();
    const span = text.trim();
    if (span === "") return;
    const start = offset(chunk, range.startContainer, range.startOffset) + length(text) - length(text.trimStart());
    fields.namedItem("chunk").value = chunk.dataset.chunk;
    fields.namedItem("start").value = String(start);
    fields.namedItem("span").value = span;
    panel.querySelector("[data-span]").textContent = span;
    panel.hidden = false;
  };
  document.addEventListener("pointerup", (event) => {
    if (!panel.contains(event.target)) setTimeout(read, 0);
  });
  document.addEventListener("keyup", (event) => {
    if (event.shiftKey && !panel.contains(event.target)) read();
  });
  panel.querySelector("[data-close]").addEventListener("click", () => { panel.hidden = true; });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") panel.hidden = true;
  });
}
