// Formats numbers, sizes, shares and times.
(function (page) {
  "use strict";

  const { element, visible } = page;

  const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
  const FRACTION = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  const STEPS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  // Numbers up to this one are short enough to be written in full.
  const MAX_IN_FULL = 9999;

  // Formats a whole number with separators: `1,234,567`.
  const exact = (number) => WHOLE.format(number);
  const fraction = (number) => FRACTION.format(number);

  // Cuts digits instead of rounding, so that 999,999 does not become 1,000 k.
  function threeDigits(number) {
    const digits = number >= 100 ? 0 : number >= 10 ? 1 : 2;
    const scale = 10 ** digits;
    return (Math.floor(number * scale + 1e-9) / scale).toFixed(digits);
  }

  // Formats a number with three digits: `1.23 M`.
  function compact(number) {
    if (number <= MAX_IN_FULL) {
      return exact(number);
    }
    const [step, unit] = STEPS.find(([size]) => number >= size);
    return `${threeDigits(number / step)}\u202f${unit}`;
  }

  // Formats a size: `2.54 MiB`.
  function bytes(number) {
    let unit = 0;
    let size = number;
    while (size >= 1024 && unit < UNITS.length - 1) {
      size /= 1024;
      unit += 1;
    }
    return `${unit === 0 ? exact(size) : threeDigits(size)}\u202f${UNITS[unit]}`;
  }

  const shareOf = (part, whole) => (whole > 0 ? part / whole : 0);

  // Formats a share. 0% and 100% are kept for exactly nothing and everything.
  function percent(share) {
    const number = share * 100;
    if (number === 0 || number === 100) {
      return `${number}%`;
    }
    if (number < 0.1) {
      return "<0.1%";
    }
    if (number > 99.9) {
      return ">99.9%";
    }
    return number < 10 || number > 99 ? `${number.toFixed(1)}%` : `${Math.round(number)}%`;
  }

  // Formats the share that is removed: `−28%`. Digits are cut so that a rest of few series does not become −100%.
  function minus(share) {
    if (share > 0.999 && share < 1) {
      return `−${Math.min(99.99, Math.floor(share * 10000) / 100).toFixed(2)}%`;
    }
    return share > 0 && share < 0.001 ? `−${Math.max(0.01, share * 100).toFixed(2)}%` : `−${percent(share)}`;
  }

  // Formats "1 label", "2 labels".
  function counted(number, singular, plural = `${singular}s`) {
    return `${exact(number)} ${number === 1 ? singular : plural}`;
  }

  // Formats an RFC 3339 time to minutes if the rest is zero. Works on text, which keeps nanoseconds.
  function time(text) {
    if (text === null) {
      return "unknown";
    }
    const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d(?:\.\d+)?)(Z|[+-]\d\d:\d\d)$/.exec(text);
    if (!match) {
      return visible(text);
    }
    const seconds = /^:00(\.0+)?$/.test(match[3]) ? "" : match[3];
    return `${match[1]} ${match[2]}${seconds}${match[4] === "Z" ? "" : match[4]}`;
  }

  // Formats a difference: `+5`, `−5`, `0`.
  function signed(number) {
    return number === 0 ? "0" : `${number > 0 ? "+" : "−"}${exact(Math.abs(number))}`;
  }

  // Creates a size with its exact number of bytes as title.
  function size(number) {
    return element("span", { "data-exact": number, title: counted(number, "byte") }, bytes(number));
  }

  Object.assign(page, { exact, fraction, compact, bytes, shareOf, percent, minus, counted, time, signed, size });
})((globalThis.chronoxide ??= {}));
