import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const theme = EditorView.theme({
  "&": {
    color: "var(--hk-ink)",
    backgroundColor: "var(--hk-surface)",
    border: "1px solid var(--hk-line-2)",
    borderRadius: "4px",
    fontSize: "13px",
  },
  "&.cm-focused": { outline: "2px solid var(--hk-accent)", outlineOffset: "1px" },
  ".cm-scroller": {
    minHeight: "420px",
    maxHeight: "max(420px, calc(100vh - 190px))",
    overflow: "auto",
    fontFamily: "var(--mantine-font-family-monospace)",
    lineHeight: "1.55",
  },
  ".cm-content": { padding: "10px 0", caretColor: "var(--hk-ink)" },
  ".cm-line span": { unicodeBidi: "normal" }, // the editor orders a line by itself
  ".cm-gutters": { color: "var(--hk-ink-2)", backgroundColor: "var(--hk-sunken)", border: "0" },
  // the selection is drawn below it
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--hk-ink) 4%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--hk-line-2)",
  },
  ".cm-cursor": { borderLeftColor: "var(--hk-ink)" },
  ".cm-tooltip": {
    color: "var(--hk-ink)",
    backgroundColor: "var(--hk-surface)",
    border: "1px solid var(--hk-line-2)",
    borderRadius: "4px",
    boxShadow: "var(--mantine-shadow-md)",
    zIndex: "20",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {
    maxWidth: "min(560px, 92vw)",
    maxHeight: "320px",
    fontFamily: "var(--mantine-font-family-monospace)",
    fontSize: "13px",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "4px 10px", minHeight: "24px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    color: "var(--hk-ink)",
    backgroundColor: "var(--hk-info-bg)",
  },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-completionDetail": {
    marginLeft: "12px",
    fontStyle: "normal",
    fontSize: "12px",
    color: "var(--hk-ink-2)",
  },
  ".cm-about": {
    fontFamily: "var(--mantine-font-family)",
    fontSize: "12px",
    whiteSpace: "normal",
    color: "var(--hk-ink-2)",
  },
  ".cm-diagnostic": { padding: "6px 10px", fontSize: "13px", borderLeftWidth: "3px" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--hk-bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--hk-warn)" },
  ".cm-lintRange-error": underline("var(--hk-bad)"),
  ".cm-lintRange-warning": underline("var(--hk-warn)"),
  ".cm-gutter-lint": { width: "14px" },
  ".cm-gutter-lint .cm-gutterElement": { padding: "0" },
  ".cm-lint-marker": { width: "14px", height: "1.55em", content: "normal !important", textAlign: "center" },
  ".cm-lint-marker-error": { color: "var(--hk-bad)" },
  ".cm-lint-marker-warning": { color: "var(--hk-warn)" },
  ".cm-lint-marker-error::before": { content: '"✕"' },
  ".cm-lint-marker-warning::before": { content: '"!"', fontWeight: "700" },
  "@media print": { ".cm-scroller": { maxHeight: "none" } },
});

/** Of a color that follows the scheme: the underlines that come with the editor are pictures of one color. */
function underline(color: string) {
  return {
    backgroundImage: "none",
    textDecoration: `underline wavy ${color} 1px`,
    textUnderlineOffset: "3px",
    textDecorationSkipInk: "none",
  };
}

const colors = HighlightStyle.define([
  { tag: tags.definition(tags.propertyName), color: "var(--hk-accent)" },
  { tag: tags.comment, color: "var(--hk-ink-2)" },
  { tag: tags.string, color: "var(--hk-good)" },
  { tag: [tags.keyword, tags.labelName, tags.typeName], color: "var(--hk-sim)" },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: "var(--hk-ink-2)" },
]);

/** The editor in the colours of the page, in both schemes. */
export const look: Extension = [theme, syntaxHighlighting(colors)];
