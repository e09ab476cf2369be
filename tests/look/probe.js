// What is to be seen of a page, without a picture of it: boxes, styles, and faults that need no comparison.
() => {
  const KINDS =
    "header, nav, main, h1, h2, h3, h4, section, table, ul, canvas, button, a[href], input, textarea, select, summary, " +
    "[role], [data-testid]";
  const ALIGNED = 2; // px that a rounded position may be off
  const LEAST_TARGET = 23.5;
  const faults = [];

  const seen = (each) => each.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const hiddenFromEyes = (each) => {
    const box = each.getBoundingClientRect();
    return box.width <= 1 || box.height <= 1 || each.closest("[class*=unseen], [class*=isually]") !== null;
  };
  const words = (text) => (text ?? "").replace(/\s+/g, " ").trim().replace(/\d+/g, "0").replace(/(light|dark) colors/, "other colors").slice(0, 40);
  const nameOf = (each) => {
    const told = each.getAttribute("aria-label") ?? each.dataset.field ?? "";
    const leaf = /^(BUTTON|A|H[1-6]|SUMMARY)$/.test(each.tagName) || each.getAttribute("role") === "menuitem";
    return words(told || (leaf ? each.textContent : ""));
  };
  const called = (each) => {
    const kind = each.getAttribute("role") ?? each.tagName.toLowerCase();
    const id = each.dataset.testid ? `#${each.dataset.testid}` : "";
    return [kind + id, nameOf(each)].filter(Boolean).join(" ");
  };
  const inked = (canvas) => {
    if (canvas.width === 0 || canvas.height === 0) return false;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    for (let place = 3; place < data.length; place += 4) if (data[place] > 40) return true;
    return false;
  };
  const edge = (style, side) => {
    const width = Number.parseFloat(style.getPropertyValue(`border-${side}-width`));
    return width > 0 ? `${width} ${style.getPropertyValue(`border-${side}-color`)}` : "";
  };
  const styleOf = (each) => {
    const style = getComputedStyle(each);
    const borders = ["top", "right", "bottom", "left"].map((side) => edge(style, side));
    return [
      style.fontSize,
      style.fontWeight,
      style.color,
      `on ${style.backgroundColor}`,
      borders.some(Boolean) ? borders.join("/") : "",
      style.borderTopLeftRadius === "0px" ? "" : `round ${style.borderTopLeftRadius}`,
      style.textDecorationLine === "none" ? "" : style.textDecorationLine,
      style.opacity === "1" ? "" : `opacity ${style.opacity}`,
    ]
      .filter(Boolean)
      .join(" ");
  };

  const boxes = [];
  const times = new Map();
  for (const each of document.body.querySelectorAll(KINDS)) {
    if (each.closest("svg svg, svg *") || !seen(each) || hiddenFromEyes(each)) continue;
    const name = called(each);
    const time = (times.get(name) ?? 0) + 1;
    times.set(name, time);
    const box = each.getBoundingClientRect();
    const place = [box.x + scrollX, box.y + scrollY, box.width, box.height].map(Math.round);
    boxes.push([time > 1 ? `${name} (${time})` : name, place, styleOf(each)]);
    if (each.tagName === "CANVAS" && !inked(each)) faults.push(`blank: ${name}`);
  }

  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth)
    faults.push(`wide: the page has ${root.scrollWidth} px in a window of ${root.clientWidth}`);

  // Lines of text, as far as they can be seen.
  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const cut = new Set();
  const clip = (box, of) => ({
    left: Math.max(box.left, of.left),
    right: Math.min(box.right, of.right),
    top: Math.max(box.top, of.top),
    bottom: Math.min(box.bottom, of.bottom),
  });
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || !seen(parent) || hiddenFromEyes(parent) || parent.closest("script, style, option")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const whole of range.getClientRects()) {
      if (whole.width < 1) continue;
      let box = { left: whole.left, right: whole.right, top: whole.top, bottom: whole.bottom };
      let layer = null;
      let inner = false; // within something that scrolls: what is out of it can be reached
      for (let each = parent; each && each !== root; each = each.parentElement) {
        const style = getComputedStyle(each);
        const clips = style.overflowX !== "visible" || style.overflowY !== "visible";
        if (clips && each !== document.body) {
          const of = each.getBoundingClientRect();
          const scrolls = /auto|scroll/.test(style.overflowX + style.overflowY);
          const short = style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none";
          const beyond =
            box.right > of.right + ALIGNED ||
            box.left < of.left - ALIGNED ||
            box.bottom > of.bottom + 2 * ALIGNED ||
            box.top < of.top - 2 * ALIGNED;
          if (beyond && !scrolls && !short && !inner) cut.add(`cut: “${words(node.data)}” in ${called(each)}`);
          if (scrolls) inner = true;
          box = clip(box, of);
        }
        if (layer === null && /fixed|absolute|sticky/.test(style.position)) layer = each;
      }
      if (box.right - box.left > 1 && box.bottom - box.top > 1) lines.push({ ...box, layer, parent, text: node.data });
    }
  }
  faults.push(...cut);

  // Lines that lie on others. Those of one element may touch: a line is less high than its letters may be.
  lines.sort((a, b) => a.top - b.top);
  const over = new Set();
  for (let i = 0; i < lines.length; i += 1) {
    const a = lines[i];
    for (let j = i + 1; j < lines.length && lines[j].top < a.bottom; j += 1) {
      const b = lines[j];
      if (a.layer !== b.layer || a.parent === b.parent) continue;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - b.top;
      if (across > ALIGNED && down > 0.4 * Math.min(a.bottom - a.top, b.bottom - b.top))
        over.add(`over: “${words(a.text)}” and “${words(b.text)}”`);
    }
  }
  faults.push(...over);

  // Numbers that do not fit their field.
  for (const field of document.querySelectorAll("input[inputmode=numeric], input[inputmode=decimal]"))
    if (seen(field) && field.scrollWidth > field.clientWidth + 1)
      faults.push(`cut: ${field.value} in the field ${called(field)}`);

  const TARGETS = "button, select, summary, nav a, input, textarea, [role=tab], [role=menuitem], [role=option]";
  for (const each of document.querySelectorAll(TARGETS)) {
    if (!seen(each) || each.disabled || each.type === "hidden" || hiddenFromEyes(each)) continue;
    const touched = [each, ...(each.labels ?? [])].map((part) => part.getBoundingClientRect());
    const width = Math.max(...touched.map((box) => box.right)) - Math.min(...touched.map((box) => box.left));
    const height = Math.max(...touched.map((box) => box.bottom)) - Math.min(...touched.map((box) => box.top));
    if (Math.min(width, height) < LEAST_TARGET)
      faults.push(`small: ${called(each)} is ${Math.round(width)} x ${Math.round(height)} px`);
  }

  return { boxes, faults: [...new Set(faults)], busy: document.querySelector("[aria-busy=true]") !== null };
}
