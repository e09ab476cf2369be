import { createContext, useContext } from "react";
import type { Fault } from "@/lib/client/types.gen";
import { fieldId, type Json, type Path, pointerOf, valueAt, withValue } from "@/lib/json/document";
import { withCode } from "@/lib/ui/code";
import type { Opened } from "./use-opened";

/** What every control of the form shares: the document, how to change it, and what the server says of it. */
export interface FormState extends Opened {
  readonly draft: Json;
  readonly change: (next: (draft: Json) => Json) => void;
  readonly faults: ReadonlyMap<string, string>;
  /** All of them, also those of fields that are not on the page. */
  readonly problems: readonly Fault[];
  /** Names of the variants that an experiment has already, to which those of the draft are added. */
  readonly present?: readonly string[];
}

export const FormContext = createContext<FormState | null>(null);

export function useForm(): FormState {
  const form = useContext(FormContext);
  if (!form) throw new Error("No form: FormContext must be provided above this control.");
  return form;
}

/** One place of the document, as a control needs it. */
export function useField(path: Path) {
  const { draft, change, faults } = useForm();
  const pointer = pointerOf(path);
  const fault = faults.get(pointer);
  return {
    value: valueAt(draft, path),
    set: (value: unknown) => change((old) => withValue(old, path, value)),
    error: fault === undefined ? undefined : withCode(fault),
    control: { id: fieldId(pointer), "data-field": pointer },
  };
}
