import type { KeyboardEvent } from "react";

/** Whether a key is for the input method that composes a text. Safari ends that before it tells of the key, whose code is then 229. */
export const isComposing = ({ nativeEvent }: KeyboardEvent): boolean =>
  nativeEvent.isComposing || nativeEvent.keyCode === 229;
