import { Textarea } from "@mantine/core";
import type { Json } from "@/lib/json/document";
import { withNamedBaseline, withPlacedBaseline } from "./baseline";
import { draftFrom } from "./draft";
import { useForm } from "./form-context";

/** What was typed as JSON: of which draft, and why it cannot be one, if so. */
export interface TypedJson {
  readonly text: string;
  readonly problem?: string;
  readonly of: Json;
}

function write(draft: Json): string {
  return JSON.stringify(withNamedBaseline(draft), null, 2);
}

interface JsonEditorProps {
  typed: TypedJson | undefined;
  setTyped: (typed: TypedJson | undefined) => void;
}

/** The same document as text. What is typed here reaches the form as soon as it is a specification's shape. */
export function JsonEditor({ typed, setTyped }: JsonEditorProps) {
  const { draft, change } = useForm();
  const mine = typed !== undefined && (typed.problem !== undefined || typed.of === draft);
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
      value={mine ? typed.text : write(draft)}
      error={mine ? typed.problem : undefined}
      onChange={(event) => {
        const text = event.currentTarget.value;
        const read = draftFrom(text);
        if ("problem" in read) {
          setTyped({ text, problem: read.problem, of: draft });
          return;
        }
        const next = withPlacedBaseline(read.draft);
        setTyped({ text, of: next });
        change(() => next);
      }}
      onBlur={() => {
        if (!typed?.problem) setTyped(undefined);
      }}
    />
  );
}
