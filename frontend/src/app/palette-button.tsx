import { Kbd, UnstyledButton } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { Suspense, useRef, useState } from "react";
import { lazily } from "@/lib/ui/lazily";
import styles from "./shell.module.css";

const Palette = lazily(() => import("@/features/palette/palette").then((part) => part.Palette));
const APPLE = /Mac|iPhone|iPad/.test(navigator.userAgent);
const GLASS = "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM15.5 15.5 20 20";

/** Opens the command palette, whose code is fetched when it is opened first. What had the focus gets it back. */
export function PaletteButton() {
  const [opened, setOpened] = useState(false);
  const [wanted, setWanted] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const before = useRef<Element>(null);

  const open = () => {
    before.current = document.activeElement;
    setWanted(true);
    setOpened(true);
  };
  const close = (elsewhere = false) => {
    setOpened(false);
    if (elsewhere) return;
    const back = before.current;
    const there = back instanceof HTMLElement && back !== document.body && back.isConnected;
    (there ? back : button.current)?.focus({ preventScroll: true });
  };
  useHotkeys([["mod+K", () => (opened ? close() : open())]], []); // also while a field has the focus
  return (
    <>
      <UnstyledButton
        ref={button}
        className={styles.palette}
        aria-haspopup="dialog"
        aria-keyshortcuts="Control+K Meta+K"
        onClick={open}
        data-testid="open-palette"
      >
        <svg
          width="16"
          height="16"
          viewBox="0 0 24 24"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.8"
          strokeLinecap="round"
          aria-hidden="true"
        >
          <path d={GLASS} />
        </svg>
        <span className={styles.paletteWord}>Search</span>
        <Kbd size="xs" aria-hidden="true" className={styles.paletteKey}>
          {APPLE ? "⌘ K" : "Ctrl K"}
        </Kbd>
      </UnstyledButton>
      {wanted && (
        <Suspense>
          <Palette opened={opened} close={close} />
        </Suspense>
      )}
    </>
  );
}
