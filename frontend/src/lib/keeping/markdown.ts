/** A small part of Markdown as data: what is not in it stays text, HTML above all. */

export type Inline =
  | { readonly kind: "text" | "strong" | "em" | "code"; readonly text: string }
  | { readonly kind: "link"; readonly text: string; readonly href: string };

export type Block =
  | { readonly kind: "paragraph"; readonly parts: readonly Inline[] }
  | { readonly kind: "heading"; readonly parts: readonly Inline[] }
  | { readonly kind: "list"; readonly ordered: boolean; readonly items: readonly (readonly Inline[])[] }
  | { readonly kind: "pre"; readonly text: string };

const INLINE =
  /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|\[([^\]\n]+)\]\(([^\s()]+)\)|(https?:\/\/[^\s<>"'()]*[^\s<>"'().,;:!?])/g;
const ITEM = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/;

/** The address of a link, if it is one of the web: never a script. */
function webAddress(text: string): string | undefined {
  try {
    const { protocol, href } = new URL(text);
    return protocol === "https:" || protocol === "http:" ? href : undefined;
  } catch {
    return undefined;
  }
}

function link(text: string, address: string, whole: string): Inline {
  const href = webAddress(address);
  return href ? { kind: "link", text, href } : { kind: "text", text: whole };
}

/** The parts of one line. */
export function inlines(line: string): Inline[] {
  const found: Inline[] = [];
  let at = 0;
  for (const match of line.matchAll(INLINE)) {
    if (match.index > at) found.push({ kind: "text", text: line.slice(at, match.index) });
    const [whole, code, strong, em, label, address, bare] = match;
    if (code !== undefined) found.push({ kind: "code", text: code });
    else if (strong !== undefined) found.push({ kind: "strong", text: strong });
    else if (em !== undefined) found.push({ kind: "em", text: em });
    else if (label !== undefined) found.push(link(label, address ?? "", whole));
    else found.push(link(bare ?? whole, bare ?? whole, whole));
    at = match.index + whole.length;
  }
  if (at < line.length) found.push({ kind: "text", text: line.slice(at) });
  return found;
}

/** The blocks of a note. */
export function blocks(text: string): Block[] {
  const found: Block[] = [];
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  for (let i = 0; i < lines.length; i += 1) {
    const line = lines[i] ?? "";
    const last = found.at(-1);
    const item = ITEM.exec(line);
    if (line.startsWith("```")) {
      const end = lines.findIndex((other, j) => j > i && other.startsWith("```"));
      found.push({ kind: "pre", text: lines.slice(i + 1, end < 0 ? undefined : end).join("\n") });
      i = end < 0 ? lines.length : end;
    } else if (/^#{1,6}\s/.test(line)) {
      found.push({ kind: "heading", parts: inlines(line.replace(/^#+\s+/, "")) });
    } else if (item) {
      const ordered = item[1] !== undefined;
      const parts = inlines(item[2] ?? "");
      if (last?.kind === "list" && last.ordered === ordered && (lines[i - 1] ?? "").trim() !== "")
        found[found.length - 1] = { ...last, items: [...last.items, parts] };
      else found.push({ kind: "list", ordered, items: [parts] });
    } else if (line.trim() !== "") {
      const goesOn = last?.kind === "paragraph" && (lines[i - 1] ?? "").trim() !== "";
      const parts = inlines(line);
      if (goesOn && last.kind === "paragraph")
        found[found.length - 1] = {
          kind: "paragraph",
          parts: [...last.parts, { kind: "text", text: "\n" }, ...parts],
        };
      else found.push({ kind: "paragraph", parts });
    }
  }
  return found;
}
