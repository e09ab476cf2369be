import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { type Ref, useEffect, useId, useImperativeHandle, useLayoutEffect, useRef } from "react";
import ui from "@/lib/ui/ui.module.css";
import { extensions } from "./extensions";
import type { Proposals } from "./propose";
import type { Span } from "./read";

/** Something that is said of a part of the text. */
export interface Mark extends Span {
  readonly severity: "error" | "warning";
  readonly message: string;
  /** The same for those who do not see the place: with its line. */
  readonly spoken: string;
}

export interface EditorHandle {
  /** Put the caret there, in view. */
  readonly goTo: (span: Span) => void;
}

interface YamlEditorProps {
  label: string;
  text: string;
  change: (text: string) => void;
  /** What is wrong; undefined: it is being found out, and what is marked stays. */
  marks: readonly Mark[] | undefined;
  complete: (text: string, caret: number) => Proposals | undefined;
  /** Whether anything can be proposed yet. */
  completes: boolean;
  /** Where the focus goes on Escape. */
  leave: () => void;
  ref?: Ref<EditorHandle>;
}

/** As in the style of the editor, which may measure its lines before it has that: the numbers beside them would stay as far apart as then. */
const LINES = { fontSize: 13, lineHeight: 1.55 };

/** A text in YAML with completion, and marks at what is wrong. */
export function YamlEditor({ label, text, change, marks, complete, completes, leave, ref }: YamlEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(undefined);
  const now = useRef({ complete, changed: change, leave });
  const description = useId();
  useLayoutEffect(() => {
    now.current = { complete, changed: change, leave };
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: made once; what follows keeps it up to date
  useLayoutEffect(() => {
    if (!host.current) return;
    const own = extensions(label, description, () => now.current);
    const view = new EditorView({
      state: EditorState.create({ doc: text, extensions: own }),
      parent: host.current,
    });
    editor.current = view;
    return () => {
      editor.current = undefined;
      view.destroy();
    };
  }, []);

  // before anything more can be typed: a later look would take what was typed meanwhile for what is old
  useLayoutEffect(() => {
    const view = editor.current;
    if (!view || view.state.doc.toString() === text) return;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, userEvent: "load" });
  }, [text]);

  useEffect(() => {
    const view = editor.current;
    if (!view || !marks) return;
    const most = view.state.doc.length;
    const placed = marks.map(
      ({ from, to, severity, message }): Diagnostic => ({
        from: Math.min(from, most),
        to: Math.min(to, most),
        severity,
        message,
      }),
    );
    view.dispatch(setDiagnostics(view.state, placed));
    view.contentDOM.setAttribute("aria-invalid", String(marks.some(({ severity }) => severity === "error")));
  }, [marks]);

  useImperativeHandle(ref, () => ({
    goTo: ({ from }) => {
      const view = editor.current;
      if (!view) return;
      view.dispatch({ selection: { anchor: Math.min(from, view.state.doc.length) }, scrollIntoView: true });
      view.focus();
    },
  }));

  return (
    <>
      <div ref={host} style={LINES} data-testid="yaml-editor" data-completes={completes} />
      <div id={description} className={ui.unseen} data-testid="yaml-spoken">
        {marks && marks.length > 0 ? marks.map(({ spoken }) => spoken).join(" ") : "No problems."}
      </div>
    </>
  );
}
