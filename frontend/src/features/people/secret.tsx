import { Button, CopyButton } from "@mantine/core";
import type { ReactNode } from "react";
import ui from "@/lib/ui/ui.module.css";
import styles from "./people.module.css";

/** Something that is shown once, with what to do with it. */
export function Secret({ text, children, testId }: { text: string; children: ReactNode; testId: string }) {
  return (
    <div className={styles.secret} data-testid={testId} role="status">
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
