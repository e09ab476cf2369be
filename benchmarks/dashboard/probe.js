// What a page is measured with: frames, long tasks, shifts of its layout, and which charts are drawn when.
(() => {
  const bench = { opened: null, first: {}, shifts: 0, long: [] };
  window.bench = bench;
  let draws = {};
  let stamps = null;

  // uPlot strokes curves as paths, and axes without one
  const stroke = CanvasRenderingContext2D.prototype.stroke;
  CanvasRenderingContext2D.prototype.stroke = function (...path) {
    if (path.length > 0) {
      const name = this.canvas.closest("figure")?.dataset.testid ?? "other";
      bench.first[name] ??= performance.now();
      draws[name] = (draws[name] ?? 0) + 1;
    }
    return stroke.apply(this, path);
  };

  const watch = (type, take) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
  watch("layout-shift", (entry) => {
    if (!entry.hadRecentInput) bench.shifts += entry.value;
  });
  watch("longtask", (entry) => bench.long.push(entry.duration));
  let painted = 0;
  watch("largest-contentful-paint", (entry) => {
    painted = entry.startTime;
  });

  const NEAR = 320; // px: the page draws what is about to come into view
  const inView = (margin = 0) =>
    [...document.querySelectorAll("[data-testid=curves] figure")].filter((each) => {
      const box = each.getBoundingClientRect();
      return box.bottom > -margin && box.top < innerHeight + margin;
    });
  bench.inView = () => inView(NEAR).map((each) => each.dataset.testid);

  const LOOK_MS = 50; // each look needs a layout, which is the page's time, too
  const look = () => {
    document.querySelector("[data-testid=curves]")?.scrollIntoView();
    const charts = inView();
    const ready = charts.every((each) => each.dataset.points !== "0" && each.dataset.testid in bench.first);
    if (charts.length >= 2 && ready) bench.opened = performance.now();
    else setTimeout(look, LOOK_MS);
  };
  setTimeout(look, LOOK_MS);

  bench.times = () => {
    const answers = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/api/"));
    return {
      opened: bench.opened,
      painted,
      asked: answers.length,
      answered: Math.max(0, ...answers.filter((each) => each.responseEnd < bench.opened).map((each) => each.responseEnd)),
      bytes: answers.reduce((sum, each) => sum + each.decodedBodySize, 0),
      long: bench.long.reduce((sum, each) => sum + each, 0),
      shifts: bench.shifts,
    };
  };

  bench.begin = () => {
    draws = {};
    bench.long = [];
    bench.shifts = 0;
    const own = [];
    stamps = own;
    const frame = (now) => {
      if (stamps !== own) return; // of an act that has ended, within whose last frame this one began
      own.push(now);
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  };
  bench.end = () => {
    const gaps = stamps.slice(1).map((now, i) => now - stamps[i]);
    stamps = null;
    const sorted = [...gaps].sort((a, b) => a - b);
    const seen = new Set(bench.inView());
    const drawn = Object.keys(draws);
    return {
      frames: gaps.length,
      fps: (1000 * gaps.length) / gaps.reduce((sum, each) => sum + each, 0),
      p95_ms: sorted[Math.floor(0.95 * (sorted.length - 1))],
      worst_ms: sorted.at(-1),
      late: gaps.filter((each) => each > 25).length / gaps.length,
      long_tasks: bench.long.length,
      long_ms: bench.long.reduce((sum, each) => sum + each, 0),
      shifts: bench.shifts,
      drawn: drawn.filter((name) => seen.has(name)).length,
      drawn_out_of_view: drawn.filter((name) => name.startsWith("chart-") && !seen.has(name)).length,
    };
  };
})();
