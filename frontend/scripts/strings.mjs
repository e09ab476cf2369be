// Prints what people read in TypeScript files, in their order: a JSON list of [file, line, text]. strings.mjs FILE...
// A text that is put together is one: its parts as {source}, its choices as {one | other}, its elements as their text.
import { readFileSync } from "node:fs";
import ts from "typescript";

/** Attributes and properties whose text is read even where it is one lower-case word. */
const READ = new Set(
  "title label aria-label placeholder description meaning note words did said alt empty more about".split(
    " ",
  ),
);
/** Those whose text no one reads, beside what begins with "data-" or ends with "Key". */
const UNREAD = new Set(
  (
    "className classNames key to href rel target type id role d viewBox points transform fill stroke style styles font " +
    "fontFamily variant color size width height gap justify align position testId path src lang method mode cache " +
    "gridTemplateColumns background border outline padding margin transition textDecoration boxShadow filter headers " +
    "strokeLinecap strokeLinejoin aria-keyshortcuts aria-controls aria-labelledby aria-describedby"
  ).split(" "),
);
/** Functions whose arguments are names, not texts. */
const NAMES = new Set(
  (
    "startsWith endsWith includes indexOf has split querySelector querySelectorAll closest getElementById getAttribute " +
    "setAttribute removeAttribute addEventListener removeEventListener createElement createElementNS matchMedia " +
    "lazyRouteComponent import"
  ).split(" "),
);
/** Elements that are part of the sentence around them. */
const INLINE = new Set(
  "a abbr b br cite code Code em i kbd Kbd Link small span strong sub sup time".split(" "),
);
const CODE =
  /var\(--|color-mix|-gradient\(|minmax\(|\d(px|fr|em|rem|vw|vh)\b|^\s*[<#./]|^\S*[a-z][A-Z]\S*$|=>|\/api\//;
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: " " };
const LONGEST = 32;
const HOLE = "\u2026";

const args = process.argv.slice(2);
const found = args.flatMap((file) => read(file).map(([line, text]) => [file, line, text]));
process.stdout.write(JSON.stringify(found));

/** Every text of a file with its line. */
function read(file) {
  const kind = file.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true, kind);
  const texts = [];
  const said = new Set();
  const emit = (node, text) => {
    const words = text.replace(/\s+/g, " ").trim();
    const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
    texts.push([line, words]);
  };
  const visit = (node) => {
    if (isUnread(node)) return;
    if (ts.isJsxElement(node) || ts.isJsxFragment(node)) {
      if (!said.has(node) && node.children.some(hasWords)) {
        const first = node.children.find((child) => !isBlank(child)) ?? node;
        emit(first, node.children.map((child) => rendered(child, said)).join(""));
      }
    } else if (isText(node) && !said.has(node) && !isNameOnly(node)) {
      const text = rendered(node, said);
      const place = placeOf(node);
      const worded = /\p{L}/u.test(text.replace(/\{[^{}]*\}/g, ""));
      if (worded && !UNREAD.has(place) && (READ.has(place) || isProse(text))) emit(node, text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return texts.sort(([a], [b]) => a - b);
}

/** Whether nothing below is read: what is imported, types, attributes that are names. */
function isUnread(node) {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isTypeNode(node)) return true;
  return ts.isJsxAttribute(node) && isName(node.name.getText());
}

function isName(name) {
  return UNREAD.has(name) || name.startsWith("data-") || name.endsWith("Key");
}

function isText(node) {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return true;
  return ts.isTemplateExpression(node) || (isSum(node) && (isText(node.left) || isText(node.right)));
}

function isSum(node) {
  return ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken;
}

/** Whether a literal stands where it is compared, called by name or is the name of a property. */
function isNameOnly(node) {
  const { parent } = node;
  if (ts.isBinaryExpression(parent))
    return !isSum(parent) && /^(===?|!==?|in)$/.test(parent.operatorToken.getText());
  if (ts.isCaseClause(parent) || ts.isElementAccessExpression(parent)) return true;
  if (ts.isPropertyAssignment(parent) && parent.name === node) return true;
  if (!ts.isCallExpression(parent)) return false;
  const called = parent.expression;
  return NAMES.has(ts.isPropertyAccessExpression(called) ? called.name.text : called.getText());
}

/** The attribute or property whose value a text is, or is a choice or an item of. */
function placeOf(node) {
  for (let at = node.parent; at; at = at.parent) {
    if (ts.isJsxAttribute(at) || ts.isPropertyAssignment(at)) {
      const name = at.name.getText().replace(/^["']|["']$/g, "");
      return isName(name) ? "className" : name;
    }
    const choice =
      ts.isConditionalExpression(at) || ts.isBinaryExpression(at) || ts.isArrayLiteralExpression(at);
    if (!choice && !ts.isParenthesizedExpression(at) && !ts.isJsxExpression(at) && !ts.isAsExpression(at))
      return "";
  }
  return "";
}

function isBlank(child) {
  return ts.isJsxText(child) && child.text.trim() === "";
}

/** Whether a child of an element has words of its own. */
function hasWords(child) {
  if (ts.isJsxText(child)) return /\p{L}/u.test(child.text);
  if (!ts.isJsxExpression(child)) return false;
  const parts = new Set();
  rendered(child, parts);
  return [...parts].some((literal) => /\p{L}/u.test(ownText(literal)));
}

/** The text of a literal without what it takes in. */
function ownText(literal) {
  if (ts.isStringLiteral(literal) || ts.isNoSubstitutionTemplateLiteral(literal)) return literal.text;
  if (!ts.isTemplateExpression(literal)) return "";
  return [literal.head, ...literal.templateSpans.map((span) => span.literal)]
    .map(({ text }) => text)
    .join("");
}

/** A text in words; `said` gets each literal that became part of it. */
function rendered(node, said) {
  if (ts.isJsxText(node)) return jsxText(node.text);
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) {
    said.add(node);
    return node.text;
  }
  if (ts.isTemplateExpression(node)) {
    said.add(node);
    const spans = node.templateSpans.map((span) => `${part(span.expression, said)}${span.literal.text}`);
    return node.head.text + spans.join("");
  }
  if (isSum(node) && isText(node)) {
    said.add(node);
    return [node.left, node.right]
      .map((side) => (isText(side) ? rendered(side, said) : part(side, said)))
      .join("");
  }
  if (ts.isJsxElement(node)) return element(node, node.openingElement.tagName.getText(), said);
  if (ts.isJsxFragment(node)) return element(node, "span", said);
  if (ts.isJsxSelfClosingElement(node)) return node.tagName.getText() === "br" ? " " : "{}";
  if (ts.isJsxExpression(node)) return node.expression ? part(node.expression, said) : "";
  return part(node, said);
}

/** An element within a sentence; another one is read by itself. */
function element(node, tag, said) {
  if (!INLINE.has(tag)) return "{}";
  said.add(node);
  return node.children.map((child) => rendered(child, said)).join("");
}

/** A part of a text: a text in it, the choices of a condition, or its source in braces. */
function part(node, said) {
  if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node)) return part(node.expression, said);
  if (isText(node) || ts.isJsxElement(node) || ts.isJsxFragment(node)) return rendered(node, said);
  if (ts.isConditionalExpression(node)) {
    return `{${choice(node.whenTrue, said)} | ${choice(node.whenFalse, said)}}`;
  }
  if (ts.isBinaryExpression(node) && /^(&&|\|\||\?\?)$/.test(node.operatorToken.getText())) {
    const both = node.operatorToken.kind !== ts.SyntaxKind.AmpersandAmpersandToken;
    return both
      ? `{${choice(node.left, said)} | ${choice(node.right, said)}}`
      : `{${choice(node.right, said)} | }`;
  }
  if (/^(null|undefined|true|false)$/.test(node.getText())) return "";
  return `{${short(node)}}`;
}

/** A choice of a condition, whose braces are those of the condition. */
function choice(node, said) {
  return part(node, said).replace(/^\{([^{}]*)\}$/, "$1");
}

function short(node) {
  const text = node.getText().replace(/\s+/g, " ");
  if (text.length <= LONGEST && !/[{}]/.test(text)) return text;
  return ts.isCallExpression(node) ? `${short(node.expression)}(${HOLE})` : HOLE;
}

/** What React makes of text between elements: lines are trimmed, and joined by one blank. */
function jsxText(text) {
  const lines = text.split(/\r?\n/);
  const trimmed = lines.map((line, i) => {
    const left = i > 0 ? line.trimStart() : line;
    return i < lines.length - 1 ? left.trimEnd() : left;
  });
  const joined = trimmed.filter((line) => line !== "").join(" ");
  return joined.replace(/&(amp|lt|gt|quot|nbsp);/g, (_, name) => ENTITIES[name]);
}

/** Whether a text reads like words for people: two words, a word beside a part, or one with a capital letter. */
function isProse(text) {
  const bare = text.replace(/\{[^{}]*\}/g, HOLE);
  if (CODE.test(bare) || /^[A-Z_]+$/.test(bare)) return false;
  if (/^\p{Lu}\p{Ll}+[.:\u2026]?$/u.test(bare)) return true;
  return (
    /\p{L}{2}[\p{P}]*\s+\p{P}*(\p{L}|\d|\u2026)/u.test(bare) ||
    /(\u2026|\d)\p{P}*\s+\p{P}*\p{L}{3}/u.test(bare)
  );
}
