import { type RefObject, useLayoutEffect, useState } from "react";
import { fieldId } from "@/lib/json/document";
import { nearestField } from "./faults";

function fieldsOnPage(root: HTMLElement | null): string[] {
  return [...(root?.querySelectorAll<HTMLElement>("[data-field]") ?? [])].map(
    (field) => field.dataset.field ?? "",
  );
}

/** The places of the document that have a control on the page. */
export function useFields(form: RefObject<HTMLElement | null>): readonly string[] {
  const [fields, setFields] = useState<string[]>([]);
  useLayoutEffect(() => {
    const found = fieldsOnPage(form.current);
    setFields((old) => (old.join() === found.join() ? old : found));
  });
  return fields;
}

/** Lead to the control of a place, or to the one nearest to it. */
export function focusField(pointer: string, form: HTMLElement | null): void {
  const field = nearestField(pointer, fieldsOnPage(form));
  const element = field === undefined ? null : document.getElementById(fieldId(field));
  element?.closest("details")?.setAttribute("open", "");
  element?.scrollIntoView({ block: "center" });
  element?.focus({ preventScroll: true });
}
