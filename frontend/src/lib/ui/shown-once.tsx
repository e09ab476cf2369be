import { Button, CopyButton } from "@mantine/core";
import type { ReactNode } from "react";
import styles from "./screen.module.css";
import ui from "./ui.module.css";

/** Something that is shown once, to be copied, with what to do with it. */
export function ShownOnce({ text, children, testId }: { text: string; children: ReactNode; testId: string }) {
  return (
    <div className={styles.once} data-testid={testId} role="status">
      <p className={styles.note}>{children}</p>
      <div className={ui.code}>
        <pre>{text}</pre>
      </div>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <Button variant="default" size="compact-sm" mt={8} onClick={copy}>
            {copied ? "Copied" : "Copy"}
          </Button>
        )}
      </CopyButton>
    </div>
  );
}
