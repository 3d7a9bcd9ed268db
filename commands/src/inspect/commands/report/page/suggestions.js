// "What to drop": suggestions with their effect and their command.
(function (page) {
  "use strict";

  const { element, button, exact, shareOf } = page;

  function selectText(node) {
    const range = document.createRange();
    range.selectNodeContents(node);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  }

  // Copies the command. The clipboard may be missing or refused in a local file; then the text is selected.
  async function copy(command, node, status) {
    try {
      await navigator.clipboard.writeText(command);
      status.textContent = "Copied.";
    } catch {
      selectText(node);
      status.textContent = "Selected: copy it with the keyboard.";
    }
  }

  // Terminals may act on control characters in pasted text.
  function warning(command) {
    if (!page.hasInvisible(command)) {
      return null;
    }
    return element("p", { class: "note" }, "The command contains invisible characters, shown as \\u{…}. ",
      "Check them before running it.");
  }

  // A line breaks between words only: a break after the hyphens of an option makes it hard to read.
  function words(text) {
    return text.split(" ").flatMap((word, index) => [
      index === 0 ? null : " ", word === "" ? null : element("span", { class: "word" }, page.long(word)),
    ]);
  }

  function command(text) {
    if (text === "") {
      return element("p", { class: "note" },
        "No single command does this: the folder has other files, its blocks differ in their external labels, or a "
          + "name contains a NUL character.");
    }
    const code = element("code", {}, words(text));
    const status = element("span", { class: "status", role: "status" });
    const copyButton = button({ class: "copy" }, () => copy(text, code, status), "Copy");
    return [element("div", { class: "command" }, code, element("span", { class: "act" }, copyButton, status)),
      warning(text)];
  }

  function title(suggestion) {
    if (suggestion.action === "drop-metric") {
      return ["Drop metric ", page.metric(suggestion.metric)];
    }
    const names = suggestion.labels.map((label) => page.name(label));
    return [names.length === 1 ? "Drop label " : "Drop labels ", page.listed(names)];
  }

  function card(suggestion, index) {
    const before = suggestion.removes + suggestion.remains;
    const share = shareOf(suggestion.removes, before);
    return element("li", {
      class: "card", "data-suggestion": index, "data-removes": suggestion.removes, "data-remains": suggestion.remains,
    },
      element("h3", {}, title(suggestion)),
      element("p", { class: "effect" }, `${exact(before)} to `, element("strong", {}, exact(suggestion.remains)),
        " series ", element("strong", { class: "saving" }, `(${page.minus(share)})`)),
      page.bar(1 - share, "remaining"),
      element("p", { class: "reason" }, page.long(suggestion.reason)),
      page.breaks(suggestion.used_by),
      command(suggestion.command));
  }

  // Creates the section. An empty list is an answer too.
  function suggestions(report) {
    const list = report.suggestions;
    if (report.totals.series === 0) {
      return null;
    }
    if (list.length === 0) {
      return page.section("drop", "What to drop", element("p", {},
        "Nothing stands out: no label has values that look generated and makes many series."));
    }
    return page.section("drop", "What to drop",
      element("p", { class: "lead" },
        report.usage === null ? "" : "Suggestions that break no query come first. ",
        "Labels whose values look generated come first, then the largest effect. Each suggestion stands alone: the "
          + "numbers do not add up. ",
        "The bar is the part of the series that remains. ",
        report.usage === null ? "Check that no alert or dashboard uses what you drop." : ""),
      element("ul", { class: "cards" }, list.map(card)));
  }

  Object.assign(page, { suggestions });
})((globalThis.chronoxide ??= {}));
