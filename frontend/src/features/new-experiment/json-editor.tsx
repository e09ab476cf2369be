import { Textarea } from "@mantine/core";
import type { Json } from "@/lib/json/document";
import { withNamedBaseline, withPlacedBaseline } from "./baseline";
import { draftFrom } from "./draft";
import { useForm } from "./form-context";
import { type Typed, typedAs } from "./typed";

function write(draft: Json): string {
  return JSON.stringify(withNamedBaseline(draft), null, 2);
}

interface JsonEditorProps {
  typed: Typed | undefined;
  setTyped: (typed: Typed | undefined) => void;
}

/** The same document as text. What is typed here reaches the form as soon as it is a specification's shape. */
export function JsonEditor({ typed, setTyped }: JsonEditorProps) {
  const { draft, change } = useForm();
  const mine = typedAs("json", typed, draft);
  return (
    <Textarea
      aria-label="Specification as JSON"
      data-testid="json-editor"
      spellCheck={false}
      autosize
      minRows={18}
      maxRows={30}
      styles={{
        input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: 12.5, lineHeight: 1.5 },
      }}
      value={mine?.text ?? write(draft)}
      error={mine?.problem}
      onChange={(event) => {
        const text = event.currentTarget.value;
        const read = draftFrom(text);
        if ("problem" in read) {
          setTyped({ as: "json", text, problem: read.problem, of: draft });
          return;
        }
        const next = withPlacedBaseline(read.draft);
        setTyped({ as: "json", text, of: next });
        change(() => next);
      }}
      onBlur={() => {
        if (mine && !mine.problem) setTyped(undefined);
      }}
    />
  );
}
