import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  pickedCompletion,
  startCompletion,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import type { Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { look } from "./editor-look";
import type { Proposal, Proposals } from "./propose";

interface Option extends Completion {
  readonly about: string;
}

/** A proposal as the list shows it: in the order given, its documentation below. */
function optionOf({ label, insert, back, detail, about, more }: Proposal, index: number): Option {
  return {
    label,
    detail,
    about,
    boost: Math.max(-99, 99 - index),
    apply: (view, completion, from, to) => {
      view.dispatch({
        changes: { from, to, insert },
        selection: { anchor: from + insert.length - back },
        annotations: pickedCompletion.of(completion),
        userEvent: "input.complete",
        scrollIntoView: true,
      });
      if (more) startCompletion(view);
    },
  };
}

/** What the list shows for a caret: while a word is typed, or when it was asked for. */
export function resultOf(context: CompletionContext, found: Proposals | undefined): CompletionResult | null {
  if (!found || (!context.explicit && found.from === context.pos)) return null;
  return { from: found.from, options: found.options.map(optionOf), validFor: /^[\w.-]*$/ };
}

function documentation(completion: Completion): Node | null {
  const { about } = completion as Option;
  if (!about) return null;
  const line = document.createElement("div");
  line.className = "cm-about";
  line.textContent = about;
  return line;
}

interface Doing {
  complete: (text: string, caret: number) => Proposals | undefined;
  changed: (text: string) => void;
  leave: () => void;
}

/** All of the editor. Tab is not bound: it moves on, as everywhere; Escape leaves, once nothing is open. */
export function extensions(label: string, description: string, now: () => Doing): Extension {
  return [
    lineNumbers(),
    lintGutter(),
    history(),
    drawSelection(),
    highlightActiveLine(),
    EditorView.lineWrapping,
    indentUnit.of("  "),
    yaml(),
    autocompletion({
      override: [(context) => resultOf(context, now().complete(context.state.doc.toString(), context.pos))],
      icons: false,
      maxRenderedOptions: 60,
      addToOptions: [{ render: documentation, position: 90 }],
    }),
    keymap.of([
      { key: "Mod-Enter", run: () => true }, // starts the experiment, as in the form
      ...defaultKeymap,
      ...historyKeymap,
      ...lintKeymap,
      {
        key: "Escape",
        run: () => {
          now().leave();
          return true;
        },
      },
    ]),
    EditorView.contentAttributes.of({
      "aria-label": label,
      "aria-describedby": description,
      spellcheck: "false",
      tabindex: "0",
    }),
    EditorView.updateListener.of((update) => {
      const own = update.transactions.some((each) => each.docChanged && !each.isUserEvent("load"));
      if (own) now().changed(update.state.doc.toString());
    }),
    look,
  ];
}
