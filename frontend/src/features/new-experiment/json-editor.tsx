import { Textarea } from "@mantine/core";
import { useState } from "react";
import type { Json } from "./document";
import { draftFrom } from "./draft";
import { useForm } from "./form-context";

function write(draft: Json): string {
  return JSON.stringify(draft, null, 2);
}

/** The same document as text. What is typed here reaches the form as soon as it is a specification's shape. */
export function JsonEditor() {
  const { draft, change } = useForm();
  const [typed, setTyped] = useState<{ text: string; problem?: string; of: Json }>();
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
        setTyped({ text, of: read.draft });
        change(() => read.draft);
      }}
      onBlur={() => setTyped((old) => (old?.problem ? old : undefined))}
    />
  );
}
