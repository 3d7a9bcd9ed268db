// Shows names and values of labels, which may contain any text.
(function (page) {
  "use strict";

  const { element } = page;

  // Control, format and separator characters have no shape of their own or reorder the text around them.
  const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
  const MAX_NAME = 96;
  const MAX_VALUE = 48;
  const MAX_EXAMPLE = 24;
  const MAX_HELP = 120;

  function escapeCharacter(character) {
    return `\\u{${character.codePointAt(0).toString(16)}}`;
  }

  // Replaces invisible characters by visible escapes such as `\u{202e}`.
  function visible(text) {
    return text.replace(INVISIBLE, escapeCharacter);
  }

  // Returns true if `visible` changes the text.
  function hasInvisible(text) {
    return text.search(INVISIBLE) !== -1;
  }

  // Cuts a text after `limit` code points. Slicing first keeps the cost independent of the text's length.
  function shorten(text, limit) {
    if (text.length <= limit) {
      return text;
    }
    const characters = Array.from(text.slice(0, 2 * limit + 2));
    return characters.length <= limit ? text : `${characters.slice(0, limit - 1).join("")}…`;
  }

  // Splits a text at the places where a line may break: after the separators of names, rather than inside words.
  const breakable = (text) => text.split(/(?<=[_./:,-])(?=[^_./:,-])/u)
    .flatMap((word, index) => (index === 0 ? [word] : [element("wbr"), word]));

  // Splits a text into text nodes and marked escapes, so that an escape differs from a backslash in the text.
  function marked(text, isName) {
    const parts = [];
    const plain = (part) => parts.push(...(isName ? breakable(part) : [part]));
    let from = 0;
    for (const match of text.matchAll(INVISIBLE)) {
      plain(text.slice(from, match.index));
      parts.push(element("span", { class: "escape" }, escapeCharacter(match[0])));
      from = match.index + match[0].length;
    }
    plain(text.slice(from));
    return parts.filter((part) => part !== "");
  }

  // Creates an isolated element for a name or value. The title has the full text if it was cut.
  function isolated(text, limit, kind) {
    if (text === "") {
      return element("em", { class: "placeholder" }, "(empty)");
    }
    const short = shorten(text, limit);
    return element("bdi", { class: kind, title: short === text ? null : visible(text) },
      marked(short, kind === "name"));
  }

  const name = (text) => isolated(text, MAX_NAME, "name");
  const value = (text) => isolated(text, MAX_VALUE, "name");
  const example = (text) => isolated(text, MAX_EXAMPLE, "name");
  const help = (text) => isolated(text, MAX_HELP, "help");
  const long = (text) => isolated(text, 4096, "long");

  // Creates the name of a metric; `null` stands for series without a name.
  function metric(text) {
    return text === null ? element("em", { class: "placeholder" }, "(no name)") : name(text);
  }

  // Returns the name of a metric for attributes, which have no markup. Isolates keep its direction to itself.
  function plain(text, limit = 200) {
    if (text === null) {
      return "(no name)";
    }
    return text === "" ? "(empty)" : `\u2068${visible(shorten(text, limit))}\u2069`;
  }

  // Joins nodes as in "a, b and c".
  function listed(nodes) {
    return nodes.flatMap((node, index) => {
      if (index === 0) {
        return [node];
      }
      return [index === nodes.length - 1 ? " and " : ", ", node];
    });
  }

  Object.assign(page, { visible, hasInvisible, shorten, name, value, example, help, long, metric, plain, listed });
})((globalThis.chronoxide ??= {}));
