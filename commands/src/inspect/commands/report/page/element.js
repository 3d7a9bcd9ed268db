// Creates elements. Text always becomes text nodes: nothing in the report is parsed as HTML.
(function (page) {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";

  // Sets attributes; `null`, `undefined` and `false` leave an attribute out, `true` sets it without a value.
  function setAttributes(node, attributes) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) {
        continue;
      }
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }

  function append(node, children) {
    for (const child of children.flat(Infinity)) {
      if (child !== null && child !== undefined) {
        node.append(child);
      }
    }
    return node;
  }

  // Creates an HTML element. Children are nodes, strings, lists of them, or `null`.
  function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    setAttributes(node, attributes);
    return append(node, children);
  }

  // Creates an SVG element.
  function shape(tag, attributes = {}, ...children) {
    const node = document.createElementNS(SVG, tag);
    setAttributes(node, attributes);
    return append(node, children);
  }

  function button(attributes, click, ...children) {
    const node = element("button", { type: "button", ...attributes }, ...children);
    node.addEventListener("click", click);
    return node;
  }

  // Creates a section with its heading. `id` is the target of the contents list.
  function section(id, title, ...children) {
    const heading = element("h2", { id: `${id}-title`, tabindex: -1 }, title);
    return element("section", { id, "aria-labelledby": `${id}-title` }, heading, ...children);
  }

  // Creates a bar that is `share` full. It repeats a number that is written next to it, so it is hidden from
  // screen readers. A share above zero is always visible.
  function bar(share, kind = "") {
    const fill = element("span", { class: "fill" });
    const percent = Math.min(100, Math.max(0, share * 100));
    fill.style.width = `${percent}%`;
    if (share > 0) {
      fill.style.minWidth = "2px";
    }
    return element("span", { class: `bar ${kind}`.trim(), "aria-hidden": "true" }, fill);
  }

  Object.assign(page, { element, shape, button, section, bar });
})((globalThis.chronoxide ??= {}));
