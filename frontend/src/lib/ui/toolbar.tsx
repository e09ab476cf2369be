import { type KeyboardEvent, type ReactNode, useLayoutEffect, useRef, useState } from "react";

const STEPS: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

const buttonsIn = (host: HTMLElement | null) => [
  ...(host?.querySelectorAll<HTMLButtonElement>("button:not(:disabled)") ?? []),
];

interface ToolbarProps {
  label: string;
  className?: string;
  children: ReactNode;
}

/** Buttons of which one is a stop of the tab key: from there, arrows lead to the others. */
export function Toolbar({ label, className, children }: ToolbarProps) {
  const host = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(0);
  useLayoutEffect(() => {
    const buttons = buttonsIn(host.current);
    const stop = Math.min(current, buttons.length - 1);
    for (const [i, button] of buttons.entries()) button.tabIndex = i === stop ? 0 : -1;
  });
  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    const buttons = buttonsIn(host.current);
    const here = buttons.indexOf(document.activeElement as HTMLButtonElement);
    if (step === undefined || here < 0) return;
    event.preventDefault();
    buttons[(here + step + buttons.length) % buttons.length]?.focus();
  };
  return (
    <div
      ref={host}
      role="toolbar"
      aria-label={label}
      tabIndex={-1}
      className={className}
      onKeyDown={move}
      onFocus={(event) => {
        const at = buttonsIn(host.current).indexOf(event.target as HTMLElement as HTMLButtonElement);
        if (at >= 0) setCurrent(at);
      }}
    >
      {children}
    </div>
  );
}
