// Chart of series per window or slot of time: bars upwards for series, with the new ones on top, and downwards for the
// gone ones.
(function (page) {
  "use strict";

  const { shape, element, compact, exact } = page;

  const HEIGHT = 260;
  const LEFT = 56;
  const RIGHT = 8;
  const TOP = 10;
  const BOTTOM = 26;
  const WIDTH_OF_TIME = 112;
  const MAX_BAR = 64;
  const TICKS = 4;

  // Returns a step of 1, 2 or 5 times a power of ten, so that about `TICKS` steps cover the range.
  function step(range) {
    const rough = Math.max(1, range / TICKS);
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  }

  function axis(scale, most, least, width) {
    const size = step(most + least);
    const lines = [];
    for (let value = -Math.floor(least / size) * size; value <= most; value += size) {
      const y = scale(value);
      lines.push(shape("line", { class: value === 0 ? "zero" : "grid", x1: LEFT, x2: width - RIGHT, y1: y, y2: y }));
      lines.push(shape("text", { class: "tick", x: LEFT - 8, y: y + 4, "text-anchor": "end" },
        compact(Math.abs(value)).replace(/\.0+(?=\D)/, "")));
    }
    return lines;
  }

  function bars(window, x, width, scale) {
    const rectangle = (kind, from, to) => (from === to ? null : shape("rect", {
      class: kind, x, width, y: scale(to), height: Math.max(1, scale(from) - scale(to)),
    }));
    const tip = `${page.time(window.start)}: ${exact(window.series)} series, ${exact(window.new)} new, `
      + `${exact(window.gone)} gone`;
    return shape("g", {}, shape("title", {}, tip),
      rectangle("kept", 0, window.series - window.new),
      rectangle("new", window.series - window.new, window.series),
      rectangle("gone", -window.gone, 0));
  }

  function pattern() {
    return shape("defs", {}, shape("pattern", {
      id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)",
    }, shape("rect", { class: "hatch-ground", width: 6, height: 6 }),
    shape("rect", { class: "hatch-line", width: 2, height: 6 })));
  }

  function draw(windows, width) {
    const most = Math.max(1, ...windows.map((window) => window.series));
    const least = Math.max(0, ...windows.map((window) => window.gone));
    const scale = (value) => TOP + ((most - value) / (most + least)) * (HEIGHT - TOP - BOTTOM);
    const slot = (width - LEFT - RIGHT) / windows.length;
    const thick = Math.max(1, Math.min(MAX_BAR, slot * 0.72));
    const every = Math.ceil(WIDTH_OF_TIME / slot);
    const marks = windows.map((window, index) => {
      const middle = LEFT + slot * (index + 0.5);
      const text = index % every === 0 ? shape("text", {
        class: "tick", x: middle, y: HEIGHT - 6, "text-anchor": "middle",
      }, page.time(window.start)) : null;
      return [bars(window, middle - thick / 2, thick, scale), text];
    });
    return [pattern(), axis(scale, most, least, width), marks];
  }

  function key(kind, text) {
    const swatch = shape("svg", { class: "swatch", width: 14, height: 14, "aria-hidden": "true" },
      shape("rect", { class: kind, width: 14, height: 14 }));
    return element("span", { class: "key" }, swatch, text);
  }

  // Creates the chart. It is drawn again when its width changes.
  function chart(windows, noun) {
    const svg = shape("svg", {
      role: "img", "aria-label": `Series in ${exact(windows.length)} ${noun}s; the table has the numbers`,
      height: HEIGHT,
    });
    const legend = element("p", { class: "legend" }, key("kept", `in the ${noun} before too`), key("new", "new"),
      key("gone", `gone since the ${noun} before`));
    const figure = element("div", { class: "chart" }, svg, legend);
    let drawn = 0;
    new ResizeObserver(() => {
      const width = figure.clientWidth;
      if (width > 0 && width !== drawn) {
        drawn = width;
        svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
        svg.replaceChildren(...draw(windows, width).flat(3).filter(Boolean));
      }
    }).observe(figure);
    return figure;
  }

  Object.assign(page, { chart });
})((globalThis.chronoxide ??= {}));
