import {
  cloneElement,
  type ReactElement,
  type ReactNode,
  type Ref,
  Suspense,
  startTransition,
  useState,
} from "react";

/** A button that opens a menu. */
export type MenuButton = ReactElement<{
  ref?: Ref<HTMLButtonElement>;
  onClick?: () => void;
  children?: ReactNode;
  "aria-haspopup"?: "menu";
  "aria-expanded"?: boolean;
}>;

/**
 * A button whose menu is fetched, and made, when it is pressed first: a row of a long list pays for none.
 * `opens` draws the button and its menu (`OpenedMenu`); until they are there, the button stays as it was.
 */
export function WhenPressed({
  button,
  opens,
}: {
  button: MenuButton;
  opens: (button: MenuButton) => ReactNode;
}) {
  const [pressed, setPressed] = useState(false);
  const waiting = {
    "aria-haspopup": "menu",
    "aria-expanded": false,
    onClick: () => startTransition(() => setPressed(true)),
  } as const;
  return <Suspense>{pressed ? opens(button) : cloneElement(button, waiting)}</Suspense>;
}
