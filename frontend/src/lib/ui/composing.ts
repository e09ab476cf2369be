import { type KeyboardEvent, type RefObject, useEffect, useEffectEvent } from "react";

/** Whether a key is for the input method that composes a text. Safari ends that before it tells of the key, whose code is then 229. */
export const isComposing = ({ nativeEvent }: KeyboardEvent): boolean =>
  nativeEvent.isComposing || nativeEvent.keyCode === 229;

/**
 * Enter where its key cannot be told from one of an input method: keyboards of phones compose every word, and give all keys the
 * code 229. A line that is about to be broken is not for the input method. What has heard the key itself prevents that.
 */
export function useLineBreak(field: RefObject<HTMLElement | null>, enter: () => void): void {
  const act = useEffectEvent(enter);
  useEffect(() => {
    const element = field.current;
    const hear = (event: InputEvent) => {
      if (event.inputType !== "insertLineBreak" && event.inputType !== "insertParagraph") return;
      event.preventDefault();
      act();
    };
    element?.addEventListener("beforeinput", hear);
    return () => element?.removeEventListener("beforeinput", hear);
  }, [field]);
}
