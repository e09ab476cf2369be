import { Button, CopyButton, Group } from "@mantine/core";
import styles from "./ui.module.css";

/** A document as JSON, to read and to copy. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  const text = JSON.stringify(value, null, 2);
  return (
    <div>
      <Group justify="flex-end" mb={6}>
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button size="compact-xs" variant="default" onClick={copy}>
              {copied ? "Copied" : "Copy"}
            </Button>
          )}
        </CopyButton>
      </Group>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section className={styles.code} aria-label={label} tabIndex={0}>
        <pre>{text}</pre>
      </section>
    </div>
  );
}
