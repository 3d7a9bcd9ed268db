// Keeps the selected metric in the fragment of the address, so that links, "back" and "reload" keep it.
(function (page) {
  "use strict";

  const NOTHING = undefined;
  const listeners = [];
  let known = new Set();
  let current = NOTHING;

  // Reads the fragment: `metric=NAME`, or `unnamed=` for series without a name.
  function fromFragment() {
    const fields = new URLSearchParams(location.hash.slice(1));
    const metric = fields.has("unnamed") ? null : fields.get("metric") ?? NOTHING;
    return known.has(metric) ? metric : NOTHING;
  }

  function followFragment() {
    const before = current;
    current = fromFragment();
    if (current !== before) {
      listeners.forEach((listener) => listener(current, before));
    }
  }

  // Selects a metric; `null` are the series without a name.
  function select(metric) {
    const field = metric === null ? ["unnamed", ""] : ["metric", metric];
    location.hash = new URLSearchParams([field]).toString();
    followFragment();
  }

  // An empty fragment would scroll to the top of the page; "all" names no element and does not scroll.
  function clear() {
    location.hash = "all";
    followFragment();
  }

  // Starts with the metrics that can be selected.
  function start(metrics) {
    known = new Set(metrics);
    current = fromFragment();
    addEventListener("hashchange", followFragment);
  }

  page.selection = {
    start,
    select,
    clear,
    // Calls `listener(metric, previous)` after each change; `undefined` is no metric.
    subscribe: (listener) => listeners.push(listener),
    isSelectable: (metric) => known.has(metric),
    get metric() {
      return current;
    },
  };
})((globalThis.chronoxide ??= {}));
