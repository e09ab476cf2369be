import { Text } from "@mantine/core";
import type { RunView } from "@/lib/client/types.gen";
import { hardwareRows } from "@/lib/format/hardware";
import { formatMoment } from "@/lib/format/time";
import { Section } from "@/lib/ui/section";
import { isTerminal } from "@/lib/ui/states";
import styles from "./run.module.css";

/** On what it ran: hardware, versions, and the hash of everything that mattered. */
export function Environment({ run }: { run: RunView }) {
  const own: [string, string][] = [
    ["run", run.id],
    ["fingerprint", run.fingerprint],
    ["created", formatMoment(run.created_at)],
    ["started", formatMoment(run.started_at)],
    ["finished", formatMoment(run.finished_at)],
  ];
  const tables: [string, [string, string][]][] = [
    ["Identity", own],
    ["Hardware", hardwareRows(run.hardware)],
    ["Versions", Object.entries(run.versions)],
  ];
  return (
    <Section title="Environment" testId="environment">
      <div className={styles.environment}>
        {tables.map(([title, entries]) => (
          <div key={title}>
            <h3>{title}</h3>
            <dl>
              {entries.map(([key, value]) => (
                <div key={key}>
                  <dt>{key}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
            {entries.length === 0 && (
              <Text fz={13} c="dimmed">
                {isTerminal(run.state) ? "Not reported." : "Not reported yet."}
              </Text>
            )}
          </div>
        ))}
      </div>
    </Section>
  );
}
